"""What changed since an earlier result set, summed up and in words. Without a baseline nothing "regressed"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from runner.model.changes import ChangedTest, Changes
from runner.model.words import Change, Status
from runner.verdict.compare import CellChange, Kind, TestChange, kind_of_outcome

_NAMED = (Change.REGRESSED, Change.FLAKY, Change.GONE, Change.FIXED)
"""The changes whose tests are named, what needs a look first; the others are counted."""
_MOST = 20
_CELLS = 3


def sum_up(changes: Iterable[CellChange], made: str, planned: Collection[str]) -> Changes:
    """Sum a comparison up.

    Args:
        changes: from `compare(old, new)`; taken one by one.
        made: when the baseline was planned, ISO 8601.
        planned: ids of the new plan's cells; one that has no result is lost and not gone.
    """
    counts: Counter[Change] = Counter()
    named: dict[Change, dict[str, list[str]]] = {kind: {} for kind in _NAMED}
    shared, new_cells, gone_cells, failed_before = 0, [], [], []
    for cell in changes:
        if cell.old is None:
            new_cells.append(cell.cell)
        if cell.new is None and cell.cell not in planned:
            gone_cells.append(cell.cell)
        if cell.old is None or cell.new is None:
            continue
        shared += 1
        counts.update(test.change for test in cell.tests)
        for test in cell.tests:
            if test.change in named:
                named[test.change].setdefault(test.test, []).append(cell.cell)
        if cell.old is Status.FAIL and not any(_is_worse(test) for test in cell.tests):
            failed_before.append(cell.cell)
    return Changes(
        made=made,
        cells=shared,
        counts={change: counts[change] for change in Change if counts[change]},
        named=tuple(
            ChangedTest(test=test, change=kind, cells=tuple(where))
            for kind, tests in named.items()
            for test, where in list(tests.items())[:_MOST]
        ),
        unnamed={kind: len(tests) - _MOST for kind, tests in named.items() if len(tests) > _MOST},
        new_cells=tuple(new_cells),
        gone_cells=tuple(gone_cells),
        failed_before=tuple(failed_before),
    )


def baseline_notes(changes: Changes) -> tuple[str, ...]:
    """A comparison in sentences: the counts, then each test that is named, with its cells."""
    if not changes.cells:
        return (f"The baseline of {changes.made} has none of these cells, so nothing can be compared.",)
    where = f"in {_counted(changes.cells, 'cell')}"
    notes = [f"Compared with the baseline of {changes.made}, test by test {where}: {counts_in_words(changes)}."]
    notes += cells_in_words(changes)
    for kind in _NAMED:
        tests = (test for test in changes.named if test.change is kind)
        notes += [f"{kind.value} since the baseline: {test.test} in {_names(test.cells)}" for test in tests]
        if more := changes.unnamed.get(kind):
            notes.append(f"{kind.value} since the baseline: {_counted(more, 'more test')}")
    return tuple(notes)


def counts_in_words(changes: Changes) -> str:
    """`1 regressed, 2 fixed, 5 same`."""
    return ", ".join(f"{count} {change.value}" for change, count in changes.counts.items()) or "no tests"


def cells_in_words(changes: Changes) -> tuple[str, ...]:
    """A sentence on the cells that one side alone has; none where both have the same."""
    said = []
    if changes.new_cells:
        said.append(f"The baseline lacks {_counted(len(changes.new_cells), 'cell')}: {_names(changes.new_cells)}.")
    if changes.gone_cells:
        said.append(f"Only the baseline has {_counted(len(changes.gone_cells), 'cell')}: {_names(changes.gone_cells)}.")
    return (" ".join(said),) if said else ()


def _is_worse(test: TestChange) -> bool:
    """Whether a test fails that did not fail before: it passed, was skipped, or was not there."""
    fails = test.new is not None and kind_of_outcome(test.new) is Kind.BAD
    return fails and (test.old is None or kind_of_outcome(test.old) is not Kind.BAD)


def _names(cells: tuple[str, ...]) -> str:
    more = f" and {len(cells) - _CELLS} more" if len(cells) > _CELLS else ""
    return f"{', '.join(cells[:_CELLS])}{more}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
