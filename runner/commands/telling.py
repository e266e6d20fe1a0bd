"""Tells the board what happens in one cell, in the board's own words."""

from __future__ import annotations

from runner.execution.progress import Progress
from runner.model.result import CellResult
from runner.model.summary import CellSummary
from runner.model.words import Outcome
from runner.report.events import CellFinished, Event, Note, TestFinished, TestStarted
from runner.report.terminal import Board

_ORDINARY = frozenset({"collecting", "running"})


class Teller:
    """Between a running cell and the board.

    Args:
        board: where it is shown.
        cell: id of the cell that runs.
    """

    def __init__(self, board: Board, cell: str) -> None:
        self._board = board
        self._cell = cell
        self._said: set[str] = set()
        self._stage = ""

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
        for wrong in progress.wrong:
            if wrong.id not in self._said:
                self._said.add(wrong.id)
                self._board(
                    TestFinished(self._cell, wrong.id, wrong.outcome, wrong.number, progress.planned, wrong.message)
                )
        if progress.current is not None and progress.planned:
            number = min(progress.finished + 1, progress.planned)
            stage = "" if progress.stage in _ORDINARY else progress.stage
            if stage != self._stage:
                self._stage = stage
                self.note(f"{self._cell}: {stage}")  # a log would show nothing of it for minutes
            self._board(TestStarted(self._cell, progress.current, number, progress.planned, stage, progress.part or ""))

    def finish(self, result: CellResult, *, kept: bool) -> None:
        """Show what became of the cell."""
        self._board(finished(CellSummary.of(result), kept=kept))


def finished(summary: CellSummary, *, kept: bool) -> CellFinished:
    """How a cell ended as the board's event."""
    counts = summary.counts
    return CellFinished(
        summary.cell,
        summary.status,
        passed=counts.get(Outcome.PASSED, 0),
        skipped=counts.get(Outcome.SKIPPED, 0),
        bad=sum(number for outcome, number in counts.items() if outcome.is_bad),
        reason=summary.reason,
        kept=kept,
    )
