"""Exact statistics on counts: what k of n on two sides can prove, and how many repeats an answer takes.

Everything is exact integer arithmetic (`math.comb`) or a bisection on an exact tail, so that no table, no
approximation and no random number stands between the counts and the word. Thresholds are in one place, below.

Sources: R. A. Fisher, "The Design of Experiments" (1935), for the exact test; C. J. Clopper and E. S. Pearson,
Biometrika 26 (1934), for the interval: it never covers less than it says, at any n and any rate, where
approximate intervals can; C. E. Bonferroni's inequality for several factors tried at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from runner.model.contrast import Count
from runner.model.words import Confidence

PROVEN_P = 0.01
"""A contrast proves when counts this lopsided come up in at most 1 of 100 investigations without any effect."""
LIKELY_P = 0.10
"""It makes likely when they come up in at most 10 of 100."""
PROVEN_TRIALS = 3
"""No side with fewer independent trials proves anything, however many the other has."""
LEVEL = 0.95
"""Of every interval, and of the number of repeats that would show a failure."""
_BISECTIONS = 60
"""Halvings of [0, 1]: beyond the resolution of a float."""


def fisher_one_sided(failed_a: int, total_a: int, failed_b: int, total_b: int) -> float:
    """Probability of at least `failed_a` failures on side a, given the margins, if both sides fail alike.

    Small values say that side a fails more often than side b.

    Raises:
        ValueError: a count is negative or more than its total.
    """
    low, high, weight, whole = _margins(failed_a, total_a, failed_b, total_b)
    return float(Fraction(sum(weight(k) for k in range(max(low, failed_a), high + 1)), whole))


def fisher_two_sided(failed_a: int, total_a: int, failed_b: int, total_b: int) -> float:
    """Probability of counts at most as likely as those seen, given the margins, if both sides fail alike.

    Raises:
        ValueError: a count is negative or more than its total.
    """
    low, high, weight, whole = _margins(failed_a, total_a, failed_b, total_b)
    seen = weight(failed_a)
    return float(Fraction(sum(w for k in range(low, high + 1) if (w := weight(k)) <= seen), whole))


class _Weight:
    """Number of ways in which k of the failures fall on side a (hypergeometric numerator)."""

    def __init__(self, failed: int, total_a: int, total_b: int) -> None:
        self._failed, self._total_a, self._total_b = failed, total_a, total_b

    def __call__(self, k: int) -> int:
        return math.comb(self._total_a, k) * math.comb(self._total_b, self._failed - k)


def _margins(failed_a: int, total_a: int, failed_b: int, total_b: int) -> tuple[int, int, _Weight, int]:
    if not (0 <= failed_a <= total_a and 0 <= failed_b <= total_b):
        raise ValueError(f"{failed_a} of {total_a} against {failed_b} of {total_b} are not counts")
    failed = failed_a + failed_b
    whole = math.comb(total_a + total_b, failed)
    return max(0, failed - total_b), min(failed, total_a), _Weight(failed, total_a, total_b), whole


@dataclass(frozen=True)
class Rate:
    """A failure rate with its exact interval at `LEVEL`.

    Attributes:
        failed, total: the counts.
        low, high: bounds of the rate, in [0, 1].
    """

    failed: int
    total: int
    low: float
    high: float

    def __str__(self) -> str:
        point = f"{self.failed / self.total:.0%}" if self.total else "unknown"
        return f"{self.failed} of {self.total} ({point}, 95 % interval {self.low:.1%} to {self.high:.1%})"


def rate(failed: int, total: int, level: float = LEVEL) -> Rate:
    """The Clopper-Pearson interval of a rate; [0, 1] when nothing was tried.

    Raises:
        ValueError: `failed` is not in 0 to `total`.
    """
    if not 0 <= failed <= total:
        raise ValueError(f"{failed} of {total} is not a count")
    tail = (1 - level) / 2
    low = 0.0 if failed == 0 else _bisect(lambda p: 1 - _binomial_at_most(failed - 1, total, p) < tail)
    high = 1.0 if failed == total else _bisect(lambda p: _binomial_at_most(failed, total, p) > tail)
    return Rate(failed, total, low, high)


def _bisect(below: Callable[[float], bool]) -> float:
    """Where `below(p)`, true at 0 and false at 1, changes."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _binomial_at_most(k: int, n: int, p: float) -> float:
    """P(X <= k) for X ~ Binomial(n, p); terms from log-gamma, so that a large n does not overflow."""
    if p <= 0 or k >= n:
        return 1.0
    if p >= 1:
        return 0.0
    log_p, log_q, whole = math.log(p), math.log1p(-p), math.lgamma(n + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log_p + (n - i) * log_q)
        for i in range(k + 1)
    )


def repeats_to_show(failure_rate: float, level: float = LEVEL) -> int | None:
    """How many attempts show a failure of this rate at least once with probability `level`; None for a rate of 0."""
    if failure_rate <= 0:
        return None
    if failure_rate >= 1:
        return 1
    # The small allowance keeps a rate whose exact answer is a whole number from being rounded up by a float's error.
    return max(1, math.ceil(math.log(1 - level) / math.log1p(-failure_rate) - 1e-9))


@dataclass(frozen=True)
class Strength:
    """What a contrast's counts say about "changing this factor takes the failure away".

    Attributes:
        confidence: the word.
        p: one-sided Fisher on independent trials, times the number of factors tried; at most 1.
        p_attempts: the same on all attempts, also those that share a process.
    """

    confidence: Confidence
    p: float
    p_attempts: float


def strength(before: Count, after: Count, tried: int = 1) -> Strength:
    """How surely the failure is there before and less so after, of `tried` factors that were tried.

    Attempts that share a process may share its fate: they make likely, they never prove. Attempts that went wrong in
    another way count against the contrast on both sides: as good before, as failed after.
    """
    p_attempts = fisher_one_sided(before.failed, before.total, after.failed + after.other, after.total)
    trials_before, trials_after = before.trials, after.trials
    failed_before = _share(before.failed, before.total, trials_before, up=False)
    failed_after = _share(after.failed + after.other, after.total, trials_after, up=True)
    p = fisher_one_sided(failed_before, trials_before, failed_after, trials_after)
    p, p_attempts = min(1.0, p * tried), min(1.0, p_attempts * tried)
    if p <= PROVEN_P and min(trials_before, trials_after) >= PROVEN_TRIALS:
        return Strength(Confidence.PROVEN, p, p_attempts)
    if min(p, p_attempts) <= LIKELY_P:
        return Strength(Confidence.LIKELY, p, p_attempts)
    return Strength(Confidence.CANNOT_TELL, p, p_attempts)


def _share(failed: int, total: int, trials: int, *, up: bool) -> int:
    """Failures among `trials` when `failed` of `total` attempts failed, rounded against the contrast."""
    if not total:
        return 0
    exact = Fraction(failed * trials, total)
    return math.ceil(exact) if up else math.floor(exact)


def repeats_needed(tried: int = 1) -> int:
    """Attempts on each side that prove a certain failure against none, of `tried` factors."""
    n = PROVEN_TRIALS
    while strength(Count(failed=n, total=n), Count(failed=0, total=n), tried).confidence is not Confidence.PROVEN:
        n += 1
    return n
