"""The terminal: the live board while a matrix runs, and the summary at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.verdict import Verdict
from runner.model.words import Status, VerdictWord
from runner.report import board, phrases
from runner.report.board_state import BoardState, advance
from runner.report.escape import first_line, line
from runner.report.events import CellFinished, Event
from runner.report.grid import Grid, Line, lay_out
from runner.report.races import HEADS, NO_RACES, NOTHING, race_rows, race_sentences
from runner.report.terminal_table import Tables, style

_VERDICT_STYLES = {VerdictWord.PASS: "bold green", VerdictWord.FAIL: "bold red", VerdictWord.CANNOT_TELL: "bold yellow"}
_TESTS_PER_CELL = 5
_TESTS_IN_ALL = 40


class Board:
    """Shows progress on a console: a live picture on a terminal, one line for each event elsewhere.

    Use it as a context manager; call it with each event, from any thread.

    Args:
        cells: ids of the cells of this run, in their order.
        console: where to draw.
        clock: monotonic seconds.
        earlier: cells that are finished already, each with the seconds it took; shown, and counted, but not said again.
    """

    def __init__(
        self,
        cells: Iterable[str],
        console: Console,
        clock: Callable[[], float],
        earlier: Iterable[tuple[CellFinished, float]] = (),
    ) -> None:
        self._console = console
        self._clock = clock
        finished = tuple(earlier)
        self._state = BoardState(
            tuple(cells),
            clock(),
            done={event.cell: event for event, _ in finished},
            took=tuple(seconds for _, seconds in finished if seconds > 0),
        )
        self._lock = threading.Lock()
        self._live = Live(get_renderable=self._picture, console=console, transient=True) if _can_move(console) else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        """Take an event in; where nothing can be redrawn, say it in a line."""
        with self._lock:
            now = self._clock()
            self._state = advance(self._state, event, now)
            if self._live is None:
                said = board.event_line(event, self._state, now)
                if said is not None:
                    self._console.print(Text(said), soft_wrap=True)

    def _picture(self) -> RenderableType:
        """What the drawing thread asks for, four times a second."""
        return Group(*board.render(self._state, self._clock(), self._console.width))


def _can_move(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


def summary(
    plan: Plan, results: Mapping[str, CellResult], verdict: Verdict, races: Mapping[str, Races] = NO_RACES
) -> RenderableType:
    """What is printed at the end: the table by axis, the reasons, what went wrong, the machine, the verdict."""
    grid = lay_out(plan, results, verdict)
    parts: list[RenderableType] = [Tables(grid)]
    said = (_reasons(grid), _findings(verdict), _failures(grid), _races(plan, races))
    for lines in (*said, _notes(verdict), _machines(plan, grid)):
        rows = list(lines)
        if rows:
            parts += [Text(), *rows]
    return Group(*parts, Text(), Text(line(verdict.sentence), _VERDICT_STYLES[verdict.verdict]))


def _reasons(grid: Grid) -> Iterator[Text]:
    """Why cells are not plain passes; cells that say the same share a line, so that a screen is enough."""
    groups: dict[tuple[Status, bool, str], list[Line]] = {}
    for one in grid.lines:
        if not one.is_plain_pass:
            groups.setdefault((one.verdict.status, one.verdict.expected, phrases.why(one)), []).append(one)
    for status in (Status.FAIL, Status.NO_RESULT, Status.INFRA, Status.UNAVAILABLE, Status.PASS):
        for (found, expected, why), lines in groups.items():
            if found is status:
                word = f"{'expected ' if expected else ''}{phrases.status_word(status)}"
                yield Text.assemble((word, style(lines[0])), f" {_names(lines)}" + (f": {line(why)}" if why else ""))


def _names(lines: list[Line]) -> str:
    if len(lines) <= 3:  # noqa: PLR2004 - as many ids as a line holds
        return ", ".join(one.key.id for one in lines)
    return f"{len(lines)} cells ({lines[0].key.id}, {lines[1].key.id} and {len(lines) - 2} more)"


def _findings(verdict: Verdict) -> Iterator[RenderableType]:
    for finding in verdict.findings:
        lead = f"{finding.cause.value}, {finding.confidence.value}"
        count = f"{len(finding.cells)} cell{'' if len(finding.cells) == 1 else 's'}"
        yield Text.assemble((lead, "bold"), f" in {count}: {line(finding.title)}")
        yield from (_inset(Text(f"{line(one.kind)}: {first_line(one.text)}")) for one in finding.evidence)
        if finding.next_step:
            yield _inset(Text.assemble(("next: ", "bold"), first_line(finding.next_step)))


def _failures(grid: Grid) -> Iterator[RenderableType]:
    left, unseen = _TESTS_IN_ALL, 0
    for one in grid.lines:
        tests = list(phrases.failures(one))
        if tests and not left:
            unseen += 1
            continue
        shown = tests[: min(_TESTS_PER_CELL, left)]
        left -= len(shown)
        if tests:
            yield Text.assemble((one.key.id, "bold"), f"  {phrases.counts_in_words(one)}")
        for test in shown:
            attempt = phrases.telling_attempt(test)
            message = first_line(attempt.message) if attempt else ""
            yield _inset(Text(line(test.id)))
            yield _inset(Text(phrases.attempts_in_words(test) + (f": {message}" if message else ""), "red"), 4)
        if len(tests) > len(shown):
            yield _inset(Text(f"and {len(tests) - len(shown)} more", "dim"))
    if unseen:
        yield Text(f"and {unseen} more cell{'' if unseen == 1 else 's'} with tests that went wrong", "dim")


def _races(plan: Plan, races: Mapping[str, Races]) -> Iterator[RenderableType]:
    """Each test that failed in several threads, GIL off beside GIL on."""
    rows = race_rows(plan, races)
    for row in rows[:_TESTS_IN_ALL]:
        yield Text.assemble(("race", "bold"), f" {line(row.test)} in {line(row.environment)}")
        modes = (f"{name}: {said}" for name, said in zip(HEADS[2:5], row.modes, strict=True) if said != NOTHING)
        yield _inset(Text(line("; ".join(modes)), "red"), 4)
        yield _inset(Text(first_line(row.errors)), 4)
    if len(rows) > _TESTS_IN_ALL:
        yield Text(f"and {len(rows) - _TESTS_IN_ALL} more races", "dim")
    if races:
        yield from (Text(first_line(said, 1_000)) for said in race_sentences(races))


def _inset(text: Text, columns: int = 2) -> Padding:
    """A paragraph set in, its further lines too."""
    return Padding(text, (0, 0, 0, columns), expand=False)


def _notes(verdict: Verdict) -> Iterator[Text]:
    return (Text(first_line(note, 500), "yellow") for note in verdict.notes)


def _machines(plan: Plan, grid: Grid) -> Iterator[Text]:
    return (Text(line(f"Machine: {one.text}"), "dim") for one in phrases.machines(plan, grid.lines))
