"""Tells whoever watches how far a cell is, not too often, and never leaves the last word unsaid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runner.execution.ledger import Ledger
from runner.execution.progress import Progress

PROGRESS_SECONDS = 0.1
"""Between two tellings."""
PART_SECONDS = 1.0
"""Until it is looked how far a test is that has parts: no event says so."""


class Bulletin:
    """What is told of one cell.

    Args:
        cell: its id.
        ledger: of what runs.
        tell: takes it.
        seconds: wall time of the cell so far.

    Attributes:
        stage: see `Progress`.
        ledger: of what runs; that of the races while tests are raced.
        part: says how far the running test is, see `Progress`.
        due: when something that is not told yet is to be told, on the monotonic clock; infinity when all is.
    """

    def __init__(
        self, cell: str, ledger: Ledger, tell: Callable[[Progress], None], seconds: Callable[[], float]
    ) -> None:
        self.stage = "collecting"
        self.ledger = ledger
        self.part: Callable[[], str | None] = _whole
        self.due = float("inf")
        self._cell = cell
        self._tell = tell
        self._seconds = seconds
        self._told = 0.0

    @contextmanager
    def following(self, ledger: Ledger, part: Callable[[], str | None] | None = None) -> Iterator[None]:
        """While this lasts another ledger is told of, and how far its running test is."""
        before = self.ledger, self.part
        self.ledger, self.part = ledger, part or _whole
        try:
            yield
        finally:
            self.ledger, self.part = before

    def tell(self, *, force: bool = False) -> None:
        """Tell how things stand; without `force` only if the last time was long enough ago, else when it is `due`."""
        now = time.monotonic()
        next_time = self._told + PROGRESS_SECONDS
        if not force and now < next_time:
            self.due = next_time
            return
        self._told = now
        part, ledger = self.part(), self.ledger
        self.due = float("inf") if part is None else now + PART_SECONDS
        self._tell(
            Progress(
                cell=self._cell,
                stage=self.stage,
                planned=ledger.total,
                finished=ledger.finished,
                counts=ledger.counts,
                current=ledger.current,
                part=part,
                worker=len(ledger.workers) + (ledger.worker is not None),
                seconds=round(self._seconds(), 3),
                wrong=tuple(ledger.wrong()),
            )
        )


def _whole() -> None:
    """A test without parts."""
