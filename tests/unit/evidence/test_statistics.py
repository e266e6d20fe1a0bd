from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.evidence.repeating import Answer, next_step
from runner.evidence.statistics import (
    fisher_one_sided,
    fisher_two_sided,
    rate,
    repeats_needed,
    repeats_to_show,
    strength,
)
from runner.model.contrast import Count
from runner.model.words import Confidence


def all_small_tables() -> list[tuple[int, int, int, int]]:
    return [
        (a, n, b, m) for n, m in itertools.product(range(1, 9), repeat=2) for a in range(n + 1) for b in range(m + 1)
    ]


def test_fisher_agrees_with_scipy_on_every_small_table() -> None:
    for a, n, b, m in all_small_tables():
        table = [[a, n - a], [b, m - b]]
        assert fisher_one_sided(a, n, b, m) == pytest.approx(stats.fisher_exact(table, "greater").pvalue, abs=1e-12)
        assert fisher_two_sided(a, n, b, m) == pytest.approx(stats.fisher_exact(table).pvalue, abs=1e-12)


@pytest.mark.parametrize("table", [(120, 500, 80, 500), (500, 500, 0, 500), (3, 2000, 11, 1500), (0, 900, 0, 900)])
def test_fisher_agrees_with_scipy_on_large_tables(table: tuple[int, int, int, int]) -> None:
    a, n, b, m = table
    cells = [[a, n - a], [b, m - b]]
    assert fisher_one_sided(*table) == pytest.approx(stats.fisher_exact(cells, "greater").pvalue, rel=1e-6)
    assert fisher_two_sided(*table) == pytest.approx(stats.fisher_exact(cells).pvalue, rel=1e-6)


@pytest.mark.parametrize("table", [(-1, 5, 0, 5), (6, 5, 0, 5), (0, 5, 6, 5)])
def test_what_is_not_a_count_is_refused(table: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="are not counts"):
        fisher_one_sided(*table)


def test_interval_agrees_with_scipy() -> None:
    for n in (1, 2, 5, 20, 64, 1000):
        for k in {0, 1, n // 3, n // 2, n - 1, n}:
            ours = rate(k, n)
            theirs = stats.binomtest(k, n).proportion_ci(0.95, "exact")
            assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_interval_of_nothing_tried_is_everything() -> None:
    assert (rate(0, 0).low, rate(0, 0).high) == (0.0, 1.0)
    assert "unknown" in str(rate(0, 0))


def test_rate_is_written_with_its_interval() -> None:
    assert str(rate(4, 20)) == "4 of 20 (20%, 95 % interval 5.7% to 43.7%)"


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_interval_holds_the_point(counts: tuple[int, int]) -> None:
    k, n = counts
    assert rate(k, n).low <= k / n <= rate(k, n).high


@pytest.mark.parametrize(("p", "n"), [(0.2, 14), (0.5, 5), (0.05, 59), (0.01, 299), (1.0, 1), (0.95, 1)])
def test_repeats_that_show_a_rate(p: float, n: int) -> None:
    assert repeats_to_show(p) == n
    assert 1 - (1 - p) ** n >= 0.95 - 1e-9
    assert n == 1 or 1 - (1 - p) ** (n - 1) < 0.95


def test_no_repeats_show_what_never_fails() -> None:
    assert repeats_to_show(0.0) is None


def count(failed: int, total: int, processes: int | None = None, other: int = 0) -> Count:
    return Count(failed=failed, total=total, processes=processes, other=other)


@pytest.mark.parametrize(
    ("before", "after", "tried", "word"),
    [
        (count(1, 1), count(0, 1), 1, Confidence.CANNOT_TELL),
        (count(3, 3), count(0, 3), 1, Confidence.LIKELY),
        (count(5, 5), count(0, 5), 1, Confidence.PROVEN),
        (count(5, 5), count(0, 5), 8, Confidence.LIKELY),
        (count(6, 6), count(0, 6), 8, Confidence.PROVEN),
        (count(6, 6), count(6, 6), 1, Confidence.CANNOT_TELL),
        (count(500, 500), count(0, 2), 1, Confidence.LIKELY),
        (count(20, 20, 1), count(0, 20, 1), 1, Confidence.LIKELY),
        (count(6, 6), count(0, 6, other=2), 1, Confidence.LIKELY),
        (count(6, 6), count(0, 6, other=6), 1, Confidence.CANNOT_TELL),
        (count(4, 20), count(0, 20), 1, Confidence.LIKELY),
        (count(9, 9), count(0, 9, 3), 1, Confidence.PROVEN),
        (count(9, 9), count(1, 9, 3), 1, Confidence.LIKELY),
        (count(0, 0), count(0, 0), 1, Confidence.CANNOT_TELL),
    ],
)
def test_confidence(before: Count, after: Count, tried: int, word: Confidence) -> None:
    assert strength(before, after, tried).confidence is word


def test_how_often_a_certain_failure_is_repeated() -> None:
    assert [repeats_needed(n) for n in (1, 2, 3, 8, 9)] == [5, 5, 6, 6, 6]


def test_a_false_proof_is_rarer_than_its_threshold() -> None:
    """Without any effect, over every outcome of 10 against 10 attempts, weighed by its exact probability."""
    for p in (0.05, 0.2, 0.5, 0.8, 0.95):
        wrong = sum(
            stats.binom.pmf(a, 10, p) * stats.binom.pmf(b, 10, p)
            for a, b in itertools.product(range(11), repeat=2)
            if strength(count(a, 10), count(b, 10)).confidence is Confidence.PROVEN
        )
        assert wrong <= 0.01


class TestSequentialRule:
    def test_a_certain_failure_takes_five_on_each_side(self) -> None:
        assert next_step(count(4, 4), count(0, 4), limit=10) is Answer.MORE
        assert next_step(count(5, 5), count(0, 5), limit=10) is Answer.CURED

    def test_stops_as_soon_as_nothing_left_can_prove_it(self) -> None:
        assert next_step(count(5, 5), count(4, 4), limit=6) is Answer.RULED_OUT

    def test_goes_on_after_one_failure_when_there_is_room(self) -> None:
        assert next_step(count(5, 5), count(1, 1), limit=20) is Answer.MORE

    def test_a_rare_failure_that_stays_away_is_open(self) -> None:
        assert next_step(count(1, 6), count(0, 6), limit=6) is Answer.OPEN

    def test_too_small_a_limit_never_starts(self) -> None:
        assert next_step(count(0, 0), count(0, 0), limit=3) is Answer.OPEN

    @given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=8, max_size=8))
    def test_an_early_stop_never_changes_the_answer(self, trials: list[tuple[bool, bool]]) -> None:
        """What going on to the limit would prove is never lost by stopping: only CURED may come early."""
        limit = len(trials)
        full = strength(count(sum(a for a, _ in trials), limit), count(sum(b for _, b in trials), limit))
        for n in range(limit + 1):
            done = trials[:n]
            answer = next_step(count(sum(a for a, _ in done), n), count(sum(b for _, b in done), n), limit)
            if answer in (Answer.RULED_OUT, Answer.OPEN):
                assert full.confidence is not Confidence.PROVEN
                break
            if answer is Answer.CURED:
                break
        else:
            pytest.fail("the rule never came to an end")
