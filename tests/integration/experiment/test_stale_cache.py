"""A segfault that looks like a race: a cache directory that another Python filled, read by the free-threaded build."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.model.contrast import Contrast
from runner.model.words import Cause, Confidence, Factor
from tests.integration.experiment.conftest import PROJECTS, Matrix, said
from tests.integration.experiment.table import Table

pytestmark = [pytest.mark.interpreters, pytest.mark.network]
MATRIX = """
python: [3.13, 3.13t]
gil: [on, off]
triton: {triton}
project:
  root: {project}
  tests: tests
  env: {{PYTHONPATH: src}}
limits: {{test: 60s}}
"""
ON, OFF = "py3.13t-gil-on-triton3.3.1", "py3.13t-gil-off-triton3.3.1"


def fill(matrix: Matrix, environment: str, cache: Path) -> dict[str, bytes]:
    """Run the project's tests with a user's own cache directory; what is in it then."""
    python = matrix.out / "environments" / environment / "bin" / "python"
    environ = {**os.environ, "PYTHONPATH": "src", "TRITON_CACHE_DIR": str(cache)}
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=PROJECTS / "stale_cache", env=environ, check=True, stdout=subprocess.DEVNULL)
    return contents(cache)


def contents(cache: Path) -> dict[str, bytes]:
    return {str(path.relative_to(cache)): path.read_bytes() for path in cache.rglob("*") if path.is_file()}


def test_the_cache_is_the_cause_and_the_gil_is_ruled_out(
    matrix: Callable[[str], Matrix], tmp_path: Path, table: Table
) -> None:
    run = matrix(MATRIX.format(triton="3.3.1", project=PROJECTS / "stale_cache"))
    run.run()
    cache = tmp_path / "users-cache"
    before = fill(run, "py3.13-triton3.3.1", cache)
    run.call("experiment", "--cache", str(cache))
    assert contents(cache) == before, "the user's directory was changed"

    verdict = run.judge()
    table.add("cache_of_another_python", Cause.STALE_CACHE, verdict.findings)
    (finding,) = verdict.findings
    assert finding.cause is Cause.STALE_CACHE
    assert finding.confidence is Confidence.PROVEN
    assert finding.cells == (ON, OFF)
    assert any(str(cache) in note for note in verdict.notes)

    for cell in finding.cells:
        by_factor: dict[Factor, Contrast] = {one.factor: one for one in run.contrasts(cell).contrasts}
        caches, gil = by_factor[Factor.FRESH_CACHE], by_factor[Factor.GIL]
        assert caches.before.count.failed == caches.before.count.total >= 5
        assert caches.after.count.failed == 0
        assert caches.after.count.total >= 5
        assert gil.after.count.failed == gil.after.count.total >= 3
        assert {gil.before.value, gil.after.value} == {"on", "off"}

    text = said(finding)
    assert re.search(r"as found (\d+) of \1 failed, fresh 0 of \d+ failed; the cache decides it, proven", text)
    assert re.search(r"off (\d+) of \1 failed, on (\d+) of \2 failed; the GIL is ruled out as the cause", text)
    assert "One thread was there" in text
    assert re.search(r"from a cache that Python 3\.13 filled: (\d+) of \1 failed, with the same signature", text)
    assert finding.next_step.startswith("Workaround that was run: give every environment cache directories of its own")
    assert re.search(r"\(0 of \d+ failed with it\)", finding.next_step)

    script = run.call("repro", finding.id)
    assert f"cp -a {cache} " in script
    assert "PYTHON_GIL=1" in script
    assert "triton==3.3.1" in script
    report = next((run.out / "repro").glob("*/report.md")).read_text()
    assert "## What was ruled out\n\n- gil: " in report
    assert "test_control.py::test_driver_helper" in report


def test_from_the_release_on_that_names_the_abi_there_is_nothing_to_find(
    matrix: Callable[[str], Matrix], tmp_path: Path, table: Table
) -> None:
    run = matrix(MATRIX.format(triton="3.7.0", project=PROJECTS / "stale_cache"))
    run.run()
    fill(run, "py3.13-triton3.7.0", tmp_path / "users-cache")
    assert "nothing to look into" in run.call("experiment", "--cache", str(tmp_path / "users-cache"))
    verdict = run.judge()
    found = "; ".join(one.cause.value for one in verdict.findings) or "nothing"
    table.note("cache_that_names_the_abi", "nothing", found, right=not verdict.findings)
    assert verdict.findings == ()
    assert verdict.notes == ()
