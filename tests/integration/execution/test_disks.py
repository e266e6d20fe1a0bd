"""Disks that are full or cannot be written, and environments that a test damages."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from runner.errors import ExecutionError
from runner.execution.journal import read_events

pytestmark = pytest.mark.interpreters


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=False, stderr=subprocess.DEVNULL
    )
    if mounted.returncode != 0:
        pytest.skip("a file system can be mounted by root alone")
    yield folder
    subprocess.run(["umount", folder], check=True)


def outcomes(result: Any) -> dict[str, str]:
    return {test.id.split("::")[-1]: test.outcome.value for test in result.tests}


def test_a_full_disk_under_the_journal_ends_nothing(plain_project: Any, small_disk: Path) -> None:
    """Every test is run and told of; that the result cannot be kept is an error that says so."""
    plain_project.write(
        "test_many.py",
        """
    import os, pytest
    @pytest.mark.parametrize("n", range(300))
    def test_n(n):
        assert n != 100, "x" * 2000
        if n == 200:
            os.abort()
    """,
    )
    plain_project.folder = small_disk / "cell"
    with pytest.raises(ExecutionError, match=r"result\.json cannot be written: No space left on device"):
        plain_project.run()
    told = plain_project.told[-1]
    assert {outcome.value: count for outcome, count in told.counts.items()} == {
        "passed": 298,
        "failed": 1,
        "crashed": 1,
    }
    written = read_events(small_disk / "cell" / "journal.jsonl")
    assert 0 < sum(event["event"] == "end" for event in written) < 300
    assert not list((small_disk / "cell").glob("*.tmp")), "a half-written file was left"
    subprocess.run(["mount", "-o", "remount,size=10m", small_disk], check=True)
    result = plain_project.run()
    assert result.planned == 300
    assert outcomes(result)["test_n[100]"] == "failed"
    assert outcomes(result)["test_n[200]"] == "crashed"
    assert sum(outcome == "passed" for outcome in outcomes(result).values()) == 298


def test_a_folder_that_cannot_be_written_is_named(plain_project: Any, small_disk: Path) -> None:
    plain_project.write("test_a.py", "def test_a(): pass\n")
    (small_disk / "cell").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for folder in (small_disk / "cell", small_disk / "new"):
        plain_project.folder = folder
        with pytest.raises(ExecutionError, match="Read-only file system") as caught:
            plain_project.run()
        assert str(folder) in str(caught.value)
        assert caught.value.exit_code == ExecutionError.exit_code


def test_an_environment_that_a_test_damages_ends_in_words(
    plain_project: Any, ready_python: Callable[..., Path], tmp_path: Path
) -> None:
    """A throwaway environment, in which no later process comes up."""
    folder = tmp_path / "environment"
    uv = find_uv_bin()
    subprocess.run([uv, "venv", "-q", "--python", ready_python("3.12"), folder], check=True)
    install: list[str | Path] = [uv, "pip", "install", "-q", "--link-mode", "copy", "--python", folder / "bin/python"]
    subprocess.run([*install, "pytest==9.2.0"], check=True)
    plain_project.python = folder / "bin/python"
    plain_project.write(
        "test_damage.py",
        """
    import os, pathlib, pytest
    def test_writes():
        packages = pathlib.Path(pytest.__file__).parents[1]
        (packages / "damage.py").write_text("import os; os._exit(7)")
        (packages / "damage.pth").write_text("import damage")
    def test_still_here(): pass
    def test_dies(): os.abort()
    def test_after(): pass
    """,
    )
    result = plain_project.run()
    assert outcomes(result) == {
        "test_writes": "passed",
        "test_still_here": "passed",
        "test_dies": "crashed",
        "test_after": "not_run",
        "<session>": "crashed",
    }
    assert not result.is_complete
    assert "no worker process could get to this test; the last one: ended with exit code 7" in (result.reason or "")
