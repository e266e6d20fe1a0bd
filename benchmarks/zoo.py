"""The zoo through a cell, `pytest -n1`, `pytest --forked` and `pytest --isolate`: outcomes that are right, wall time.

The others are given every help: a time limit for each test (pytest-timeout, or their own) and JUnit's file as the
record of what happened. An outcome of theirs is right when that file says so: a crash as any failure or error that
speaks of a crash, a signal or an exit, a hang as one that speaks of a timeout. Each runs with the newest pytest that
it works with; pytest-isolate does not work beside pytest-timeout.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from uv import find_uv_bin

from runner.execution import Rules, run_cell
from runner.model.cell import CellKey
from runner.model.plan import Limits, PlannedCell, PlannedEnvironment, Settings
from runner.model.words import GilMode

SUITES = Path(__file__).parents[1] / "tests" / "zoo" / "suites"
LONGEST = 30.0
"""Seconds for one suite through one of the others."""
OURS = "a cell"
RUNNERS = {
    OURS: (("pytest-timeout==2.4.0", "pytest==9.2.0"), (), ""),
    "pytest -n1": (("pytest-xdist==3.8.0", "pytest-timeout==2.4.0", "pytest==9.2.0"), ("-n1",), "--timeout={}"),
    "pytest --forked": (
        ("pytest-forked==1.7.5", "pytest-timeout==2.4.0", "pytest==8.4.2"),
        ("--forked",),
        "--timeout={}",
    ),
    "pytest --isolate": (
        ("pytest-isolate==0.0.17", "pytest==8.4.2"),
        ("--isolate",),
        "--isolate-timeout={}",
    ),
}
CRASH = re.compile(r"crash|signal|SIG[A-Z]{3}|exit|died|killed|unexpected", re.IGNORECASE)
HANG = re.compile(r"time", re.IGNORECASE)


@dataclass(frozen=True)
class Suite:
    """What is known of a suite: each test's outcome by its short name, or for many tests how many have each."""

    name: str
    expected: dict[str, str]
    many: Counter[str]
    arguments: tuple[str, ...]
    seconds: float
    memory: int | None
    requirements: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of outcomes."""
        return len(self.expected) + self.many.total()


def read_suite(folder: Path) -> Suite:
    """Read `expected.toml`."""
    data = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))
    many = Counter[str]()
    if "planned" in data:
        many = Counter(passed=data["planned"] - data["crashed"], crashed=data["crashed"])
    return Suite(
        name=folder.name,
        expected={_short(name): entry["outcome"] for name, entry in data["expected"].items()},
        many=many,
        arguments=tuple(shlex.split(data.get("arguments", ""))),
        seconds=float(data.get("test_seconds", 20)),
        memory=data.get("memory_bytes"),
        requirements=tuple(data.get("requirements", ())),
    )


def _short(name: str) -> str:
    if "[" in name:
        return name.split("::", 1)[-1]
    return name.rsplit("::", maxsplit=1)[-1]


def count_right(suite: Suite, found: dict[str, str]) -> int:
    """How many of a suite's outcomes were found as they should be."""
    if suite.many:
        counts = Counter(found.values())
        return sum(min(counts[outcome], due) for outcome, due in suite.many.items())
    return sum(found.get(name) == outcome for name, outcome in suite.expected.items())


def run_ours(suite: Suite, root: Path, out: Path, interpreter: Path, python: str) -> dict[str, str]:
    """The suite as a cell."""
    environment = PlannedEnvironment(id="bench", python=python, triton=None, torch=None, fingerprint="bench")
    gil = GilMode.OFF if python.endswith("t") else GilMode.ON
    limits = Limits(test_seconds=suite.seconds, cell_seconds=100, memory_bytes=suite.memory)
    settings = Settings(pytest_args=suite.arguments, limits=limits)
    key = CellKey(id="bench", python=python, gil=gil, triton=None, torch=None)
    cell = PlannedCell(key=key, environment="bench", settings=settings)
    result = run_cell(cell, environment, interpreter, root=root, folder=out, rules=Rules(retry_suspects=False))
    return {_short(test.id): test.outcome.value for test in result.tests}


def run_other(words: list[str], suite: Suite, root: Path, python: str) -> dict[str, str]:
    """The suite through another runner, in a process namespace of its own where one can be made."""
    record = root.parent / f"{root.name}.xml"
    variables = {**os.environ, "PYTHON_GIL": "0"} if python.endswith("t") else dict(os.environ)
    command = [*_apart(), *words, f"--junitxml={record}", *suite.arguments]
    with subprocess.Popen(
        command, cwd=root, env=variables, stdin=-3, stdout=-3, stderr=-3, start_new_session=True
    ) as process:
        try:
            process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
    return dict(_read_junit(record))


def _apart() -> list[str]:
    program = shutil.which("unshare")
    words = [program or "", "--pid", "--fork", "--kill-child", "--mount-proc"]
    can = program and subprocess.run([*words, "true"], check=False, stderr=-3).returncode == 0
    return words if can else []


def _read_junit(record: Path) -> list[tuple[str, str]]:
    with contextlib.suppress(OSError, ET.ParseError):
        cases = ET.parse(record).iter("testcase")  # noqa: S314 - written by pytest, on this machine
        return [(_short(_name(case)), _outcome(case)) for case in cases]
    return []


def _name(case: ET.Element) -> str:
    name = case.get("name", "")
    return name if name.startswith("test_") and "." not in name else f"{name.replace('.', '/')}.py"


def _outcome(case: ET.Element) -> str:
    for kind in ("failure", "error"):
        part = case.find(kind)
        if part is not None:
            said = f"{part.get('message', '')} {part.text or ''}"
            if HANG.search(part.get("message", "")):
                return "timed_out"
            if CRASH.search(part.get("message", "")) and "assert" not in said:
                return "crashed"
            return "error" if kind == "error" or part.get("message", "").startswith("failed on") else "failed"
    skipped = case.find("skipped")
    if skipped is not None:
        return "xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"
    return "passed"


def make_environment(folder: Path, python: str, *packages: str) -> Path | None:
    """An environment; None where these packages do not install."""
    uv, interpreter = find_uv_bin(), folder / "bin" / "python"
    subprocess.run([uv, "venv", "-q", "--python", python, folder], check=True)
    install: list[str | Path] = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", interpreter, *packages]
    return interpreter if subprocess.run(install, check=False).returncode == 0 else None


class Environments:
    """One environment for each runner and for what a suite requires, made when it is first asked for."""

    def __init__(self, folder: Path, python: str) -> None:
        self._folder, self._python = folder, python
        self._made: dict[tuple[str, ...], Path | None] = {}

    def interpreter(self, label: str, suite: Suite) -> Path | None:
        """The interpreter of a runner for a suite; None where it does not install."""
        packages, _, _ = RUNNERS[label]
        own = {package.partition("=")[0] for package in packages}
        apart = {"pytest-timeout"} if "pytest-isolate" in own else set()
        asked = {one: one.partition("=")[0] for one in suite.requirements}
        key = (label, *packages, *(one for one, name in asked.items() if name not in own | apart))
        if key not in self._made:
            self._made[key] = make_environment(self._folder / str(len(self._made)), self._python, *key[1:])
        return self._made[key]


def run_suite(suite: Suite, label: str, interpreter: Path, place: Path, python: str) -> tuple[int, float]:
    """A suite through one runner: how many outcomes were right, and seconds."""
    shutil.copytree(SUITES / suite.name, place / "suite")
    began = time.perf_counter()
    if label == OURS:
        found = run_ours(suite, place / "suite", place / "out", interpreter, python)
    else:
        _, arguments, limit = RUNNERS[label]
        words = [str(interpreter), "-m", "pytest", *arguments, limit.format(suite.seconds)]
        found = run_other(words, suite, place / "suite", python)
    return count_right(suite, found), time.perf_counter() - began


def main(argv: list[str] | None = None) -> int:
    """Run and print the table.

    Returns:
        0 when every outcome of ours was right.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="interpreter for the environments (default: this one)")
    parser.add_argument("suites", nargs="*", help="names of suites (default: all)")
    options = parser.parse_args(argv)
    suites = [
        read_suite(path) for path in sorted(SUITES.iterdir()) if not options.suites or path.name in options.suites
    ]
    question = "import sys; print('%d.%d' % sys.version_info[:2] + 't' * ('t' in getattr(sys, 'abiflags', '')))"
    python = subprocess.check_output([options.python, "-c", question], text=True).strip()
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as name:
        environments = Environments(Path(name), options.python)
        for suite in suites:
            row: list[Any] = [suite.name, suite.size]
            for label in RUNNERS:
                interpreter = environments.interpreter(label, suite)
                place = Path(name) / f"{suite.name}-{label.replace(' ', '')}"
                row.append(None if interpreter is None else run_suite(suite, label, interpreter, place, python))
            rows.append(row)
            print(_line(row), flush=True)
    total: list[Any] = ["all outcomes", sum(row[1] for row in rows)]
    whole: list[Any] = ["suites with every outcome right", len(rows)]
    for column in range(2, 2 + len(RUNNERS)):
        cells = [row[column] for row in rows if row[column] is not None]
        total.append(tuple(map(sum, zip(*cells, strict=True))) if cells else None)
        whole.append(str(sum(row[column] is not None and row[column][0] == row[1] for row in rows)))
    print(f"\nPython {python}; outcomes that are right, and seconds")
    print(_line(["suite", "outcomes", *RUNNERS]))
    print(_line(whole))
    print(_line(total))
    return 0 if total[2][0] == total[1] else 1


def _line(row: list[Any]) -> str:
    cells = [f"{row[0]:34}", f"{row[1]!s:>8}"]
    for part in row[2:]:
        text = (
            part if isinstance(part, str) else "does not install" if part is None else f"{part[0]} in {part[1]:.1f} s"
        )
        cells.append(f"{text:>18}")
    return " ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
