"""A race of Triton's and two of a project's own, told apart by the control and by the GIL."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from runner.model.plan import Plan
from runner.model.result import CellResult
from runner.model.verdict import Finding
from runner.model.words import Cause, Confidence, Outcome, Status
from tests.integration.experiment.conftest import PROJECTS, Matrix, finding_of, said
from tests.integration.experiment.table import Table

pytestmark = [pytest.mark.interpreters, pytest.mark.network, pytest.mark.experiments]
MATRIX = """
python: [3.13t]
gil: [on, off]
triton: 3.7.0
project:
  root: {project}
  tests: tests
  env: {{PYTHONPATH: src}}
limits: {{test: 60s}}
"""


def test_the_autotuners_race_is_tritons_with_the_gil_and_without(matrix: Callable[[str], Matrix], table: Table) -> None:
    run = matrix(MATRIX.format(project=PROJECTS / "autotuner_race"))
    run.run()
    run.call("experiment", "--offline")
    finding = finding_of(run.judge(), "test_threads_share_one_kernel")
    table.add("autotuner_race_of_a_project", Cause.THREAD_SAFETY, [finding])
    assert finding.cause is Cause.THREAD_SAFETY
    assert finding.confidence is Confidence.PROVEN
    text = said(finding)
    assert "Triton alone shows it from several threads, so it is Triton's" in text
    assert re.search(r"calling one autotuned kernel with 8 threads: \d of 6 failed, with the same signature", text)
    assert "the GIL is ruled out as the cause" in text
    assert re.search(r"it failed \d+ of \d+ \(\d+%, 95 % interval", text)
    assert re.search(r"one lock around every call of an autotuned kernel.*was run: 0 of \d+ failed", text)
    run.call("repro", finding.id)
    report = next((run.out / "repro").glob("*/report.md")).read_text()
    assert "test_control.py::test_autotune_from_threads" in report
    assert sorted(path.name for path in next((run.out / "repro").glob("*/control")).iterdir()) == [
        "conftest.py",
        "control_kernels.py",
        "libcuda.c",
        "pytest.ini",
        "test_control.py",
    ]


def test_a_race_of_the_projects_own_is_the_projects(matrix: Callable[[str], Matrix], table: Table) -> None:
    run = matrix(MATRIX.format(project=PROJECTS / "own_race"))
    run.run()
    run.call("experiment", "--offline")
    verdict = run.judge()
    lost, evicted = finding_of(verdict, "count_every_use"), finding_of(verdict, "get_kernels")
    table.add("own_race_without_the_gil", Cause.PROJECT, [lost])
    table.add("own_race_in_both_modes", Cause.PROJECT, [evicted])
    assert (lost.cause, evicted.cause) == (Cause.PROJECT, Cause.PROJECT)
    assert lost.confidence is evicted.confidence is Confidence.LIKELY
    # On a busy machine a count is sometimes not lost, so that the counts may make it likely instead of proven.
    assert re.search(r"off \d+ of \d+ failed, on 0 of \d+ failed; the GIL (likely )?decides it", said(lost))
    assert "Workaround 'run with PYTHON_GIL=1' was run: 0 of" in said(lost)
    assert "the GIL is ruled out as the cause" in said(evicted)
    assert "so it is the project's own" in said(lost)


ONLY_IN_THREADS = """
python: [3.13t]
gil: off
triton: 3.7.0
project:
  root: {project}
  tests: {test}
  env: {{PYTHONPATH: src}}
limits: {{test: 120s}}
race: {{threads: 8, rounds: 3}}
"""


def only_in_threads(matrix: Callable[[str], Matrix], project: str, test: str) -> Finding:
    """The only finding on a test that passes by itself and fails where eight threads run it at once."""
    run = matrix(ONLY_IN_THREADS.format(project=PROJECTS / project, test=test))
    run.run()
    (cell,) = Plan.read(run.out / "plan.json").cells
    result = CellResult.read(run.out / "cells" / cell.key.id / "result.json")
    assert [one.outcome for one in result.tests] == [Outcome.PASSED]
    assert result.status is Status.FAIL
    run.experiment_within_the_plan()
    return finding_of(run.judge(), test.rpartition("::")[2])


def test_a_race_of_triton_that_only_the_race_stage_shows(matrix: Callable[[str], Matrix], table: Table) -> None:
    finding = only_in_threads(
        matrix, "autotuner_race", "tests/test_autotuner.py::test_one_thread_calls_the_shared_kernel"
    )
    table.add("autotuner_race_in_the_race_stage", Cause.THREAD_SAFETY, [finding])
    text = said(finding)
    assert (finding.cause, finding.confidence) == (Cause.THREAD_SAFETY, Confidence.PROVEN)
    assert "so it is Triton's" in text
    assert re.search(r"threads: 8 threads \d+ of \d+ failed, 1 thread 0 of \d+ failed; .* decides it, proven", text)
    assert re.search(r"passed in one thread; in several failed \d+ of 24 calls in py3.13t-gil-off", text)
    assert re.search(r"one lock around every call of an autotuned kernel.*was run: 0 of \d+ failed", text)


def test_a_race_of_the_projects_own_that_only_the_race_stage_shows(
    matrix: Callable[[str], Matrix], table: Table
) -> None:
    finding = only_in_threads(matrix, "own_race", "tests/test_kernelcache.py::test_a_shared_cache_gives_kernels")
    table.add("own_race_in_the_race_stage", Cause.PROJECT, [finding])
    text = said(finding)
    assert (finding.cause, finding.confidence) == (Cause.PROJECT, Confidence.LIKELY)
    assert "so it is the project's own" in text
    assert re.search(r"threads: 8 threads \d+ of \d+ failed, 1 thread 0 of \d+ failed; .* decides it, proven", text)
    assert "the GIL is ruled out as the cause: it fails either way" in text
