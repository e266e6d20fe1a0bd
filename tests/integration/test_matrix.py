"""The main job as a user starts it: `nox -s matrix` on a project that crashes; also killed half-way and begun again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import junitparser
import pytest

from runner.model.result import CellResult
from runner.model.verdict import Verdict
from runner.model.words import Outcome, Status, VerdictWord

pytestmark = [pytest.mark.interpreters, pytest.mark.network]

ROOT = Path(__file__).parents[2]
NOXFILE = """
from pathlib import Path
from runner import sessions
sessions.register("matrix.yml", noxfile=Path(__file__).resolve())
"""
MATRIX = """
python: [3.12, 3.13t]
gil: [on, off]
triton: 3.7.0
project:
  root: {project}
  tests: tests
  env: {{GATE: {gate}}}
limits: {{test: 60s}}
"""
CELLS = ["py3.12-gil-on-triton3.7.0", "py3.13t-gil-on-triton3.7.0", "py3.13t-gil-off-triton3.7.0"]
CRASHED = {"test_3_segfaults", "test_5_exits_with_status_0"}
GATE = """
import os, sys
def test_0_waits_at_the_gate():
    with open(os.environ["GATE"] + str(sys.version_info.minor)) as gate:  # a pipe: opening it waits for the other side
        gate.read()
"""


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A folder with a noxfile, a matrix, and a copy of the project whose third and fifth test end the process."""
    project = tmp_path / "project"
    tests = project / "tests"
    tests.mkdir(parents=True)
    source = ROOT / "tests" / "projects" / "crashers" / "tests" / "test_crashers.py"
    (tests / "test_crashers.py").write_bytes(source.read_bytes())
    (tests / "test_a_gate.py").write_text(GATE)
    (tmp_path / "noxfile.py").write_text(NOXFILE)
    (tmp_path / "matrix.yml").write_text(MATRIX.format(project=project, gate=tmp_path / "gate"))
    return tmp_path


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "nox", "-f", str(folder / "noxfile.py"), *words]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("NOX")}
    return subprocess.Popen(
        command, cwd=folder, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def run(folder: Path, *words: str) -> tuple[int, str]:
    process = start(folder, *words)
    output, _ = process.communicate(timeout=600)
    return process.returncode, output


def open_gate_for_good(folder: Path) -> None:
    for gate in (folder / "gate12", folder / "gate13"):  # one for each Python
        gate.unlink(missing_ok=True)
        gate.touch()


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in descendants(int(child)))]


def names(result: CellResult, *outcomes: Outcome) -> set[str]:
    return {test.id.rpartition("::")[2] for test in result.tests if test.outcome in outcomes}


def check(folder: Path) -> dict[str, CellResult]:
    """Every cell has every outcome, once, and verdict, table and JUnit say the same."""
    out = folder / ".triton-compat"
    results = {cell: CellResult.read(out / "cells" / cell / "result.json") for cell in CELLS}
    for result in results.values():
        assert result.status is Status.FAIL
        assert result.planned == len(result.tests) == len({test.id for test in result.tests}) == 7
        assert names(result, Outcome.CRASHED) == CRASHED
        assert len(names(result, Outcome.PASSED)) == 5
        suite = junitparser.JUnitXml.fromfile(str(out / "cells" / result.cell.id / "junit.xml"))
        assert (suite.tests, suite.errors, suite.failures, suite.skipped) == (7, 2, 0, 0)
    verdict = Verdict.read(out / "verdict.json")
    assert verdict.verdict is VerdictWord.FAIL
    assert verdict.sentence.startswith("FAIL: 3 of 3 cells fail (6 of 21 tests)")
    whole = junitparser.JUnitXml.fromfile(str(out / "junit.xml"))
    assert (whole.tests, whole.errors) == (21, 6)
    assert (out / "report.md").read_text(encoding="utf-8").count("❌ fail 2 of 7") >= len(CELLS)
    assert results[CELLS[2]].gil.enabled_at_end is False
    return results


def test_every_outcome_is_there_and_all_formats_agree(user: Path) -> None:
    open_gate_for_good(user)
    status, output = run(user, "-s", "matrix")
    assert status == 1, output
    assert "FAIL: 3 of 3 cells fail (6 of 21 tests)" in output
    results = check(user)
    for name in CRASHED:
        (test,) = [test for test in results[CELLS[0]].tests if test.id.endswith(name)]
        assert test.attempts[0].phase == "call"

    status, listed = run(user, "-l")
    assert status == 0, listed
    assert all(f"- {cell} [py3." in listed for cell in CELLS)
    assert "* matrix ->" in listed
    status, listed = run(user, "-l", "-t", "gil-off")
    assert f"* {CELLS[2]}" in listed
    assert f"* {CELLS[0]}" not in listed


def test_a_run_that_was_killed_goes_on_where_it_was(user: Path) -> None:
    os.mkfifo(user / "gate12")
    os.mkfifo(user / "gate13")
    process = start(user, "-s", "matrix")
    with (user / "gate12").open("w"):  # returns when the first cell's test stands at the gate, and lets it go
        pass
    with (user / "gate13").open("w"):  # the same for the second cell
        for pid in descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    first = user / ".triton-compat" / "cells" / CELLS[0] / "result.json"
    kept = (first.stat().st_mtime_ns, first.read_bytes())
    assert not (first.parents[1] / CELLS[1] / "result.json").exists()

    open_gate_for_good(user)
    status, output = run(user, "-s", "matrix")
    assert status == 1, output
    assert "1 of 3 cells are finished" in output
    assert (first.stat().st_mtime_ns, first.read_bytes()) == kept
    check(user)
