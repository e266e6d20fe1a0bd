"""The procedure against worlds whose truth is known: what is run, how often, and when it stops."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from runner.evidence.repeating import Answer, next_step
from runner.evidence.signatures import Category
from runner.evidence.statistics import strength
from runner.experiment.candidates import World, candidates
from runner.experiment.conditions import Cache, Candidate, Conditions
from runner.experiment.procedure import LEAST_REPEATS, MOST_REPEATS, NONE, Start, find_start, next_run
from runner.model.contrast import Count
from runner.model.plan import Pin, PlannedEnvironment
from runner.model.words import Confidence, Factor, GilMode

Fails = Callable[[Conditions], float]
"""The rate at which the failure shows under these conditions."""


def environment(python: str, triton: str = "3.7.0") -> PlannedEnvironment:
    return PlannedEnvironment(id=f"py{python}-triton{triton}", python=python, triton=triton, torch=None, fingerprint="")


HERE = environment("3.13t")
WORLD = World((HERE, environment("3.13"), environment("3.13t", "3.3.1"), environment("3.12")))
ALONE = Conditions(HERE.id, GilMode.OFF)


def investigate(
    fails: Fails, *, alone: Conditions = ALONE, company: bool = False, seed: int = 1
) -> tuple[Start, tuple[Candidate, ...], dict[Conditions, Count]]:
    """Run the procedure to its end in a world that fails by these rates."""
    luck = random.Random(seed)  # noqa: S311 - a simulation
    counts: dict[Conditions, Count] = {}

    def run(conditions: Conditions) -> None:
        one, failed = counts.get(conditions, NONE), luck.random() < fails(conditions)
        counts[conditions] = Count(failed=one.failed + failed, total=one.total + 1)
        assert sum(count.total for count in counts.values()) < 200, "it does not come to an end"

    while not isinstance(found := find_start(alone, counts, has_company=company), Start):
        run(found)
    plan = candidates(found.conditions, WORLD, ())
    while True:
        seen = counts.get(found.conditions, NONE)
        found = replace(found, certain=0 < seen.failed == seen.total)
        asked = next_run(found, plan, counts)
        if asked is None:
            return found, plan, counts
        run(asked)


def confidence(plan: tuple[Candidate, ...], counts: dict[Conditions, Count], factor: Factor, value: str) -> Confidence:
    one = next(one for one in plan if one.factor is factor and one.after_value == value)
    factors = len({candidate.factor for candidate in plan})
    return strength(counts.get(one.before, NONE), counts.get(one.after, NONE), factors).confidence


def certain(holds: Callable[[Conditions], bool]) -> Fails:
    return lambda conditions: float(holds(conditions))


def test_a_stale_cache_is_proven_and_the_gil_ruled_out() -> None:
    start = replace(ALONE, cache=Cache.FOUND)
    _, plan, counts = investigate(certain(lambda one: one.cache is Cache.FOUND), alone=start)
    assert confidence(plan, counts, Factor.FRESH_CACHE, "fresh") is Confidence.PROVEN
    gil_on = counts[replace(start, gil=GilMode.ON)]
    assert (gil_on.failed, gil_on.total) == (3, 3)
    assert all(one.environment == HERE.id for one in counts), "what is dear was run although the cause was proven"


def test_a_failure_without_the_gil_is_proven() -> None:
    _, plan, counts = investigate(certain(lambda one: one.gil is GilMode.OFF))
    assert confidence(plan, counts, Factor.GIL, "on") is Confidence.PROVEN


def test_a_failure_of_one_triton_is_proven() -> None:
    _, plan, counts = investigate(certain(lambda one: one.environment.endswith("3.7.0")))
    assert confidence(plan, counts, Factor.TRITON, "3.3.1") is Confidence.PROVEN


def test_a_failure_of_one_build_is_proven_with_the_gil_on_on_both_sides() -> None:
    _, plan, counts = investigate(certain(lambda one: "3.13t" in one.environment))
    assert confidence(plan, counts, Factor.BUILD, "3.13") is Confidence.PROVEN
    build = next(one for one in plan if one.factor is Factor.BUILD)
    assert build.before.gil is build.after.gil is GilMode.ON


def test_a_failure_in_company_alone_is_looked_into_there() -> None:
    start, plan, counts = investigate(certain(lambda one: not one.alone), company=True)
    assert not start.conditions.alone
    assert confidence(plan, counts, Factor.ALONE, "alone in its process") is Confidence.PROVEN


def test_a_failure_that_is_nowhere_again_is_repeated_and_given_up() -> None:
    start, _, counts = investigate(lambda _: 0.0, company=True)
    assert start.conditions == ALONE
    assert counts[ALONE].total == MOST_REPEATS
    assert sum(count.total for count in counts.values()) == MOST_REPEATS + 3, "three in company, nothing else"


def test_a_failure_that_comes_and_goes_gets_a_rate_and_few_runs() -> None:
    seen = Counter[bool]()
    for seed in range(20):
        _, _, counts = investigate(lambda _: 0.2, seed=seed)
        seen[0 < counts[ALONE].failed < counts[ALONE].total] += 1
        assert sum(count.total for count in counts.values()) <= 2 * MOST_REPEATS
    assert seen[True] >= 17


def test_what_fails_in_another_way_each_time_is_given_up_soon() -> None:
    counts = {ALONE: Count(failed=0, other=5, total=5)}
    assert next_run(Start(ALONE, certain=False), candidates(ALONE, WORLD), counts) is None
    counts = {ALONE: Count(failed=0, other=4, total=4)}
    assert next_run(Start(ALONE, certain=False), candidates(ALONE, WORLD), counts) == ALONE


def test_a_certain_failure_of_the_project_costs_few_runs() -> None:
    _, _, counts = investigate(lambda _: 1.0)
    assert sum(count.total for count in counts.values()) <= 16
    assert counts[ALONE].failed == counts[ALONE].total >= 5


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_run_that_cannot_change_an_answer(seed: int) -> None:
    start, plan, counts = investigate(lambda one: 0.9 if one.gil is GilMode.OFF else 0.1, seed=seed)
    assert next_run(start, plan, counts) is None
    for one in plan:
        before, after = counts.get(one.before, NONE), counts.get(one.after, NONE)
        assert next_step(before, after, 5, 9) is not Answer.MORE or one.cost, one


def test_what_a_sibling_answers_is_not_run() -> None:
    plan = candidates(ALONE, WORLD, ())
    gil = next(one for one in plan if one.factor is Factor.GIL)
    counts = {ALONE: Count(failed=5, total=5)}
    asked = next_run(Start(ALONE, certain=True), plan, counts, answered=frozenset({gil}))
    assert asked is not None
    assert asked.environment != HERE.id


def test_conditions_that_cannot_be_had_are_passed_over() -> None:
    plan = candidates(ALONE, WORLD, ())
    counts = {ALONE: Count(failed=5, total=5)}
    impossible = frozenset(one.after for one in plan) | {replace(ALONE, gil=GilMode.ON)}
    assert next_run(Start(ALONE, certain=True), plan, counts, impossible=impossible) is None


def test_the_lead_orders_what_costs_the_same() -> None:
    start = replace(ALONE, cache=Cache.FOUND)
    by_abi = [one.factor for one in candidates(start, WORLD, (Category.ABI,))]
    by_threads = [one.factor for one in candidates(start, WORLD, (Category.THREAD_SAFETY,))]
    assert by_abi[:2] == [Factor.FRESH_CACHE, Factor.GIL]
    assert by_threads[:2] == [Factor.GIL, Factor.FRESH_CACHE]
    assert by_abi.index(Factor.BUILD) < by_abi.index(Factor.TRITON)


def test_the_dear_comes_last() -> None:
    new = environment("3.13t", "3.8.0")
    world = World((*WORLD.environments, new), new=frozenset({new.id}), base="abc")
    costs = [one.cost for one in candidates(ALONE, world, (Category.COMPILER,))]
    assert costs == sorted(costs)
    assert len(set(costs)) == 4


def test_every_contrast_changes_one_thing() -> None:
    world = replace(WORLD, base="abc")
    for one in candidates(replace(ALONE, cache=Cache.FOUND, alone=False), world, ()):
        fields = ("environment", "gil", "cache", "alone", "commit", "cure")
        assert sum(getattr(one.before, name) != getattr(one.after, name) for name in fields) == 1, one


def test_environments_with_other_packages_are_no_contrast() -> None:
    other = environment("3.13t", "3.3.1").model_copy(
        update={"pins": (Pin(name="numpy", version="2.0", filename="numpy.whl"),)}
    )
    assert not [one for one in candidates(ALONE, World((HERE, other)), ()) if one.factor is Factor.TRITON]


def test_what_only_one_triton_needs_follows_it() -> None:
    pins = (Pin(name="setuptools", version="80.0", filename="s.whl"),)
    other = environment("3.13t", "3.3.1").model_copy(update={"pins": pins})
    assert [one.after_value for one in candidates(ALONE, World((HERE, other))) if one.factor is Factor.TRITON] == [
        "3.3.1"
    ]


def test_named_environments_make_contrasts_once_it_is_known_what_they_hold() -> None:
    def named(name: str, python: str, triton: str, numpy: str = "2.0") -> PlannedEnvironment:
        pins = (Pin(name="numpy", version=numpy, filename=""), Pin(name="triton", version=triton, filename=""))
        more = {"id": name, "executable": f"/e/{name}/python", "torch": "2.11.0", "pins": pins}
        return environment(python, triton).model_copy(update=more)

    here, older = named("here", "3.13t", "3.7.0"), named("older", "3.13t", "3.3.1")
    world = World((here, older, named("other", "3.13t", "3.6.0", "1.26"), named("unknown", "?", "3.6.0")))
    found = candidates(Conditions("here", GilMode.OFF), world)
    assert [(one.factor, one.after_value) for one in found] == [
        (Factor.GIL, "on"),
        (Factor.TRITON, "3.3.1 with torch 2.11.0"),
    ]
    assert candidates(Conditions("unknown", GilMode.ON), world) == ()


def test_the_nearest_triton_on_each_side_is_tried() -> None:
    others = tuple(environment("3.13t", version) for version in ("3.3.0", "3.3.1", "3.10.0", "3.11.0"))
    found = candidates(ALONE, World((HERE, *others)), ())
    assert [one.after_value for one in found if one.factor is Factor.TRITON] == ["3.10.0", "3.3.1"]


def test_a_release_that_fails_in_another_way_is_passed_over_for_the_next_one() -> None:
    releases = ("3.3.1", "3.6.0", "3.7.0", "3.8.0", "3.9.0")
    world = World(tuple(environment("3.13t", release) for release in releases))

    def tried(*silent: str) -> set[str]:
        plan = candidates(ALONE, world, silent=[f"py3.13t-triton{release}" for release in silent])
        return {one.after_value for one in plan if one.factor is Factor.TRITON}

    assert tried() == {"3.6.0", "3.8.0"}
    assert tried("3.8.0") == {"3.6.0", "3.9.0"}
    assert tried("3.3.1", "3.6.0", "3.8.0", "3.9.0") == {"3.6.0", "3.8.0"}, "then it is tried whether that is still so"


def test_a_failure_that_ends_by_itself_is_seen_again_before_a_cure_is_believed() -> None:
    """An outage that was over after six runs: the factor that was tried first looks as if it had helped."""
    runs = 0

    def fails(_: Conditions) -> float:
        nonlocal runs
        runs += 1
        return 1.0 if runs <= LEAST_REPEATS else 0.0

    _, plan, counts = investigate(fails)
    for one in plan:
        before, after = counts.get(one.before, NONE), counts.get(one.after, NONE)
        assert strength(before, after, 2).confidence is not Confidence.PROVEN


def test_a_real_cure_is_proven_with_one_run_more() -> None:
    _, plan, counts = investigate(lambda one: 1.0 if one.gil is GilMode.OFF else 0.0)
    gil = next(one for one in plan if one.factor is Factor.GIL)
    assert strength(counts[gil.before], counts[gil.after], 4).confidence is Confidence.PROVEN
    assert counts[ALONE].total > LEAST_REPEATS
