"""When to stop repeating: another attempt is made only while it can change the answer."""

from __future__ import annotations

from enum import StrEnum

from runner.evidence.statistics import strength
from runner.model.contrast import Count
from runner.model.words import Confidence


class Answer(StrEnum):
    """What the repeats of a contrast have come to."""

    MORE = "more"
    """Another attempt on the side with fewer can still change the answer."""
    CURED = "cured"
    """Proven: the changed factor takes the failure away."""
    RULED_OUT = "ruled out"
    """The failure is there on both sides, and no attempts that are left can prove a difference."""
    OPEN = "open"
    """No attempts that are left can prove it; what is there stays as it is."""


def next_step(before: Count, after: Count, limit: int, tried: int = 1) -> Answer:
    """Whether to go on, with at most `limit` attempts on each side (each in a process of its own).

    The best that can still come is that every attempt left fails before and none after. When even that would not
    prove a difference, going on cannot change the answer.

    Args:
        before: attempts so far with the factor as it was.
        after: attempts so far with the factor changed.
        limit: most attempts on each side.
        tried: number of factors that are tried for this root.
    """
    if strength(before, after, tried).confidence is Confidence.PROVEN:
        return Answer.CURED
    best = strength(_extend(before, limit, fails=True), _extend(after, limit, fails=False), tried)
    at_limit = before.total >= limit and after.total >= limit
    if not at_limit and best.confidence is Confidence.PROVEN:
        return Answer.MORE
    return Answer.RULED_OUT if after.failed else Answer.OPEN


def _extend(count: Count, limit: int, *, fails: bool) -> Count:
    left = max(0, limit - count.total)
    return Count(
        failed=count.failed + (left if fails else 0),
        other=count.other,
        total=count.total + left,
        processes=None if count.processes is None else count.processes + left,
    )
