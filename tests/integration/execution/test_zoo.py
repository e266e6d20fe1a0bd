"""The zoo: small suites that misbehave. Every collected test has its expected outcome, and nothing is left running."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.model.plan import Limits
from runner.model.result import Attempt, CellResult

pytestmark = pytest.mark.interpreters

NEWEST = "pytest==9.2.0"
SUITES = Path(__file__).parents[2] / "zoo" / "suites"


def children() -> set[int]:
    """Pids of the processes that are children of this one, adopted ones included."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            stat = Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == os.getpid():
            found.add(int(name))
    return found


def short(name: str) -> str:
    return name.split("::", 1)[1].rsplit("::", maxsplit=1)[-1] if "::" in name and "[" not in name else name


def differences(result: CellResult, expected: dict[str, dict[str, Any]], extra: str) -> list[str]:
    """Where outcomes, phases, signals and exit codes are not as expected; empty when all are."""
    found: dict[str, Attempt] = {}
    for test in result.tests:
        found[test.id if test.id in expected else short(test.id)] = test.attempts[0]
    wrong = [f"{name}: missing" for name in expected if name not in found]
    for name, attempt in found.items():
        if name not in expected:
            if not (extra and extra in name):
                wrong.append(f"{name}: not expected, {attempt.outcome.value}: {attempt.message}")
            continue
        for field, value in expected[name].items():
            got = getattr(attempt, field)
            if not (value in (got or "") if field in {"stack", "output", "message"} else got == value):
                wrong.append(f"{name}: {field} is {got!r}, not {value!r} ({attempt.message})")
    return wrong


@pytest.mark.parametrize("suite", sorted(path.name for path in SUITES.iterdir()))
def test_every_outcome_is_right_and_nothing_is_left(
    project: Any,
    suite: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ready_python: Callable[..., Path],
) -> None:
    run_suite(project, suite, tmp_path, monkeypatch, ready_python, NEWEST)


EARLIER = [
    *("crash_in_conftest", "crash_in_teardown", "duplicates", "every_outcome", "exits", "hang_at_import"),
    *("hostile_names", "loud_failure", "plugin_fails", "stops_at_first", "unittest_and_doctest"),
]


@pytest.mark.parametrize("suite", EARLIER)
@pytest.mark.parametrize("version", ["pytest==7.4.4", "pytest==8.4.2"])
def test_earlier_pytest_too(
    plain_project: Any,
    suite: str,
    version: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ready_python: Callable[..., Path],
) -> None:
    run_suite(plain_project, suite, tmp_path, monkeypatch, ready_python, version)


def run_suite(
    project: Any,
    suite: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ready_python: Callable[..., Path],
    version: str,
) -> None:
    """Run one suite as a cell and compare everything that is known of it."""
    data = tomllib.loads((SUITES / suite / "expected.toml").read_text(encoding="utf-8"))
    shutil.copytree(SUITES / suite, project.root, dirs_exist_ok=True)
    project.python = ready_python(project.build, version, *data.get("requirements", ()))
    project.arguments = tuple(shlex.split(data.get("arguments", "")))
    project.limits = Limits(
        test_seconds=data.get("test_seconds", 20), cell_seconds=100, memory_bytes=data.get("memory_bytes")
    )
    before = children()
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    result = project.run()
    assert children() <= before, "a process was left"
    assert list(temporary.iterdir()) == [], "a temporary file was left"
    if "planned" in data:
        assert result.planned == data["planned"]
        assert sum(test.outcome.value == "passed" for test in result.tests) == data["planned"] - data["crashed"]
        assert sum(test.outcome.value == "crashed" for test in result.tests) == data["crashed"]
        return
    assert differences(result, data["expected"], data.get("allow_extra", "")) == []
    assert (project.folder / "log.txt").stat().st_size < 5_000_000
