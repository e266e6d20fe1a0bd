from __future__ import annotations

from collections.abc import Iterable

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.evidence.siblings import Comparison, Siblings
from runner.model.plan import Plan
from runner.model.result import Attempt, CellResult
from runner.model.words import Factor, GilMode, Outcome, Status
from tests.unit.verdict.building import GOOD, SKIPPED, plan, result, results
from tests.unit.verdict.examples import OFF, ON, RACE, WRONG

MATRIX = plan(("3.12", "3.13", "3.13t"), ("3.3.1", "3.7.0"))
DEFAULT = "py3.13t-gil-default-triton3.3.1"


def comparisons(planned: Plan, outcomes: Iterable[CellResult]) -> tuple[Comparison, ...]:
    """Those of all roots."""
    observer = Observer(built_in())
    cells = {seen.key.id: seen for seen in map(observer.observe, outcomes)}
    siblings = Siblings(planned, cells)
    return tuple(
        one
        for root in dict.fromkeys(root for seen in cells.values() for root in seen.roots)
        for one in siblings.comparisons(root)
    )


def pairs(failing: str) -> list[tuple[str, str, str]]:
    """Factor and values of all comparisons when one cell fails."""
    made = comparisons(MATRIX, results(MATRIX, {failing: WRONG}))
    return [(one.factor.value, one.before[0].value, one.after[0].value) for one in made]


def test_cells_that_differ_in_one_factor_are_contrasts() -> None:
    assert pairs("py3.13t-gil-off-triton3.3.1") == [
        ("gil", "off", "on"),
        ("gil", "off", "default"),
        ("triton", "3.3.1", "3.7.0"),
    ]
    assert pairs("py3.13t-gil-on-triton3.3.1") == [
        ("gil", "on", "off"),
        ("gil", "on", "default"),
        ("build", "3.13t", "3.13"),
        ("triton", "3.3.1", "3.7.0"),
    ]
    assert pairs("py3.12-gil-on-triton3.7.0") == [("python", "3.12", "3.13"), ("triton", "3.7.0", "3.3.1")]


def test_counts_and_sources_of_both_sides() -> None:
    made = comparisons(MATRIX, results(MATRIX, {OFF: WRONG}))
    (before,), (after,) = next((one.before, one.after) for one in made if one.after[0].value == "on")
    assert (str(before.count), before.source) == ("1 of 1", f"cell {OFF}")
    assert (str(after.count), after.source) == ("0 of 1", f"sibling cell {ON}")


def test_a_group_is_compared_as_a_whole() -> None:
    made = comparisons(MATRIX, results(MATRIX, {"py3.13t": WRONG}))
    default = next(one for one in made if one.factor is Factor.GIL and one.after[0].value == "default")
    assert [tally.value for tally in default.before] == ["on", "off"]
    assert [str(tally.count) for tally in (*default.before, *default.after)] == ["1 of 1"] * 3


def test_another_numpy_is_a_second_difference() -> None:
    mixed = plan(("3.12", "3.13"), ("3.3.1", "3.7.0"), numpy={"3.12": "1.26", "3.13": "2.0"})
    made = comparisons(mixed, results(mixed, {"py3.12-gil-on-triton3.3.1": WRONG}))
    assert [one.factor for one in made] == [Factor.TRITON]


def test_other_settings_are_a_second_difference() -> None:
    cells = tuple(
        cell.model_copy(update={"settings": cell.settings.model_copy(update={"env": {"X": cell.key.gil.value}})})
        for cell in MATRIX.cells
    )
    changed = MATRIX.model_copy(update={"cells": cells})
    made = comparisons(changed, results(changed, {OFF: WRONG}))
    assert [one.factor for one in made] == [Factor.TRITON]


def test_a_torch_that_follows_its_triton_is_the_same_axis() -> None:
    def with_torch(named: str) -> list[tuple[str, str]]:
        cells = []
        for cell in plan(("3.13t",), ("3.3.1", "3.7.0"), (GilMode.OFF,)).cells:
            torch = "2.7.1" if cell.key.triton == "3.3.1" else "2.12.0"
            key = cell.key.model_copy(update={"torch": torch, "id": cell.key.id + (f"-torch{torch}" if named else "")})
            cells.append(cell.model_copy(update={"key": key}))
        changed = plan(("3.13t",), ("3.3.1", "3.7.0"), (GilMode.OFF,)).model_copy(update={"cells": tuple(cells)})
        made = comparisons(changed, results(changed, {"3.3.1": WRONG}))
        return [(one.before[0].value, one.after[0].value) for one in made]

    assert with_torch("") == [("3.3.1 with torch 2.7.1", "3.7.0 with torch 2.12.0")]
    assert with_torch("named") == []


def test_only_tests_that_ran_on_both_sides_count() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    outcomes = [
        result(two, OFF, {"a": WRONG, "b": WRONG, "c": WRONG, "d": GOOD}),
        result(two, ON, {"a": GOOD, "b": SKIPPED, "d": GOOD}),
    ]
    (made,) = comparisons(two, outcomes)
    assert [str(tally.count) for tally in (*made.before, *made.after)] == ["1 of 1", "0 of 1"]


def test_cells_of_which_other_tests_fail_are_compared_over_their_own() -> None:
    three = plan(("3.12", "3.13", "3.14"), ("3.3.1",))
    names = [cell.key.id for cell in three.cells]
    outcomes = [
        result(three, names[0], {"a": WRONG, "b": WRONG}),
        result(three, names[1], {"b": WRONG, "c": WRONG}),
        result(three, names[2], {"b": GOOD, "c": GOOD}),
    ]
    last = [one for one in comparisons(three, outcomes) if one.after[0].value == "3.14"]
    assert [[(tally.value, str(tally.count)) for tally in one.before] for one in last] == [
        [("3.12", "1 of 1")],
        [("3.13", "2 of 2")],
    ]
    assert [[str(tally.count) for tally in one.after] for one in last] == [["0 of 1"], ["0 of 2"]]


def test_what_fails_otherwise_on_the_other_side_is_counted_apart() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    made = comparisons(two, [result(two, OFF, {"a": WRONG}), result(two, ON, {"a": RACE})])
    assert {str(one.after[0].count) for one in made} == {"0 of 1 (1 failed otherwise)"}
    assert len(made) == 2


def test_cells_that_say_nothing_are_no_contrast() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    bad, good = result(two, OFF, {"a": WRONG}), result(two, ON, {"a": GOOD})
    assert len(comparisons(two, [bad, good])) == 1
    for status in (Status.INFRA, Status.NO_RESULT, Status.UNAVAILABLE):
        assert comparisons(two, [bad, good.model_copy(update={"status": status})]) == ()


def test_a_cell_that_did_not_stay_without_the_gil_is_not_the_other_mode() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    bad = result(two, ON, {"a": WRONG})
    assert len(comparisons(two, [bad, result(two, OFF, {"a": GOOD}, enabled_at_end=False)])) == 1
    assert comparisons(two, [bad, result(two, OFF, {"a": GOOD}, enabled_at_end=True)]) == ()


def test_retries_are_the_contrast_repeat() -> None:
    one = plan(gils=(GilMode.OFF,))
    again = (WRONG, GOOD.model_copy(update={"pid": 2}), WRONG.model_copy(update={"pid": 3}), RACE, SKIPPED)
    made = [c for c in comparisons(one, [result(one, OFF, {"a": again})]) if c.factor is Factor.REPEAT]
    assert [str(c.after[0].count) for c in made] == ["1 of 3 (1 failed otherwise)"]


def test_attempts_of_one_process_are_one_trial() -> None:
    seen = Observer(built_in()).observe(
        result(MATRIX, OFF, {f"t{i}": WRONG.model_copy(update={"pid": 1 + i % 2}) for i in range(10)})
    )
    (root,) = seen.roots.values()
    assert (root.count.failed, root.count.total, root.count.trials) == (10, 10, 2)


def test_skipped_and_not_run_say_nothing() -> None:
    seen = Observer(built_in()).observe(
        result(MATRIX, OFF, {"a": SKIPPED, "b": Attempt(outcome=Outcome.NOT_RUN), "c": GOOD})
    )
    assert set(seen.tests) == {"c"}
    assert seen.roots == {}
