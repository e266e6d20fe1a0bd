"""What to run next for one group of failures. Pure: from counts to the next run, and to nothing once all is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runner.evidence.repeating import Answer, next_step
from runner.evidence.statistics import repeats_needed
from runner.experiment.conditions import Candidate, Conditions, Cost
from runner.model.contrast import Count
from runner.model.words import Factor

LEAST_REPEATS = 5
"""Repetitions under the same conditions, before a failure is taken as certain."""
MOST_REPEATS = 20
"""Repetitions of a failure that comes and goes; one in five is seen with 99 %."""
MOST_COMPARED = 12
"""Attempts on each side of a contrast of a failure that comes and goes."""
TRIES = 3
"""Runs without the failure after which it is looked for under the next likely conditions."""
LEAST_COMPARED = 3
"""Attempts with a cheap factor or the commit changed, also where fewer rule it out."""
_REPEATED = (Cost.HERE, Cost.CHECKOUT)
NONE = Count(failed=0, total=0)


@dataclass(frozen=True)
class Start:
    """Where a group's contrasts start.

    Attributes:
        conditions: under which the failure is seen.
        certain: it was there in every repetition so far.
    """

    conditions: Conditions
    certain: bool


def find_start(alone: Conditions, counts: Mapping[Conditions, Count], *, has_company: bool) -> Start | Conditions:
    """The conditions to start from, or the next run that is needed to find them.

    A failure that is there when the test is alone is looked into there: that is cheaper, and one factor fewer.
    One that is not there alone is looked for after the tests that came before it; one that is nowhere, alone again.
    """
    company = replace(alone, alone=False)
    seen_alone, seen_with = counts.get(alone, NONE), counts.get(company, NONE)
    if not seen_alone.failed:
        if seen_alone.total < TRIES:
            return alone
        if has_company and not seen_with.failed and seen_with.total < TRIES:
            return company
        if has_company and seen_with.failed:
            return Start(company, seen_with.failed == seen_with.total)
    return Start(alone, 0 < seen_alone.failed == seen_alone.total)


def next_run(
    start: Start,
    plan: Sequence[Candidate],
    counts: Mapping[Conditions, Count],
    *,
    answered: frozenset[Candidate] = frozenset(),
    impossible: frozenset[Conditions] = frozenset(),
) -> Conditions | None:
    """The next run, or None when no further run can change an answer.

    Args:
        start: where the contrasts start.
        plan: the contrasts that can be made, in their order.
        counts: what was seen so far.
        answered: contrasts that the results of sibling cells answer.
        impossible: conditions that cannot be had on this machine.
    """
    repeated = counts.get(start.conditions, NONE)
    if repeated.other == repeated.total >= LEAST_REPEATS:  # it fails in another way each time
        return None
    if repeated.total < (LEAST_REPEATS if start.certain else MOST_REPEATS) and not _is_settled(start, repeated):
        return start.conditions
    if not repeated.failed:  # no contrast can start from a failure that is not there
        return None
    usable = [one for one in plan if not (one in answered or one.after in impossible or one.before in impossible)]
    tried = len({candidate.factor for candidate in plan} | {Factor.ALONE})
    return _next_contrast(start, usable, counts, tried)


def _next_contrast(
    start: Start, plan: Sequence[Candidate], counts: Mapping[Conditions, Count], tried: int
) -> Conditions | None:
    """The next run for the contrasts, once the failure was seen again."""
    limit = max(LEAST_REPEATS, repeats_needed(tried)) if start.certain else MOST_COMPARED
    proven, cures = False, 0
    for candidate in plan:
        if proven and candidate.cost is not Cost.HERE:
            continue  # the cause is known; what is dear would only say what else it is not
        before, after = counts.get(candidate.before, NONE), counts.get(candidate.after, NONE)
        answer = next_step(before, after, limit, tried)
        if answer is Answer.MORE:
            return candidate.before if before.total <= after.total else candidate.after
        if before.failed and candidate.cost in _REPEATED and after.total < LEAST_COMPARED:
            return candidate.after
        if answer is Answer.CURED:
            cures += 1
            # What ended by itself meanwhile (an outage, a busy machine) looks like a cure: the failure is seen again.
            if start.certain and candidate.before == start.conditions and before.total < LEAST_REPEATS + cures:
                return candidate.before
        proven = proven or answer is Answer.CURED
    return None


def _is_settled(start: Start, repeated: Count) -> bool:
    """Whether an uncertain failure was seen to fail and to pass often enough to have a rate."""
    return not start.certain and repeated.total >= LEAST_REPEATS * 2 and 0 < repeated.failed < repeated.total


def is_left(candidate: Candidate, counts: Mapping[Conditions, Count]) -> bool:
    """Whether nothing was run for a candidate."""
    return not counts.get(candidate.after, NONE).total
