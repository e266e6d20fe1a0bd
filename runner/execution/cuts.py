"""Supervisors that were ended in the middle of a test: which one it may have been that ended them. Pure."""

from __future__ import annotations

from runner.execution.blame import Activity
from runner.execution.known import Known

MOST_CUTS = 3
"""A test during which the supervisor itself died so often is taken as the one that kills it."""


class Cuts:
    """How often a supervisor was ended while a test or file ran, or may have run."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, activity: Activity) -> int:
        """Count one more; returns how many there are now."""
        key = f"{activity.kind}:{activity.name}"
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]

    def is_dangerous(self, number: int) -> bool:
        """Whether a test may be what ended the supervisor repeatedly, so that it runs with no other beside it."""
        return self._counts.get(f"test:{number}", 0) >= MOST_CUTS - 1


def may_have_run(known: Known, activity: Activity, last: int | None) -> list[Activity]:
    """What may have been running when the supervisor died: one test or file, or some tests whose ends are lost.

    Args:
        known: what the journal holds.
        activity: of the worker, as far as the journal says.
        last: number of the test that started last. The journal may lack the last events, shared memory does not.
    """
    if last is not None:
        # Tests run in the order of their numbers; without a plan the next collection will number them the same.
        unfinished = range(last + 1) if known.planned is None else known.remaining()
        tests = [number for number in unfinished if number <= last]
        if tests:
            surely = activity if activity.number in tests else None
            return [surely] if surely and len(tests) == 1 else [Activity("test", str(each), "setup") for each in tests]
    return [activity] if activity.kind in {"test", "collect", "conftest"} else []
