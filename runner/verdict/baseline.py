"""What changed since an earlier result set, as notes for the verdict. Without a baseline nothing "regressed"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from runner.verdict.compare import CellChange, Change

_TOLD = (Change.REGRESSED, Change.FIXED, Change.FLAKY)
"""The changes that are named one by one; the others are counted."""
_MOST = 20
_CELLS = 3


def baseline_notes(changes: Sequence[CellChange], made: str) -> tuple[str, ...]:
    """Sentences about a comparison: the counts, then each test that regressed, was fixed, or is flaky.

    Args:
        changes: from `compare(old, new)`.
        made: when the baseline was planned, ISO 8601.
    """
    if all(cell.change is Change.NEW for cell in changes):
        return (f"The baseline of {made} has none of these cells, so nothing can be compared.",)
    counts = Counter(test.change for cell in changes for test in cell.tests)
    said = ", ".join(f"{counts[change]} {change.value}" for change in Change if counts[change]) or "no tests"
    notes = [f"Compared with the baseline of {made}, test by test in each cell: {said}."]
    for kind in _TOLD:
        rows = list(_rows(changes, kind))
        notes += rows[:_MOST]
        if len(rows) > _MOST:
            notes.append(f"{kind.value}: {len(rows) - _MOST} more tests")
    return tuple(notes)


def _rows(changes: Sequence[CellChange], kind: Change) -> Iterator[str]:
    """One sentence for each test with such a change, with the cells it happened in."""
    cells: dict[str, list[str]] = {}
    for cell in changes:
        for test in cell.tests:
            if test.change is kind:
                cells.setdefault(test.test, []).append(cell.cell)
    for test_id, where in cells.items():
        more = f" and {len(where) - _CELLS} more" if len(where) > _CELLS else ""
        yield f"{kind.value} since the baseline: {test_id} in {', '.join(where[:_CELLS])}{more}"
