"""One table of everything that is planted in this folder's tests: what was planted, what was found, how sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest

from runner.model.verdict import Finding
from runner.model.words import Cause, Confidence

RIGHT, OPEN, WRONG, MISSED = "right", "cannot tell", "WRONG", "MISSED"


@dataclass(frozen=True)
class Row:
    """One planted case: its name, what was planted and found in words, and how that is."""

    name: str
    planted: str
    found: str
    how: str


@dataclass
class Table:
    """The rows of one session, in the order in which they were found."""

    rows: list[Row] = field(default_factory=list)

    def add(self, name: str, planted: Cause, findings: Iterable[Finding]) -> Row:
        """Add what was found for a planted cause; several findings are right when none is surely another cause's."""
        answers = [(one.cause, one.confidence) for one in findings]
        told = "; ".join(f"{cause.value}, {confidence.value}" for cause, confidence in dict.fromkeys(answers))
        return self.put(Row(name, planted.value, told or "nothing", _how(planted, answers)))

    def note(self, name: str, planted: str, found: str, *, right: bool) -> Row:
        """Add a case that is no cause: an expectation, a status."""
        return self.put(Row(name, planted, found, RIGHT if right else WRONG))

    def put(self, row: Row) -> Row:
        self.rows.append(row)
        return row

    def lines(self) -> Iterator[str]:
        """The table as it is printed, and the counts below it."""
        widths = [max(map(len, column)) for column in zip(*map(_cells, self.rows), strict=True)]
        for row in self.rows:
            yield "  ".join(text.ljust(width) for text, width in zip(_cells(row), widths, strict=True)).rstrip()
        counts = Counter(row.how for row in self.rows)
        yield f"{len(self.rows)} planted: " + ", ".join(f"{counts[how]} {how}" for how in (RIGHT, OPEN, WRONG, MISSED))


TABLE = pytest.StashKey[Table]()


def _cells(row: Row) -> tuple[str, ...]:
    return (row.name, row.planted, row.found, row.how)


def _how(planted: Cause, answers: list[tuple[Cause, Confidence]]) -> str:
    sure = {cause for cause, confidence in answers if confidence is not Confidence.CANNOT_TELL}
    if sure - {planted}:
        return WRONG
    if planted in sure or (answers and planted is Cause.UNEXPLAINED):
        return RIGHT
    return OPEN if answers else MISSED
