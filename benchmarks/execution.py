"""What crash-proof execution costs: 1,000 trivial tests through a cell, through bare pytest, through `pytest -n1`.

All three run in the same environment with the same plugins and options, taking turns, so that a busy machine is busy
for all; medians are compared. The least times are printed too: they say most where the machine is never idle.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from uv import find_uv_bin

from runner.execution import run_cell
from runner.model.cell import CellKey
from runner.model.plan import PlannedCell, PlannedEnvironment, Settings
from runner.model.words import GilMode, Status

FILES, TESTS_PER_FILE = 10, 100
ALLOWED = 1.10


def make_environment(folder: Path, python: str) -> Path:
    """An environment with pytest and xdist, byte-compiled; returns its interpreter."""
    uv = find_uv_bin()
    subprocess.run([uv, "venv", "-q", "--python", python, folder], check=True)
    interpreter = folder / "bin" / "python"
    install: list[str | Path] = [
        uv,
        "pip",
        "install",
        "-q",
        "--compile-bytecode",
        "--python",
        interpreter,
        "pytest",
        "pytest-xdist",
    ]
    subprocess.run(install, check=True)
    return interpreter


def write_suite(folder: Path) -> None:
    """1,000 tests that do next to nothing."""
    folder.mkdir()
    for number in range(FILES):
        tests = (f"def test_{index}():\n    assert {index} >= 0\n" for index in range(TESTS_PER_FILE))
        (folder / f"test_file{number}.py").write_text("\n".join(tests), encoding="utf-8")


def run_ours(interpreter: Path, python: str, suite: Path, out: Path) -> None:
    """The suite as a cell."""
    environment = PlannedEnvironment(id="bench", python=python, triton=None, torch=None, fingerprint="bench")
    key = CellKey(id="bench", python=python, gil=GilMode.ON, triton=None, torch=None)
    cell = PlannedCell(key=key, environment="bench", settings=Settings())
    result = run_cell(cell, environment, interpreter, root=suite, folder=out)
    if result.status is not Status.PASS or result.planned != FILES * TESTS_PER_FILE:
        raise SystemExit(f"the cell did not pass: {result.status.value}, {result.reason}")


def clock(task: Callable[[], object]) -> float:
    """Seconds of wall time."""
    before = time.perf_counter()
    task()
    return time.perf_counter() - before


def main(argv: list[str] | None = None) -> int:
    """Measure and print the ratios.

    Returns:
        0 when a cell costs at most 1.10 times bare pytest plus one process start, else 1.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="interpreter for the environment (default: this one)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        interpreter = make_environment(folder / "environment", options.python)
        suite = folder / "suite"
        python = subprocess.check_output(
            [interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2] + 't' * ('t' in sys.abiflags))"],
            text=True,
        ).strip()
        write_suite(suite)
        pytest: list[str | Path] = [interpreter, "-m", "pytest", "-o", f"cache_dir={folder / 'cache'}"]
        tasks: dict[str, Callable[[], object]] = {
            "one process start": lambda: subprocess.run([interpreter, "-c", ""], check=True),
            "bare pytest": lambda: subprocess.run(pytest, cwd=suite, stdout=-3, check=True),
            "pytest -n1": lambda: subprocess.run([*pytest, "-n1"], cwd=suite, stdout=-3, check=True),
            "a cell": lambda: run_ours(interpreter, python, suite, Path(tempfile.mkdtemp(dir=folder))),
        }
        for task in tasks.values():  # caches warm for all
            task()
        taken: dict[str, list[float]] = {label: [] for label in tasks}
        for _ in range(options.rounds):
            for label, task in tasks.items():
                taken[label].append(clock(task))
    median = {label: statistics.median(seconds) for label, seconds in taken.items()}
    for label, seconds in median.items():
        low, high = min(taken[label]), max(taken[label])
        ratio = seconds / median["bare pytest"]
        print(f"{label:20} {seconds:7.3f} s   {ratio:5.2f} x bare pytest   ({low:.3f} to {high:.3f} s)")
    least = {label: min(seconds) for label, seconds in taken.items()}
    beside = (least["a cell"] - least["one process start"]) / least["bare pytest"]
    print(f"{'least times':20} (a cell - one process start) / bare pytest = {beside:.2f}")
    bound = ALLOWED * median["bare pytest"] + median["one process start"]
    print(f"{'allowed for a cell':20} {bound:7.3f} s   {ALLOWED} x bare pytest + one process start")
    return 0 if median["a cell"] <= bound else 1


if __name__ == "__main__":
    sys.exit(main())
