"""The lines that race a test again, obeyed by a real shell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from runner.model.plan import PlannedCell, Race, Settings
from runner.report.race_script import race_lines
from tests.unit.verdict.building import plan

HOSTILE = "tests/test_a.py::test[$(touch owned)`touch owned`'\nMATRIX\ntouch owned\n\u202e]"


@pytest.mark.parametrize(
    ("executable", "python"), [(None, "{work}/venv/bin/python"), ("/conda/python", "/conda/python")]
)
def test_a_shell_makes_the_matrix_and_obeys_nothing_in_it(executable: str | None, python: str, tmp_path: Path) -> None:
    key = plan().cells[0].key
    settings = Settings(
        tests=("tests",), pytest_args=("-k", "a b"), env={"X": "1 $(y)"}, race=Race(threads=4, rounds=3)
    )
    lines = race_lines(PlannedCell(key=key, environment="e", settings=settings), "/a project", HOSTILE, executable)
    said = 'triton-compat() { echo "$@"; }\n' + "\n".join(lines)
    done = subprocess.run(
        ["bash", "-c", said],
        env={"work": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["plan matrix.yml", f"cell raced-gil-{key.gil.value}"]
    assert [path.name for path in tmp_path.iterdir()] == ["matrix.yml"]
    assert json.loads((tmp_path / "matrix.yml").read_text()) == {
        "gil": key.gil.value,
        "environment": [{"name": "raced", "python": python.format(work=tmp_path)}],
        "project": {
            "root": "/a project",
            "tests": [HOSTILE],
            "pytest-args": ["-k", "a b"],
            "env": {"X": "1 $(y)"},
            "workdir": ".",
        },
        "race": {"threads": 4, "rounds": 3},
    }
