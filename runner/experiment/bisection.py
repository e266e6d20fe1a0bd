"""The first release that fails, by halving. Pure: from what is known of releases to the next one to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.evidence.statistics import repeats_to_show
from runner.model.contrast import Count

CERTAIN_REPEATS = 3
"""Runs without the failure that make a release good, when it was there every time in the bad one."""
MOST_REPEATS = 30


@dataclass(frozen=True)
class Edge:
    """Two neighbouring releases (of those that can be tried) between which the answer changes.

    Attributes:
        good, bad: the releases; `bad` is newer when a change brought the failure, older when one took it away.
    """

    good: str
    bad: str


@dataclass(frozen=True)
class NoEdge:
    """Every release that can be tried fails, or there is no other one."""


def next_release(releases: Sequence[str], bad: str, known: Mapping[str, bool]) -> str | Edge | NoEdge:
    """The next release to try, or the answer.

    The oldest is tried first: if it is good, the failure came between it and the bad one. If it fails as well the
    newest is tried: if that is good, the failure went away between the bad one and it.

    Args:
        releases: that can be tried, oldest first; `bad` is among them.
        bad: a release that fails.
        known: release to whether it fails.
    """
    place = releases.index(bad)
    for end in (0, len(releases) - 1):
        if end == place:
            continue
        name = releases[end]
        if name not in known:
            return name
        if not known[name]:
            return _halve(releases, good=end, bad=place, known=known)
    return NoEdge()


def _halve(releases: Sequence[str], *, good: int, bad: int, known: Mapping[str, bool]) -> str | Edge:
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        name = releases[middle]
        if name not in known:
            return name
        if known[name]:
            bad = middle
        else:
            good = middle
    return Edge(good=releases[good], bad=releases[bad])


def repeats(seen: Count) -> int:
    """Runs without the failure that make a release good, by how often a bad one fails: with 95 %, not by chance."""
    if not seen.total or seen.failed == seen.total:
        return CERTAIN_REPEATS
    needed = repeats_to_show(seen.failed / seen.total)
    return MOST_REPEATS if needed is None else min(MOST_REPEATS, max(CERTAIN_REPEATS, needed))
