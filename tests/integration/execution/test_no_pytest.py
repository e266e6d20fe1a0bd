"""Environments in which no test can run: the reason says which import failed, and what to do."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from runner.environment.interpreters import find_interpreter
from runner.model.cell import PythonBuild
from runner.model.words import Outcome, Status

BROKEN_PLUGIN = (
    "no test was collected: ImportError: the pytest plugin broken (broken_plugin) could not be imported: "
    "ModuleNotFoundError: No module named 'not_there'; `-p no:broken` leaves it out"
)

pytestmark = pytest.mark.interpreters


@pytest.mark.parametrize("pip", [True, False], ids=["with-pip", "without-pip"])
def test_a_python_without_pytest_says_how_to_get_it_and_runs_once_it_has_it(
    plain_project: Any, tmp_path: Path, pip: bool
) -> None:
    plain_project.write("test_a.py", "def test_a(): pass\n")
    interpreter = find_interpreter(PythonBuild.parse("3.12")).executable
    folder = tmp_path / "own environment"
    subprocess.run([interpreter, "-m", "venv", *([] if pip else ["--without-pip"]), folder], check=True)
    plain_project.python = folder / "bin" / "python"
    result = plain_project.run()
    assert result.status is Status.NO_RESULT
    assert result.tests == ()
    python = shlex.quote(str(folder / "bin" / "python"))
    command = f"{python} -m pip install pytest" if pip else f"uv pip install --python {python} pytest"
    assert result.reason == f"pytest is not installed in {folder}; `{command}` installs it"
    words = shlex.split(command)
    if not pip:
        words[0] = find_uv_bin()
    subprocess.run(words, check=True, capture_output=True)
    assert [test.outcome for test in plain_project.run().tests] == [Outcome.PASSED]


@pytest.mark.parametrize(
    ("files", "status", "reason"),
    [
        (
            {"pytest.py": "import not_there\n"},
            Status.NO_RESULT,
            "pytest could not be imported in {prefix}: ModuleNotFoundError: No module named 'not_there'",
        ),
        (
            {"pytest.py": "__version__ = '1.0'\n"},
            Status.NO_RESULT,
            "pytest 1.0 cannot be watched: AttributeError: module 'pytest' has no attribute 'hookimpl'",
        ),
        (
            {
                "broken_plugin.py": "import not_there\n",
                "broken-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n",
                "broken-1.0.dist-info/entry_points.txt": "[pytest11]\nbroken = broken_plugin\n",
            },
            Status.NO_RESULT,
            BROKEN_PLUGIN,
        ),
    ],
    ids=["broken-pytest", "ancient-pytest", "broken-plugin"],
)
def test_the_import_that_failed_is_named(
    plain_project: Any, tmp_path: Path, files: dict[str, str], status: Status, reason: str
) -> None:
    for name, text in files.items():
        path = tmp_path / "more" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    plain_project.env = {"PYTHONPATH": str(tmp_path / "more")}
    plain_project.write("test_a.py", "def test_a(): pass\n")
    result = plain_project.run()
    assert result.reason == reason.format(prefix=plain_project.python.parents[1])
    assert result.status is status
    assert "not_there" in (plain_project.folder / "log.txt").read_text() or "hookimpl" in reason
