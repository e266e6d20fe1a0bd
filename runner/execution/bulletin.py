"""Tells whoever watches how far a cell is, not too often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from runner.execution.ledger import Ledger
from runner.execution.progress import Progress, Wrong
from runner.model.result import count_outcomes

PROGRESS_SECONDS = 0.1
"""Between two tellings."""


class Bulletin:
    """What is told of one cell.

    Args:
        cell: its id.
        ledger: of the ordinary run.
        tell: takes it.
        seconds: wall time of the cell so far.

    Attributes:
        stage: see `Progress`.
    """

    def __init__(
        self, cell: str, ledger: Ledger, tell: Callable[[Progress], None], seconds: Callable[[], float]
    ) -> None:
        self.stage = "collecting"
        self._cell = cell
        self._ledger = ledger
        self._tell = tell
        self._seconds = seconds
        self._told = 0.0

    def tell(self, *, force: bool = False) -> None:
        """Tell how things stand; without `force` only if the last time was long enough ago."""
        now = time.monotonic()
        if not force and now - self._told < PROGRESS_SECONDS:
            return
        self._told = now
        ledger = self._ledger
        first = (attempts[0].outcome for attempts in (*ledger.entries.values(), *ledger.attempts.values()))
        self._tell(
            Progress(
                cell=self._cell,
                stage=self.stage,
                planned=len(ledger.planned or ()) + len(ledger.entries),
                finished=ledger.finished,
                counts=count_outcomes(first),
                current=ledger.current,
                worker=len(ledger.workers) + (ledger.worker is not None),
                seconds=round(self._seconds(), 3),
                wrong=tuple(self._wrong()),
            )
        )

    def _wrong(self) -> Iterator[Wrong]:
        """Every entry and test whose first attempt went wrong."""
        planned = self._ledger.planned or ()
        named = ((planned[number].id, attempts) for number, attempts in self._ledger.attempts.items())
        for number, (name, attempts) in enumerate((*self._ledger.entries.items(), *named), 1):
            if attempts[0].outcome.is_bad:
                yield Wrong(number, name, attempts[0].outcome, attempts[0].message)
