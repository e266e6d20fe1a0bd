"""A run as a person would make it: which tests, with which command and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.experiment.conditions import CACHE_VARIABLES, Cache, Conditions
from runner.model.plan import PlannedCell
from runner.model.words import GilMode

_MOST_NAMED = 20


@dataclass(frozen=True)
class Selection:
    """What of a cell is run.

    Attributes:
        tests: ids of the tests, in their order, or None for all.
        files: the only files that are collected, or None for all.
    """

    tests: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None


def variables(cell: PlannedCell, conditions: Conditions, found: Mapping[str, Path]) -> dict[str, str]:
    """The variables as a person would set them: the directory as found itself, not the copy of it.

    Args:
        cell: as it is run.
        conditions: under which it is.
        found: the cache directories as found, by variable.
    """
    env = {name: value for name, value in cell.settings.env.items() if name not in CACHE_VARIABLES}
    if conditions.cache is Cache.FOUND:
        env.update({name: str(path) for name, path in found.items()})
    else:
        env.update(dict.fromkeys(found, "<an empty directory>"))
    return {**env, **gil_variables(cell)}


def gil_variables(cell: PlannedCell) -> dict[str, str]:
    """`PYTHON_GIL` where the cell's Python knows it and the mode sets it."""
    if not cell.key.python.endswith("t") or cell.key.gil is GilMode.DEFAULT:
        return {}
    return {"PYTHON_GIL": "1" if cell.key.gil is GilMode.ON else "0"}


def command(cell: PlannedCell, selection: Selection) -> tuple[str, ...]:
    """The command, without the supervision."""
    return ("python", "-m", "pytest", *cell.settings.pytest_args, *named(selection.tests or selection.files))


def named(tests: tuple[str, ...] | None) -> tuple[str, ...]:
    """Tests by name; a long list is told by its last one, which is the one in question."""
    tests = tests or ()
    return tests if len(tests) <= _MOST_NAMED else (f"[{len(tests) - 1} tests before]", tests[-1])
