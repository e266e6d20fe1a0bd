"""Tells the board what happens in one cell, in the board's own words."""

from __future__ import annotations

from runner.execution.progress import Progress
from runner.model.result import CellResult
from runner.model.words import Outcome
from runner.report.events import CellFinished, Event, Note, TestFinished, TestStarted
from runner.report.terminal import Board


class Teller:
    """Between a running cell and the board.

    Args:
        board: where it is shown.
        cell: id of the cell that runs.
    """

    def __init__(self, board: Board, cell: str) -> None:
        self._board = board
        self._cell = cell

    def say(self, event: Event) -> None:
        """Pass an event on."""
        self._board(event)

    def note(self, line: str) -> None:
        """Pass on a sentence."""
        self._board(Note(line))

    def progress(self, progress: Progress) -> None:
        """Show which test runs."""
        if progress.note is not None:
            self.note(progress.note)
        if progress.current is not None and progress.planned:
            number = min(progress.finished + 1, progress.planned)
            self._board(TestStarted(self._cell, progress.current, number, progress.planned))

    def finish(self, result: CellResult, *, kept: bool) -> None:
        """Show what became of the cell, each test that went wrong first."""
        for number, test in enumerate(result.tests, 1):
            if test.outcome.is_bad and not kept:
                message = test.attempts[0].message if test.attempts else None
                self._board(TestFinished(self._cell, test.id, test.outcome, number, len(result.tests), message))
        self._board(finished(result, kept=kept))


def finished(result: CellResult, *, kept: bool) -> CellFinished:
    """A result as the board's event."""
    counts = result.counts
    return CellFinished(
        result.cell.id,
        result.status,
        passed=counts.get(Outcome.PASSED, 0),
        skipped=counts.get(Outcome.SKIPPED, 0),
        bad=sum(number for outcome, number in counts.items() if outcome.is_bad),
        reason=result.reason,
        kept=kept,
    )
