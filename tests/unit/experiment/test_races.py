"""Failures where several threads ran a test at once: their groups, what one more run says, what is changed."""

from __future__ import annotations

import pytest

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.experiment.candidates import World, candidates
from runner.experiment.conditions import Conditions, under
from runner.experiment.groups import Group, count_races, groups_of_races
from runner.model.plan import Race
from runner.model.race import RacedTest, RaceError, Races
from runner.model.result import Attempt, GilState
from runner.model.words import Factor, GilMode, Outcome
from tests.unit.verdict.building import plan

PLAN = plan(gils=(GilMode.OFF,))
(CELL,) = PLAN.cells
OBSERVER = Observer(built_in(), raced=True)
TEST = "t.py::test_a"
LOST = RaceError(phase="call", type="ValueError", message="a use was lost", count=3, round=1)
GONE = RaceError(phase="call", type="KeyError", message="7", count=2, round=1)


def races(*errors: RaceError, done: int = 2, broken: Attempt | None = None, skipped: int = 0) -> Races:
    failed = sum(error.count for error in errors)
    passed = 0 if skipped else 16 - failed
    test = RacedTest(
        id=TEST,
        threads=8,
        rounds=2,
        rounds_done=done,
        passed=passed,
        failed=failed,
        skipped=skipped,
        errors=errors,
        broken=broken,
    )
    return Races(cell=CELL.key, threads=8, rounds=2, gil=GilState(requested=GilMode.OFF), tests=(test,))


def group_of(found: Races) -> Group:
    (group,) = groups_of_races(found, OBSERVER.observe(found.as_result()), built_in())
    return group


def test_a_raced_test_is_one_group_whatever_else_its_calls_raise() -> None:
    group = group_of(races(LOST, GONE))
    assert (group.test, group.threads, group.company) == (TEST, 8, ())
    assert group.root.id.startswith("race-valueerror-")
    assert str(group.seen.count) == "1 of 1"


@pytest.mark.parametrize(
    ("again", "count"),
    [
        (races(LOST), "1 of 1"),
        (races(GONE, LOST), "1 of 1"),
        (races(GONE), "0 of 1 (1 failed otherwise)"),
        (races(broken=Attempt(outcome=Outcome.CRASHED, signal="SIGSEGV")), "0 of 1 (1 failed otherwise)"),
        (races(), "0 of 1"),
        (races(done=1), "0 of 0"),
        (races(skipped=16), "0 of 0"),
        (races(LOST).model_copy(update={"tests": ()}), "0 of 0"),
        (None, "0 of 0"),
    ],
)
def test_all_calls_of_one_run_are_one_attempt(again: Races | None, count: str) -> None:
    assert str(count_races(again, OBSERVER, group_of(races(LOST, GONE)))[0]) == count


def test_as_many_calls_from_one_thread_are_a_contrast_and_come_first() -> None:
    start = Conditions(CELL.environment, GilMode.OFF, threads=8)
    first, *others = candidates(start, World(PLAN.environments))
    assert (first.factor, first.before_value, first.after_value) == (Factor.THREADS, "8 threads", "1 thread")
    assert (first.after.threads, first.after.gil) == (1, GilMode.OFF)
    assert {one.after.threads for one in others} == {8}
    assert Factor.THREADS not in {one.factor for one in candidates(first.after, World(PLAN.environments))}


def test_runs_race_only_where_the_conditions_say_so() -> None:
    asked = CELL.settings.model_copy(update={"race": Race(threads=8, rounds=5)})
    cell = CELL.model_copy(update={"settings": asked})

    def race(threads: int) -> tuple[int, int]:
        made = under(cell, Conditions(cell.environment, GilMode.OFF, threads=threads), {}).settings.race
        return made.threads, made.rounds

    assert race(8) == (8, 5)
    assert race(1) == (1, 40)
    assert race(0)[1] == 0
