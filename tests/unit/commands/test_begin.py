"""Where a run begins: an interrupted run goes on, a finished one is kept aside, another plan starts anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.commands.begin import begin_run
from runner.model.cell import CellKey
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.words import GilMode


def plan(triton: str = "3.7.0", created: str = "2026-01-01T00:00:00+00:00") -> Plan:
    key = CellKey(id=f"py3.12-gil-on-triton{triton}", python="3.12", gil=GilMode.ON, triton=triton, torch=None)
    environment = PlannedEnvironment(
        id=f"py3.12-triton{triton}", python="3.12", triton=triton, torch=None, fingerprint=triton
    )
    return Plan(
        matrix="m",
        matrix_file="m.yml",
        matrix_sha256="0" * 64,
        root=".",
        created=created,
        tool="1",
        gil_modes=(GilMode.ON,),
        environments=(environment,),
        cells=(PlannedCell(key=key, environment=environment.id, settings=Settings()),),
    )


def finish_cell(out: Path) -> Path:
    result = out / "cells" / "py3.12-gil-on-triton3.7.0" / "result.json"
    result.parent.mkdir(parents=True)
    result.write_text("{}")
    return result


def test_a_first_run_only_writes_the_plan(tmp_path: Path) -> None:
    assert begin_run(plan(), tmp_path, fresh=False) == "1 cell planned."
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "plan.json"]


def test_an_interrupted_run_goes_on_when_only_the_time_differs(tmp_path: Path) -> None:
    begin_run(plan(), tmp_path, fresh=False)
    result = finish_cell(tmp_path)
    said = begin_run(plan(created="2026-02-02T00:00:00+00:00"), tmp_path, fresh=False)
    assert "1 of 1 cells are finished" in said
    assert result.exists()


@pytest.mark.parametrize(("triton", "fresh"), [("3.9.0", False), ("3.7.0", True)])
def test_another_plan_or_fresh_keeps_nothing(tmp_path: Path, triton: str, *, fresh: bool) -> None:
    begin_run(plan(), tmp_path, fresh=False)
    result = finish_cell(tmp_path)
    begin_run(plan(triton), tmp_path, fresh=fresh)
    assert not result.exists()
    assert Plan.read(tmp_path / "plan.json").cells[0].key.triton == triton


def test_a_finished_run_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    begin_run(plan(), tmp_path, fresh=False)
    finish_cell(tmp_path)
    (tmp_path / "verdict.json").write_text("{}")
    begin_run(plan(), tmp_path, fresh=False)
    assert sorted(path.name for path in (tmp_path / "previous").iterdir()) == ["cells", "plan.json", "verdict.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "plan.json", "previous"]


def test_a_damaged_plan_is_no_interrupted_run(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    result = finish_cell(tmp_path)
    begin_run(plan(), tmp_path, fresh=False)
    assert not result.exists()
