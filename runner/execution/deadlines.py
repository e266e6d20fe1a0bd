"""When a worker has to be stopped, by what it is doing. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from runner.execution.blame import Activity
from runner.model.plan import Limits

START_SECONDS = 120.0
"""For a Python to come up and import pytest."""

_TAKES = {
    "start": "the start of the process",
    "conftest": "the import of this file",
    "collect": "the collection of this file",
    "between": "the time between two tests",
    "test": "this test",
    "finish": "the end of the session",
    "exit": "the exit of the process",
}


@dataclass(frozen=True)
class Deadline:
    """When a worker is stopped, and why.

    Attributes:
        at: on the monotonic clock.
        limit: `activity`, `cell` or `memory`.
        reason: the beginning of a sentence.
    """

    at: float
    limit: str
    reason: str


def next_deadline(activity: Activity, since: float, limits: Limits, cell: float, over: str | None) -> Deadline:
    """The deadline that comes first; it has passed already when the cell is over.

    Args:
        activity: what the worker is doing.
        since: when it began with that, on the monotonic clock.
        limits: the cell's.
        cell: when the cell's time is over, on the monotonic clock.
        over: why the cell was ended already, or None.
    """
    if over is not None:
        return Deadline(0.0, "cell", over)
    limit = max(limits.test_seconds, START_SECONDS) if activity.kind == "start" else limits.test_seconds
    what = "a round of this race" if activity.round else _TAKES[activity.kind]
    limit += activity.allowance
    own = Deadline(since + limit, "activity", f"{what} took longer than {round(limit, 1):g} s")
    return min(own, Deadline(cell, "cell", "the time of the cell was over"), key=lambda deadline: deadline.at)
