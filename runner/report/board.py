"""The live board: a state and a moment make lines. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from runner.model.words import Status
from runner.report.board_state import BoardState, Running, seconds_left
from runner.report.escape import first_line, line
from runner.report.events import (
    CellFinished,
    CellStarted,
    EnvironmentFinished,
    EnvironmentStarted,
    Event,
    Note,
    TestFinished,
)
from runner.report.phrases import duration, outcome_word, status_word

STYLES = {
    Status.PASS: "green",
    Status.FAIL: "bold red",
    Status.UNAVAILABLE: "dim",
    Status.INFRA: "yellow",
    Status.NO_RESULT: "magenta",
}
_SHOWN = 5
_BAR = 20


def render(state: BoardState, now: float, width: int) -> tuple[Text, ...]:
    """The board at a moment, as lines of at most `width` columns."""
    lines = list(_progress(state, now))
    lines += [_making(environment, now - since) for environment, since in state.making.items()]
    lines += [row for cell, one in state.running.items() for row in _running(cell, one, now)]
    troubles = [one for one in state.done.values() if one.status in {Status.FAIL, Status.INFRA, Status.NO_RESULT}]
    if len(troubles) > _SHOWN:
        lines.append(Text(f"  … {len(troubles) - _SHOWN} earlier cells with trouble", style="dim"))
    lines += [_finished(one) for one in troubles[-_SHOWN:]]
    lines += [Text(f"  {line(note)}", style="dim") for note in state.notes[-2:]]
    for row in lines:
        row.truncate(width, overflow="ellipsis")
    return tuple(lines)


def event_line(event: Event, state: BoardState, now: float) -> str | None:
    """One plain line about an event for a log, given the state after it; None for what would only make noise.

    Tests that go well are counted in the line of their cell; each test that does not has a line of its own.
    """
    said = _said(event, state, now)
    return None if said is None else f"[{_clock(now - state.started)}] {said}"


def _said(event: Event, state: BoardState, now: float) -> str | None:  # noqa: PLR0911 - one return for each event
    match event:
        case EnvironmentStarted(environment):
            return f"{line(environment)}: making the environment"
        case EnvironmentFinished(environment, reused, problem):
            outcome = line(problem) if problem else "reused" if reused else "ready"
            return f"{line(environment)}: environment {'cannot be made: ' if problem else ''}{outcome}"
        case CellStarted(cell):
            return f"{line(cell)}: started"
        case TestFinished(cell, test, outcome, number, total, message) if outcome.is_bad:
            why = f": {first_line(message)}" if message else ""
            return f"{line(cell)}: {number}/{total} {outcome_word(outcome)} {line(test)}{why}"
        case CellFinished(cell):
            return f"{line(cell)}: {_result(event)} ({_standing(state, now)})"
        case Note(text):
            return line(text)
        case _:
            return None


def _progress(state: BoardState, now: float) -> Iterator[Text]:
    total = len(state.cells)
    done = sum(1 for cell in state.cells if cell in state.done)
    filled = _BAR * done // total if total else _BAR
    counts = Counter(one.status for one in state.done.values())
    bar = [("\u2501" * filled, "green"), ("\u2501" * (_BAR - filled), "dim")]
    yield Text.assemble(*bar, f" {done}/{total} cells", (f", {_times(state, now)}", "dim"))
    said = [Text(f"{counts[status]} {status_word(status)}", STYLES[status]) for status in Status if counts[status]]
    if said:
        yield Text.assemble("  ", Text(", ").join(said))


def _times(state: BoardState, now: float) -> str:
    left = seconds_left(state, now)
    spent = duration(now - state.started)
    return f"about {_about(left)} left, {spent} so far" if left is not None else f"{spent} so far"


def _standing(state: BoardState, now: float) -> str:
    left = seconds_left(state, now)
    done = f"{sum(1 for cell in state.cells if cell in state.done)}/{len(state.cells)} cells"
    return f"{done}, about {_about(left)} left" if left is not None else done


def _about(seconds: float) -> str:
    """An estimate without false precision: `20 s`, `4 min`, `1 h 10 min`."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"  # noqa: PLR2004 - an hour


def _making(environment: str, spent: float) -> Text:
    return Text.assemble(("  making ", "cyan"), line(environment), (f"  {duration(spent)}", "dim"))


def _running(cell: str, one: Running, now: float) -> Iterator[Text]:
    count = f"{one.finished}/{one.total} tests" if one.total else "collecting"
    stage = f"{line(one.stage)} " if one.stage else ""
    row = Text.assemble(("  ▶ ", "cyan"), line(cell), f"  {stage}{count}")
    if one.bad:
        row.append(f", {one.bad} went wrong", STYLES[Status.FAIL])
    row.append(f"  {duration(now - one.since)}", "dim")
    yield row
    if one.test is not None:
        part = (f", {line(one.part)}", "dim") if one.part else ""
        yield Text.assemble((f"      {duration(now - one.test_since)}  ", "dim"), line(one.test), part)


def _finished(one: CellFinished) -> Text:
    return Text.assemble(("  ■ ", STYLES[one.status]), line(one.cell), "  ", (_trouble(one), STYLES[one.status]))


def _trouble(one: CellFinished) -> str:
    """The status and its reason alone: the line is short."""
    return f"{status_word(one.status)}: {first_line(one.reason)}" if one.reason else _result(one)


def _result(one: CellFinished) -> str:
    counts = [
        f"{count} {word}"
        for count, word in ((one.passed, "passed"), (one.bad, "went wrong"), (one.skipped, "skipped"))
        if count
    ]
    reason = f": {line(one.reason)}" if one.reason else ""
    kept = ", kept from an earlier run" if one.kept else ""
    return f"{status_word(one.status)}{' ' if counts else ''}{', '.join(counts)}{kept}{reason}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
