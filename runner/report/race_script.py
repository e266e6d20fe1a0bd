"""The lines of a script that race one test again: pytest alone runs it in one thread, where it passes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from runner.model.plan import PlannedCell
from runner.report.shell import comment, word

_NAME = "raced"
_PYTHON = "PYTHON-OF-THIS-SCRIPT"


def race_lines(cell: PlannedCell, root: str, test: str, executable: str | None) -> Iterator[str]:
    """A matrix of one cell, and the commands that run it.

    Args:
        cell: in which the test was raced.
        root: of the project, absolute.
        test: its id.
        executable: the Python that the matrix names; None for the one that the script made in `$work/venv`.
    """
    settings = cell.settings
    matrix = {
        "gil": cell.key.gil.value,
        "environment": [{"name": _NAME, "python": executable or _PYTHON}],
        "project": {
            "root": root,
            "tests": [test],
            "pytest-args": list(settings.pytest_args),
            "env": settings.env,
            "workdir": settings.workdir,
        },
        "race": {"threads": settings.race.threads, "rounds": settings.race.rounds},
    }
    yield comment(
        f"The test in {settings.race.threads} threads at once. By itself it passes, so triton-compat runs it."
    )
    # One line of JSON, which is YAML: no text of a test can end it, and the shell obeys nothing of it.
    yield f'sed "s|{_PYTHON}|$work/venv/bin/python|" > "$work/matrix.yml" <<\'MATRIX\''
    yield json.dumps(matrix)
    yield "MATRIX"
    yield 'cd "$work" && triton-compat plan matrix.yml || exit 1'
    yield f"triton-compat cell {word(f'{_NAME}-gil-{cell.key.gil.value}')}"
