"""A suite of 300 tests of which 30 crash and 5 hang: every outcome, and the wall time beside the sum of its parts.

The parts are the starts of as many processes as are needed at least, the time that the hangs are given, and the same
suite without them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from uv import find_uv_bin

from runner.execution import Rules, run_cell
from runner.model.cell import CellKey
from runner.model.plan import Limits, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import CellResult, count_outcomes
from runner.model.words import GilMode, Outcome

FILES, TESTS_PER_FILE = 10, 30
CRASHES = tuple(range(5, 300, 10))
HANGS = (9, 68, 127, 186, 247)
SECONDS = 2.0
BODIES = ("ctypes.string_at(0)", "os.abort()", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)")
HANGING = ("while True: pass", "ctypes.PyDLL(None).pause()", "threading.Event().wait()")


def write_suite(folder: Path, *, bad: bool) -> None:
    """300 tests; with `bad` some of them crash and hang, in several ways."""
    folder.mkdir()
    for file in range(FILES):
        lines = ["import ctypes, os, signal, threading"]
        for number in range(file * TESTS_PER_FILE, (file + 1) * TESTS_PER_FILE):
            body = "pass"
            if bad and number in CRASHES:
                body = BODIES[CRASHES.index(number) % len(BODIES)]
            elif bad and number in HANGS:
                body = HANGING[HANGS.index(number) % len(HANGING)]
            lines += [f"def test_{number}():", f"    {body}"]
        (folder / f"test_file{file}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(interpreter: Path, python: str, suite: Path, out: Path) -> tuple[CellResult, float]:
    """The suite as a cell, each test once; the result and the seconds it took."""
    environment = PlannedEnvironment(id="bench", python=python, triton=None, torch=None, fingerprint="bench")
    gil = GilMode.OFF if python.endswith("t") else GilMode.ON
    key = CellKey(id="bench", python=python, gil=gil, triton=None, torch=None)
    settings = Settings(limits=Limits(test_seconds=SECONDS, cell_seconds=600))
    cell = PlannedCell(key=key, environment="bench", settings=settings)
    began = time.perf_counter()
    rules = Rules(retry_suspects=False)
    result = run_cell(cell, environment, interpreter, root=suite, folder=out, rules=rules)
    return result, time.perf_counter() - began


def wrong(result: CellResult) -> Iterable[str]:
    """Tests whose outcome is not the one that they were written for."""
    for number, test in enumerate(result.tests):
        due = Outcome.CRASHED if number in CRASHES else Outcome.TIMED_OUT if number in HANGS else Outcome.PASSED
        if test.outcome is not due or not test.id.endswith(f"::test_{number}"):
            yield f"{test.id}: {test.outcome.value}, not {due.value}"


def main(argv: list[str] | None = None) -> int:
    """Run and print.

    Returns:
        0 when every outcome was right.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="interpreter for the environment (default: this one)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uv, interpreter = find_uv_bin(), folder / "environment" / "bin" / "python"
        subprocess.run([uv, "venv", "-q", "--python", options.python, folder / "environment"], check=True)
        install: list[str | Path] = [
            uv,
            "pip",
            "install",
            "-q",
            "--compile-bytecode",
            "--python",
            interpreter,
            "pytest",
        ]
        subprocess.run(install, check=True)
        question = "import sys; print('%d.%d' % sys.version_info[:2] + 't' * ('t' in getattr(sys, 'abiflags', '')))"
        python = subprocess.check_output([interpreter, "-c", question], text=True).strip()
        write_suite(folder / "good", bad=False)
        write_suite(folder / "bad", bad=True)
        write_suite(folder / "one", bad=False)
        for file in sorted((folder / "one").iterdir())[1:]:
            file.unlink()
        run(interpreter, python, folder / "one", folder / "warm")
        _, start = run(interpreter, python, folder / "one", folder / "start")
        _, good = run(interpreter, python, folder / "good", folder / "out-good")
        result, taken = run(interpreter, python, folder / "bad", folder / "out-bad")
    mistakes = list(wrong(result))
    counts = ", ".join(
        f"{count} {outcome.value}" for outcome, count in count_outcomes(t.outcome for t in result.tests).items()
    )
    parts = good + len(HANGS) * SECONDS + (len(CRASHES) + len(HANGS)) * start
    print(f"Python {python}: {result.planned} tests: {counts}; {len(mistakes)} wrong; {len(result.workers)} processes")
    print(f"{'wall time':32} {taken:7.2f} s")
    print(f"{'the sum of its parts':32} {parts:7.2f} s   ratio {taken / parts:.2f}")
    print(f"{'  the suite without them':32} {good:7.2f} s")
    print(f"{'  5 hangs of 2 s':32} {len(HANGS) * SECONDS:7.2f} s")
    print(f"{'  35 cells of one file':32} {(len(CRASHES) + len(HANGS)) * start:7.2f} s   ({start:.3f} s each)")
    print("\n".join(mistakes))
    return 1 if mistakes or result.planned != FILES * TESTS_PER_FILE else 0


if __name__ == "__main__":
    sys.exit(main())
