"""A comparison summed up and in words: counts first, then each test that changed, with the cells it changed in."""

from __future__ import annotations

import pytest

from runner.model.words import Change, Outcome, Status
from runner.verdict.baseline import baseline_notes, sum_up
from runner.verdict.compare import CellChange, TestChange

MADE = "2026-11-01T00:00:00+00:00"


def cell(name: str, **tests: Change) -> CellChange:
    return CellChange(
        cell=name,
        old=Status.PASS,
        new=Status.PASS,
        change=Change.SAME,
        tests=tuple(
            TestChange(test=test, old=Outcome.PASSED, new=Outcome.PASSED, change=change)
            for test, change in tests.items()
        ),
    )


def notes(*cells: CellChange, planned: tuple[str, ...] = ()) -> tuple[str, ...]:
    return baseline_notes(sum_up(cells, MADE, planned))


def test_counts_and_the_tests_that_changed() -> None:
    changed = {"a": Change.FIXED, "b": Change.SAME, "c": Change.REGRESSED, "d": Change.NEW, "e": Change.GONE}
    assert notes(*(cell(f"c{number}", **changed) for number in range(5))) == (
        f"Compared with the baseline of {MADE}, test by test in 5 cells: 5 regressed, 5 fixed, 5 same, 5 new, 5 gone.",
        "regressed since the baseline: c in c0, c1, c2 and 2 more",
        "gone since the baseline: e in c0, c1, c2 and 2 more",
        "fixed since the baseline: a in c0, c1, c2 and 2 more",
    )


def test_many_changes_are_counted() -> None:
    said = notes(cell("c", **{f"t{number}": Change.REGRESSED for number in range(30)}))
    assert len(said) == 22
    assert said[-1] == "regressed since the baseline: 10 more tests"


def test_cells_of_one_side_are_named_and_their_tests_are_not_counted() -> None:
    new = cell("n", a=Change.NEW).model_copy(update={"old": None})
    gone = cell("g", a=Change.GONE).model_copy(update={"new": None})
    lost = cell("l", a=Change.GONE).model_copy(update={"new": None})
    assert notes(cell("c", a=Change.SAME), new, gone, lost, planned=("c", "n", "l")) == (
        f"Compared with the baseline of {MADE}, test by test in 1 cell: 1 same.",
        "The baseline lacks 1 cell: n. Only the baseline has 1 cell: g.",
    )


def test_nothing_in_common_is_no_comparison() -> None:
    new = cell("c", a=Change.NEW).model_copy(update={"old": None, "change": Change.NEW})
    gone = cell("g", a=Change.GONE).model_copy(update={"new": None, "change": Change.GONE})
    said = (f"The baseline of {MADE} has none of these cells, so nothing can be compared.",)
    assert notes(new, gone) == said
    assert notes() == said


def test_no_tests_at_all_is_said() -> None:
    assert notes(cell("c")) == (f"Compared with the baseline of {MADE}, test by test in 1 cell: no tests.",)


@pytest.mark.parametrize(
    ("status", "old", "new", "is_no_worse"),
    [
        (Status.FAIL, Outcome.FAILED, Outcome.CRASHED, True),
        (Status.FAIL, Outcome.FAILED, Outcome.PASSED, True),
        (Status.FAIL, Outcome.FAILED, None, True),
        (Status.FAIL, Outcome.PASSED, Outcome.FAILED, False),
        (Status.FAIL, Outcome.SKIPPED, Outcome.FAILED, False),
        (Status.FAIL, None, Outcome.FAILED, False),
        (Status.PASS, Outcome.FAILED, Outcome.FAILED, False),
        (Status.UNAVAILABLE, None, Outcome.FAILED, False),
    ],
)
def test_a_cell_failed_before_when_no_other_test_fails_now(
    status: Status, old: Outcome | None, new: Outcome | None, is_no_worse: bool
) -> None:
    test = TestChange(test="t", old=old, new=new, change=Change.SAME)
    changed = CellChange(cell="c", old=status, new=Status.FAIL, change=Change.SAME, tests=(test,))
    assert sum_up([changed], MADE, ["c"]).failed_before == (("c",) if is_no_worse else ())
