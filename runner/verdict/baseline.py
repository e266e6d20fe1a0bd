"""What changed since an earlier result set, as notes for the verdict. Without a baseline nothing "regressed"."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from runner.verdict.compare import CellChange, Change

_TOLD = (Change.REGRESSED, Change.FIXED, Change.FLAKY)
"""The changes that are named one by one; the others are counted."""
_MOST = 20
_CELLS = 3


def baseline_notes(changes: Iterable[CellChange], made: str) -> tuple[str, ...]:
    """Sentences about a comparison: the counts, then each test that regressed, was fixed, or is flaky.

    Args:
        changes: from `compare(old, new)`; taken one by one.
        made: when the baseline was planned, ISO 8601.
    """
    counts: Counter[Change] = Counter()
    told: dict[Change, dict[str, list[str]]] = {kind: {} for kind in _TOLD}
    is_shared = False
    for cell in changes:
        is_shared |= cell.change is not Change.NEW
        counts.update(test.change for test in cell.tests)
        for test in cell.tests:
            if test.change in told:
                told[test.change].setdefault(test.test, []).append(cell.cell)
    if not is_shared:
        return (f"The baseline of {made} has none of these cells, so nothing can be compared.",)
    said = ", ".join(f"{counts[change]} {change.value}" for change in Change if counts[change]) or "no tests"
    notes = [f"Compared with the baseline of {made}, test by test in each cell: {said}."]
    for kind, tests in told.items():
        notes += [_row(kind, test, where) for test, where in itertools.islice(tests.items(), _MOST)]
        if len(tests) > _MOST:
            notes.append(f"{kind.value}: {len(tests) - _MOST} more tests")
    return tuple(notes)


def _row(kind: Change, test: str, cells: list[str]) -> str:
    """One test with such a change, with the cells it happened in."""
    more = f" and {len(cells) - _CELLS} more" if len(cells) > _CELLS else ""
    return f"{kind.value} since the baseline: {test} in {', '.join(cells[:_CELLS])}{more}"
