"""An old result set against a new one: one pure function that names every combination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from runner.model.document import Value
from runner.model.result import CellResult, TestResult
from runner.model.words import Change, Outcome, Status


class Kind(StrEnum):
    """What an outcome or a status says when it is compared."""

    GOOD = "good"
    BAD = "bad"
    MIXED = "mixed"
    """Both, in attempts of one test under the same conditions."""
    SILENT = "silent"
    """Nothing was tried, so it speaks neither for nor against: skipped, not run, unavailable, infra, no result."""


# The outer kind is the old one, the inner the new one.
_CHANGES: Mapping[Kind, Mapping[Kind, Change]] = {
    Kind.GOOD: {
        Kind.GOOD: Change.SAME,
        Kind.BAD: Change.REGRESSED,
        Kind.MIXED: Change.FLAKY,
        Kind.SILENT: Change.CANNOT_TELL,
    },
    Kind.BAD: {
        Kind.GOOD: Change.FIXED,
        Kind.BAD: Change.SAME,
        Kind.MIXED: Change.FLAKY,
        Kind.SILENT: Change.CANNOT_TELL,
    },
    Kind.MIXED: {
        Kind.GOOD: Change.FLAKY,
        Kind.BAD: Change.FLAKY,
        Kind.MIXED: Change.FLAKY,
        Kind.SILENT: Change.CANNOT_TELL,
    },
    Kind.SILENT: {
        Kind.GOOD: Change.CANNOT_TELL,
        Kind.BAD: Change.CANNOT_TELL,
        Kind.MIXED: Change.CANNOT_TELL,
        Kind.SILENT: Change.SAME,
    },
}


def change(old: Kind | None, new: Kind | None) -> Change:
    """The whole table; None means that the test or the cell is not in that result set.

    Raises:
        ValueError: it is in neither.
    """
    if old is None and new is None:
        raise ValueError("what is in neither result set has no change")
    if old is None:
        return Change.NEW
    return Change.GONE if new is None else _CHANGES[old][new]


_OUTCOMES: Mapping[Outcome, Kind] = {
    Outcome.PASSED: Kind.GOOD,
    Outcome.XFAILED: Kind.GOOD,
    Outcome.XPASSED: Kind.GOOD,
    Outcome.FAILED: Kind.BAD,
    Outcome.ERROR: Kind.BAD,
    Outcome.CRASHED: Kind.BAD,
    Outcome.TIMED_OUT: Kind.BAD,
    Outcome.SKIPPED: Kind.SILENT,
    Outcome.NOT_RUN: Kind.SILENT,
}
_STATUSES: Mapping[Status, Kind] = {
    Status.PASS: Kind.GOOD,
    Status.FAIL: Kind.BAD,
    Status.UNAVAILABLE: Kind.SILENT,
    Status.INFRA: Kind.SILENT,
    Status.NO_RESULT: Kind.SILENT,
}


def kind_of_outcome(outcome: Outcome) -> Kind:
    """What one outcome says."""
    return _OUTCOMES[outcome]


def kind_of_status(status: Status) -> Kind:
    """What a cell's status says."""
    return _STATUSES[status]


def kind_of_test(test: TestResult) -> Kind:
    """What a test says with all its attempts: `MIXED` when some were good and some bad."""
    kinds = {kind_of_outcome(attempt.outcome) for attempt in test.attempts} or {kind_of_outcome(test.outcome)}
    if {Kind.GOOD, Kind.BAD} <= kinds:
        return Kind.MIXED
    return kind_of_outcome(test.outcome)


class TestChange(Value):
    """One test's change: its id, the outcomes on both sides (None where it is not), and the word."""

    __test__ = False

    test: str
    old: Outcome | None
    new: Outcome | None
    change: Change


class CellChange(Value):
    """One cell's change.

    Attributes:
        cell: its id.
        old, new: statuses; None where the cell is not in that result set.
        change: of the cell as a whole.
        tests: every test of either side, in the new order, then what is gone.
    """

    cell: str
    old: Status | None
    new: Status | None
    change: Change
    tests: tuple[TestChange, ...]


def compare(old: Mapping[str, CellResult], new: Mapping[str, CellResult]) -> Iterator[CellChange]:
    """Compare two result sets, cell by cell and test by test, by their ids.

    Args:
        old: cell id to result, of the baseline.
        new: cell id to result.

    Yields:
        Every cell of either side, in the new order, then what is gone. Without a baseline do not call it: everything
        would be `new`, and nothing can be said to have regressed.
    """
    for cell in new:
        yield _cell(cell, old.get(cell), new[cell])
    for cell in old:
        if cell not in new:
            yield _cell(cell, old[cell], None)


def _cell(cell: str, old: CellResult | None, new: CellResult | None) -> CellChange:
    before = {test.id: test for test in old.tests} if old else {}
    after = {test.id: test for test in new.tests} if new else {}
    return CellChange(
        cell=cell,
        old=old.status if old else None,
        new=new.status if new else None,
        change=change(kind_of_status(old.status) if old else None, kind_of_status(new.status) if new else None),
        tests=tuple(_test(name, before.get(name), after.get(name)) for name in dict.fromkeys((*after, *before))),
    )


def _test(name: str, old: TestResult | None, new: TestResult | None) -> TestChange:
    return TestChange(
        test=name,
        old=old.outcome if old else None,
        new=new.outcome if new else None,
        change=change(kind_of_test(old) if old else None, kind_of_test(new) if new else None),
    )
