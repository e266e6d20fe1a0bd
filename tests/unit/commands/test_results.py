"""Which files of an output folder count, and what is said about those that do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner import cli
from runner.commands.results import Results, read_summaries, summary_file, why_unusable
from runner.errors import DocumentError
from runner.model.plan import Plan, plan_sha
from runner.model.summary import CellSummary
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
    assert why_unusable(planned, Results(planned, out), out) == {}
    assert judged(out) == ("no_result", "nothing of it arrived: the job was lost, cancelled or never started")


def test_a_result_that_was_made_under_another_gil_mode_is_none(out: Path, planned: Plan) -> None:
    path_of(out).write_text(path_of(out).read_text().replace('"gil": "off"', '"gil": "on"', 1))
    assert CELL not in Results(planned, out)


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


def test_results_are_read_when_they_are_asked_for(out: Path, planned: Plan) -> None:
    results = Results(planned, out)
    assert list(results) == [cell.key.id for cell in planned.cells]
    path_of(out).unlink()
    assert results.get(CELL) is None
    assert CELL not in results
    assert len(results) == len(planned.cells) - 1
    assert "no such cell" not in results


class TestSummaries:
    def test_they_say_what_the_results_say(self, out: Path, planned: Plan) -> None:
        from_results = list(read_summaries(planned, out))
        assert from_results == [CellSummary.of(one) for one in Results(planned, out).values()]
        for one in from_results:
            one.model_copy(update={"seconds": 7.0}).write(summary_file(out, one.cell))
        assert {one.seconds for one in read_summaries(planned, out)} == {7.0}

    @pytest.mark.parametrize("fault", ["older than the result", "of another plan", "damaged", "of another cell"])
    def test_one_that_does_not_belong_to_the_result_is_made_anew(self, fault: str, out: Path, planned: Plan) -> None:
        (right,) = [one for one in read_summaries(planned, out) if one.cell == CELL]
        path = summary_file(out, CELL)
        wrong = right.model_copy(update={"seconds": 7.0})
        if fault == "of another plan":
            wrong = wrong.model_copy(update={"plan_sha": "0"})
        if fault == "of another cell":
            wrong = wrong.model_copy(update={"cell": "another"})
        wrong.write(path)
        if fault == "damaged":
            path.write_text("{")
        if fault == "older than the result":
            os.utime(path, ns=(0, 0))
        assert right in list(read_summaries(planned, out))
