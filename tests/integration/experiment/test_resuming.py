"""The budget, and an experiment that is killed half-way and begun again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.model.words import Cause, Factor
from tests.integration.experiment.conftest import Matrix, finding_of

pytestmark = [pytest.mark.interpreters, pytest.mark.network]
MATRIX = """
python: [3.13t]
gil: [on, off]
triton: 3.7.0
project: {root: ., tests: tests}
limits: {test: 60s}
"""
CELL = "py3.13t-gil-off-triton3.7.0"
TEST = """
import sys
def test_needs_the_gil():
    assert sys._is_gil_enabled()
"""


@pytest.fixture
def failed(matrix: Callable[[str], Matrix]) -> Matrix:
    run = matrix(MATRIX)
    (run.folder / "tests").mkdir()
    (run.folder / "tests" / "test_it.py").write_text(TEST)
    run.run()
    return run


def finished(run: Matrix) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (run.out / "experiments").rglob("result.json")}


def test_a_killed_experiment_goes_on_and_repeats_nothing(failed: Matrix) -> None:
    command = [sys.executable, "-m", "runner", "experiment", "--offline"]
    with subprocess.Popen(command, cwd=failed.folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "run 3" in line and "control" not in line:
                process.send_signal(signal.SIGKILL)
                break
        process.stderr.read()
    kept = finished(failed)
    assert kept
    half = failed.contrasts(CELL)
    assert {one.factor for one in half.contrasts} == {Factor.REPEAT}
    failed.call("experiment", "--offline")
    assert {path: time for path, time in finished(failed).items() if path in kept} == kept
    whole = failed.contrasts(CELL)
    assert {one.factor for one in whole.contrasts} == {Factor.REPEAT, Factor.GIL}
    assert whole.unfinished == ()
    finding = finding_of(failed.judge(), "test_needs_the_gil")
    assert finding.cause is Cause.PROJECT
    assert not (failed.out / "experiments").joinpath("caches").exists()


def test_what_the_budget_does_not_allow_is_said(failed: Matrix) -> None:
    failed.call("experiment", "--offline", "--budget", "1s")
    found = failed.contrasts(CELL)
    assert any("the budget was spent" in sentence for sentence in found.unfinished)
    assert finding_of(failed.judge(), "test_needs_the_gil").cause is Cause.UNEXPLAINED
    failed.call("experiment", "--offline")
    assert not any("the budget was spent" in sentence for sentence in failed.contrasts(CELL).unfinished)


def test_cells_for_which_the_total_budget_leaves_no_time_are_named(matrix: Callable[[str], Matrix]) -> None:
    run = matrix(MATRIX)
    (run.folder / "tests").mkdir()
    (run.folder / "tests" / "test_it.py").write_text("def test_fails():\n    assert 1 == 2\n")
    run.run()
    told = run.call("experiment", "--offline", "--total-budget", "1s")
    first, second = "py3.13t-gil-on-triton3.7.0", CELL
    assert f"1 of 2 cells was not looked into: the total budget was spent: {second}" in told
    assert run.contrasts(first).control
    assert run.contrasts(second).unfinished == ("the cell was not looked into: the total budget was spent",)
    assert any(second in note and "total budget" in note for note in run.judge().notes)
    run.call("experiment", "--offline", "--budget", "1s", "--cell", second)
    assert run.contrasts(second).control
