"""What the live board knows: events move a state on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from runner.report.events import (
    CellFinished,
    CellStarted,
    EnvironmentFinished,
    EnvironmentStarted,
    Event,
    Note,
    TestFinished,
    TestStarted,
)

_T = TypeVar("_T")
_NOTES = 5


@dataclass(frozen=True, slots=True)
class Running:
    """A cell that runs.

    Attributes:
        since: when it began.
        stage, finished, total: what is done with its tests (see `TestStarted`), how many of them are done, of how many.
        test, test_since, part: the test that runs, since when, and how far it is.
        bad: how many went wrong.
    """

    since: float
    test: str | None = None
    test_since: float = 0.0
    part: str = ""
    stage: str = ""
    finished: int = 0
    total: int = 0
    bad: int = 0


@dataclass(frozen=True, slots=True)
class BoardState:
    """All that the board knows. Moments and spans are seconds of one monotonic clock.

    Attributes:
        cells: ids of the cells of this run, in their order.
        started: when it began.
        making: environments that are being made, with when that began.
        running: cells that run.
        done: cells that are finished, in the order in which they were.
        took: spans of the finished cells that ran here; what the estimate rests on.
        notes: the last few notes, until something is finished: they tell of what goes on.
    """

    cells: tuple[str, ...]
    started: float
    making: Mapping[str, float] = field(default_factory=dict)
    running: Mapping[str, Running] = field(default_factory=dict)
    done: Mapping[str, CellFinished] = field(default_factory=dict)
    took: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


def advance(state: BoardState, event: Event, now: float) -> BoardState:  # noqa: PLR0911 - one return for each event
    """The state after an event. A test of a cell that was never announced announces it."""
    match event:
        case EnvironmentStarted(environment):
            return replace(state, making={**state.making, environment: now})
        case EnvironmentFinished(environment):
            return replace(state, making=_without(state.making, environment), notes=())
        case CellStarted(cell):
            return replace(state, running={**state.running, cell: Running(now)})
        case TestStarted(cell):
            moved = _begin(state.running.get(cell, Running(now)), event, now)
            return replace(state, running={**state.running, cell: moved})
        case TestFinished(cell, _, outcome, number, total):
            known = state.running.get(cell, Running(now))
            moved = replace(known, test=None, part="", finished=number, total=total, bad=known.bad + outcome.is_bad)
            return replace(state, running={**state.running, cell: moved})
        case CellFinished(cell):
            began = state.running.get(cell)
            took = (*state.took, now - began.since) if began and not event.kept else state.took
            return replace(
                state,
                running=_without(state.running, cell),
                done={**_without(state.done, cell), cell: event},
                took=took,
                notes=(),
            )
        case Note(text):
            return replace(state, notes=(*state.notes, text)[-_NOTES:])


def _begin(known: Running, event: TestStarted, now: float) -> Running:
    """A test that is said to run once more goes on: what it takes is counted from the first time."""
    same_stage = known.stage == event.stage
    goes_on = same_stage and known.test == event.test
    return replace(
        known,
        test=event.test,
        test_since=known.test_since if goes_on else now,
        part=event.part,
        stage=event.stage,
        finished=max(known.finished, event.number - 1) if same_stage else event.number - 1,
        total=event.total,
    )


def seconds_left(state: BoardState, now: float) -> float | None:
    """An estimate from the cells that finished here: their mean, for those that wait and those that run.

    None while no cell has finished, and when nothing is left.
    """
    waiting = len([cell for cell in state.cells if cell not in state.done and cell not in state.running])
    if not state.took or not (waiting or state.running):
        return None
    mean = sum(state.took) / len(state.took)
    work = waiting * mean + sum(max(0.0, mean - (now - one.since)) for one in state.running.values())
    return work / max(1, len(state.running))


def _without(mapping: Mapping[str, _T], key: str) -> dict[str, _T]:
    return {name: value for name, value in mapping.items() if name != key}
