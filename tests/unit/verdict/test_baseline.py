"""A comparison in words: counts first, then each test that changed, with the cells it changed in."""

from __future__ import annotations

from runner.model.words import Outcome, Status
from runner.verdict.baseline import baseline_notes
from runner.verdict.compare import CellChange, Change, TestChange

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


def test_counts_and_the_tests_that_changed() -> None:
    cells = [cell(f"c{number}", a=Change.REGRESSED, b=Change.SAME, c=Change.FIXED) for number in range(5)]
    assert baseline_notes(cells, MADE) == (
        f"Compared with the baseline of {MADE}, test by test in each cell: 5 regressed, 5 fixed, 5 same.",
        "regressed since the baseline: a in c0, c1, c2 and 2 more",
        "fixed since the baseline: c in c0, c1, c2 and 2 more",
    )


def test_many_changes_are_counted() -> None:
    notes = baseline_notes([cell("c", **{f"t{number}": Change.REGRESSED for number in range(30)})], MADE)
    assert len(notes) == 22
    assert notes[-1] == "regressed: 10 more tests"


def test_nothing_in_common_is_no_comparison() -> None:
    new = cell("c", a=Change.NEW).model_copy(update={"old": None, "change": Change.NEW})
    assert baseline_notes([new], MADE) == (
        f"The baseline of {MADE} has none of these cells, so nothing can be compared.",
    )
    assert baseline_notes([], MADE) == (f"The baseline of {MADE} has none of these cells, so nothing can be compared.",)


def test_no_tests_at_all_is_said() -> None:
    assert baseline_notes([cell("c")], MADE) == (
        f"Compared with the baseline of {MADE}, test by test in each cell: no tests.",
    )
