from __future__ import annotations

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.evidence.siblings import sibling_contrasts
from runner.model.result import Attempt
from runner.model.words import Factor, GilMode, Outcome, Status
from tests.unit.verdict.building import GOOD, SKIPPED, plan, result, results
from tests.unit.verdict.examples import OFF, ON, RACE, WRONG

MATRIX = plan(("3.12", "3.13", "3.13t"), ("3.3.1", "3.7.0"))
DEFAULT = "py3.13t-gil-default-triton3.3.1"


def pairs(failing: str, **options: object) -> list[tuple[str, str, str]]:
    """Factor and values of all contrasts when one cell fails."""
    made = sibling_contrasts(MATRIX, results(MATRIX, {failing: WRONG}))
    return [(one.factor.value, one.before.value, one.after.value) for one in made]


def test_cells_that_differ_in_one_factor_are_contrasts() -> None:
    assert pairs("py3.13t-gil-off-triton3.3.1") == [
        ("gil", "off", "default"),
        ("gil", "off", "on"),
        ("triton", "3.3.1", "3.7.0"),
    ]
    assert pairs("py3.13t-gil-on-triton3.3.1") == [
        ("gil", "on", "default"),
        ("gil", "on", "off"),
        ("build", "3.13t", "3.13"),
        ("triton", "3.3.1", "3.7.0"),
    ]
    assert pairs("py3.12-gil-on-triton3.7.0") == [("python", "3.12", "3.13"), ("triton", "3.7.0", "3.3.1")]


def test_counts_and_sources_of_both_sides() -> None:
    made = sibling_contrasts(MATRIX, results(MATRIX, {OFF: WRONG}))
    gil = next(one for one in made if one.after.value == "on")
    assert (str(gil.before.count), gil.before.source) == ("1 of 1", f"cell {OFF}")
    assert (str(gil.after.count), gil.after.source) == ("0 of 1", f"sibling cell {ON}")
    assert gil.tests == ("test_a.py::test",)


def test_another_numpy_is_a_second_difference() -> None:
    mixed = plan(("3.12", "3.13"), ("3.3.1", "3.7.0"), numpy={"3.12": "1.26", "3.13": "2.0"})
    made = sibling_contrasts(mixed, results(mixed, {"py3.12-gil-on-triton3.3.1": WRONG}))
    assert [one.factor for one in made] == [Factor.TRITON]


def test_other_settings_are_a_second_difference() -> None:
    cells = tuple(
        cell.model_copy(update={"settings": cell.settings.model_copy(update={"env": {"X": cell.key.gil.value}})})
        for cell in MATRIX.cells
    )
    changed = MATRIX.model_copy(update={"cells": cells})
    made = sibling_contrasts(changed, results(changed, {OFF: WRONG}))
    assert [one.factor for one in made] == [Factor.TRITON]


def test_a_torch_that_follows_its_triton_is_the_same_axis() -> None:
    def with_torch(named: str) -> list[tuple[str, str]]:
        cells = []
        for cell in plan(("3.13t",), ("3.3.1", "3.7.0"), (GilMode.OFF,)).cells:
            torch = "2.7.1" if cell.key.triton == "3.3.1" else "2.12.0"
            key = cell.key.model_copy(update={"torch": torch, "id": cell.key.id + (f"-torch{torch}" if named else "")})
            cells.append(cell.model_copy(update={"key": key}))
        changed = plan(("3.13t",), ("3.3.1", "3.7.0"), (GilMode.OFF,)).model_copy(update={"cells": tuple(cells)})
        return [
            (one.before.value, one.after.value)
            for one in sibling_contrasts(changed, results(changed, {"3.3.1": WRONG}))
        ]

    assert with_torch("") == [("3.3.1 with torch 2.7.1", "3.7.0 with torch 2.12.0")]
    assert with_torch("named") == []


def test_only_tests_that_ran_on_both_sides_count() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    outcomes = [
        result(two, OFF, {"a": WRONG, "b": WRONG, "c": WRONG, "d": GOOD}),
        result(two, ON, {"a": GOOD, "b": SKIPPED, "d": GOOD}),
    ]
    (made,) = sibling_contrasts(two, outcomes)
    assert made.tests == ("a",)
    assert (str(made.before.count), str(made.after.count)) == ("1 of 1", "0 of 1")


def test_what_fails_otherwise_on_the_other_side_is_counted_apart() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    made = sibling_contrasts(two, [result(two, OFF, {"a": WRONG}), result(two, ON, {"a": RACE})])
    assert {str(one.after.count) for one in made} == {"0 of 1 (1 failed otherwise)"}
    assert len(made) == 2


def test_cells_that_say_nothing_are_no_contrast() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    bad, good = result(two, OFF, {"a": WRONG}), result(two, ON, {"a": GOOD})
    assert len(sibling_contrasts(two, [bad, good])) == 1
    for status in (Status.INFRA, Status.NO_RESULT, Status.UNAVAILABLE):
        assert sibling_contrasts(two, [bad, good.model_copy(update={"status": status})]) == ()


def test_a_cell_that_did_not_stay_without_the_gil_is_not_the_other_mode() -> None:
    two = plan(gils=(GilMode.ON, GilMode.OFF))
    bad = result(two, ON, {"a": WRONG})
    assert len(sibling_contrasts(two, [bad, result(two, OFF, {"a": GOOD}, enabled_at_end=False)])) == 1
    assert sibling_contrasts(two, [bad, result(two, OFF, {"a": GOOD}, enabled_at_end=True)]) == ()


def test_retries_are_the_contrast_repeat() -> None:
    one = plan(gils=(GilMode.OFF,))
    again = (WRONG, GOOD.model_copy(update={"pid": 2}), WRONG.model_copy(update={"pid": 3}), RACE, SKIPPED)
    made = [c for c in sibling_contrasts(one, [result(one, OFF, {"a": again})]) if c.factor is Factor.REPEAT]
    assert [str(c.after.count) for c in made] == ["1 of 3 (1 failed otherwise)"]


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
