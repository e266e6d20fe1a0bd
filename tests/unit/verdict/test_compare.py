from __future__ import annotations

import itertools

import pytest

from runner.model.cell import CellKey
from runner.model.result import Attempt, CellResult, GilState, TestResult
from runner.model.words import Change, GilMode, Outcome, Status
from runner.verdict.compare import Kind, change, compare, kind_of_outcome, kind_of_status, kind_of_test

GOOD, BAD, MIXED, SILENT = Kind.GOOD, Kind.BAD, Kind.MIXED, Kind.SILENT
# Read it as a person: rows are the old side, columns the new one.
TABLE: dict[Kind | None, dict[Kind | None, str]] = {
    None: {GOOD: "new", BAD: "new", MIXED: "new", SILENT: "new"},
    GOOD: {None: "gone", GOOD: "same", BAD: "regressed", MIXED: "flaky", SILENT: "cannot tell"},
    BAD: {None: "gone", GOOD: "fixed", BAD: "same", MIXED: "flaky", SILENT: "cannot tell"},
    MIXED: {None: "gone", GOOD: "flaky", BAD: "flaky", MIXED: "flaky", SILENT: "cannot tell"},
    SILENT: {None: "gone", GOOD: "cannot tell", BAD: "cannot tell", MIXED: "cannot tell", SILENT: "same"},
}


def test_every_combination_has_a_name() -> None:
    kinds: list[Kind | None] = [None, *Kind]
    for old, new in itertools.product(kinds, repeat=2):
        if old is None and new is None:
            with pytest.raises(ValueError, match="neither"):
                change(old, new)
        else:
            assert change(old, new) == TABLE[old][new], (old, new)


def test_every_outcome_and_status_has_a_kind() -> None:
    assert {kind_of_outcome(outcome) for outcome in Outcome} == {GOOD, BAD, SILENT}
    assert [outcome for outcome in Outcome if kind_of_outcome(outcome) is BAD] == [o for o in Outcome if o.is_bad]
    assert [status.value for status in Status if kind_of_status(status) is SILENT] == [
        "unavailable",
        "infra",
        "no_result",
    ]


def test_every_pair_of_outcomes_is_named_through_compare() -> None:
    for old, new in itertools.product(Outcome, repeat=2):
        (cell,) = compare({"a": result(("t", old))}, {"a": result(("t", new))})
        assert cell.tests[0].change == TABLE[kind_of_outcome(old)][kind_of_outcome(new)]


def test_every_pair_of_statuses_is_named_through_compare() -> None:
    for old, new in itertools.product(Status, repeat=2):
        (cell,) = compare({"a": result(status=old)}, {"a": result(status=new)})
        assert cell.change == TABLE[kind_of_status(old)][kind_of_status(new)]


def test_order_and_what_is_on_one_side_alone() -> None:
    old = {"gone": result(), "both": result(("x", Outcome.PASSED), ("y", Outcome.PASSED))}
    new = {"both": result(("y", Outcome.FAILED), ("z", Outcome.FAILED)), "new": result()}
    cells = list(compare(old, new))
    assert [(cell.cell, cell.change) for cell in cells] == [
        ("both", Change.SAME),
        ("new", Change.NEW),
        ("gone", Change.GONE),
    ]
    assert [(test.test, test.change) for test in cells[0].tests] == [
        ("y", Change.REGRESSED),
        ("z", Change.NEW),
        ("x", Change.GONE),
    ]


def test_attempts_that_disagree_are_mixed() -> None:
    attempts = (Attempt(outcome=Outcome.FAILED), Attempt(outcome=Outcome.PASSED))
    assert kind_of_test(TestResult(id="t", outcome=Outcome.FAILED, attempts=attempts)) is MIXED


def result(*tests: tuple[str, Outcome], status: Status = Status.PASS) -> CellResult:
    return CellResult(
        cell=CellKey(id="a", python="3.12", gil=GilMode.ON, triton="3.7.0", torch=None),
        gil=GilState(requested=GilMode.ON),
        status=status,
        planned=len(tests),
        tests=tuple(
            TestResult(id=name, outcome=outcome, attempts=(Attempt(outcome=outcome),)) for name, outcome in tests
        ),
    )
