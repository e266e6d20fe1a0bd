"""What nox sessions are defined from, when the plan that names them is not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.sessions import _known_plan
from tests.unit.verdict.building import plan


def test_the_cells_are_those_of_the_plan_at_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan().write(tmp_path / "plan.json")
    assert _known_plan(Path("never-read.yml"), tmp_path, make=True) == plan()
    assert not capsys.readouterr().err


def test_a_damaged_plan_names_no_cells_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.json").write_text("{")
    assert _known_plan(Path("never-read.yml"), tmp_path, make=True) is None
    said = capsys.readouterr().err
    assert said.startswith(f"triton-compat: no cells are listed. {tmp_path}/plan.json is not JSON")
    assert "nox -s matrix" in said


def test_the_whole_matrix_does_not_mind_a_damaged_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.json").write_text("{")
    assert _known_plan(Path("never-read.yml"), tmp_path, make=False) is None
    assert not capsys.readouterr().err
