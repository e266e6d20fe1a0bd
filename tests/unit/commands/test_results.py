"""Which files of an output folder count, and what is said about those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import cli
from runner.commands.results import read_results, why_unusable
from runner.errors import DocumentError
from runner.model.plan import Plan, plan_sha
from runner.model.verdict import Verdict
from runner.model.words import GilMode
from tests.unit.verdict.building import GOOD, plan, result

CELL = "py3.13t-gil-off-triton3.3.1"


def path_of(out: Path, cell: str = CELL) -> Path:
    return out / "cells" / cell / "result.json"


@pytest.fixture
def planned() -> Plan:
    return plan()


@pytest.fixture
def out(tmp_path: Path, planned: Plan) -> Path:
    """A run that is over, with a result of every cell and a verdict."""
    planned.write(tmp_path / "plan.json")
    for cell in planned.cells:
        made = result(planned, cell.key.id, {"test_a.py::test": GOOD}, enabled_at_end=cell.key.gil is GilMode.ON)
        sha = plan_sha(cell, planned.environment(cell.environment))
        made.model_copy(update={"plan_sha": sha}).write(path_of(tmp_path, cell.key.id))
    cli.main(["judge", "--out", str(tmp_path)])
    return tmp_path


def judged(out: Path) -> tuple[str, str | None]:
    cli.main(["judge", "--out", str(out)])
    cell = next(cell for cell in Verdict.read(out / "verdict.json").cells if cell.id == CELL)
    return cell.status.value, cell.reason


def test_a_damaged_result_is_not_called_a_lost_job(out: Path) -> None:
    path_of(out).write_text("{")
    status, reason = judged(out)
    assert status == "no_result"
    assert reason is not None
    assert reason.startswith(f"{path_of(out)} is not JSON")


def test_a_result_of_another_plan_is_said_to_be_one(out: Path, planned: Plan) -> None:
    result(planned, CELL, {"test_a.py::test": GOOD}).write(path_of(out))
    assert judged(out) == (
        "no_result",
        f"{path_of(out)} belongs to another plan; triton-compat cell {CELL} makes it anew",
    )


def test_a_cell_of_which_nothing_lies_there_was_lost(out: Path, planned: Plan) -> None:
    path_of(out).unlink()
    assert why_unusable(planned, read_results(planned, out), out) == {}
    assert judged(out) == ("no_result", "nothing of it arrived: the job was lost, cancelled or never started")


def test_a_result_that_was_made_under_another_gil_mode_is_none(out: Path, planned: Plan) -> None:
    path_of(out).write_text(path_of(out).read_text().replace('"gil": "off"', '"gil": "on"', 1))
    assert CELL not in read_results(planned, out)


@pytest.mark.parametrize("lost", [True, False], ids=["the result is gone", "the verdict lacks a cell"])
def test_a_report_never_shows_a_verdict_that_its_results_do_not_bear(
    out: Path, capsys: pytest.CaptureFixture[str], *, lost: bool
) -> None:
    if lost:
        path_of(out).unlink()
    else:
        verdict = Verdict.read(out / "verdict.json")
        kept = tuple(cell for cell in verdict.cells if cell.id != CELL)
        verdict.model_copy(update={"cells": kept}).write(out / "verdict.json")
    assert cli.main(["report", "--out", str(out)]) == DocumentError.exit_code
    said = capsys.readouterr().err
    assert CELL in said
    assert "Run triton-compat judge" in said
    assert not (out / "report.md").exists()


def test_a_report_of_what_was_judged_is_written(out: Path) -> None:
    assert cli.main(["report", "--out", str(out)]) == 0
    assert (out / "report.md").exists()
