"""A race of Triton's and two of a project's own, told apart by the control and by the GIL."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from runner.model.words import Cause, Confidence
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
