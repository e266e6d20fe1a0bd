from __future__ import annotations

import math

import pytest

from runner.experiment.bisection import CERTAIN_REPEATS, MOST_REPEATS, Edge, NoEdge, next_release, repeats
from runner.model.contrast import Count

RELEASES = [f"3.{number}.0" for number in range(17)]


def search(releases: list[str], bad: str, failing: set[str]) -> tuple[Edge | NoEdge, int]:
    known = {bad: True}
    while isinstance(step := next_release(releases, bad, known), str):
        assert step not in known, "a release is asked about twice"
        known[step] = step in failing
    return step, len(known) - 1


@pytest.mark.parametrize("first", range(1, 17))
def test_the_first_bad_release_is_found_in_logarithmically_many(first: int) -> None:
    failing = set(RELEASES[first:])
    found, tried = search(RELEASES, RELEASES[-1], failing)
    assert found == Edge(good=RELEASES[first - 1], bad=RELEASES[first])
    assert tried <= 1 + math.ceil(math.log2(16))


@pytest.mark.parametrize("last", range(16))
def test_a_failure_that_went_away_is_found_as_well(last: int) -> None:
    failing = set(RELEASES[: last + 1])
    found, _ = search(RELEASES, RELEASES[0], failing)
    assert found == Edge(good=RELEASES[last + 1], bad=RELEASES[last])


@pytest.mark.parametrize("bad", ["3.0.0", "3.7.0", "3.16.0"])
def test_when_every_release_fails_there_is_no_edge(bad: str) -> None:
    assert search(RELEASES, bad, set(RELEASES)) == (NoEdge(), 1 if bad != "3.7.0" else 2)


def test_one_release_has_no_edge() -> None:
    assert next_release(["3.7.0"], "3.7.0", {"3.7.0": True}) == NoEdge()


def test_a_failure_that_is_certain_needs_few_passes() -> None:
    assert repeats(Count(failed=3, total=3)) == CERTAIN_REPEATS


def test_a_rare_failure_needs_as_many_passes_as_show_it_with_95_percent() -> None:
    assert repeats(Count(failed=5, total=10)) == 5
    assert repeats(Count(failed=2, total=10)) == 14
    assert repeats(Count(failed=1, total=100)) == MOST_REPEATS
