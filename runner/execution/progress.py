"""What a running cell tells whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from runner.model.words import Outcome


@dataclass(frozen=True)
class Wrong:
    """A test, or a file that could not be collected, that went wrong at first; `number` in the order of finding."""

    number: int
    id: str
    outcome: Outcome
    message: str | None


@dataclass(frozen=True)
class Progress:
    """A cell at one moment.

    Attributes:
        cell: its id.
        stage: `waiting for a GPU`, `collecting`, `running`, `repeating suspects`, `racing`, `finished`.
        planned: number of collected tests, while they are raced of those that can be; 0 before that is known.
        finished: number of tests with an outcome.
        counts: outcomes so far, by their first attempt.
        current: the test or file that runs now, or None.
        part: how far that test is, such as `round 3 of 50`, or None.
        worker: number of worker processes so far.
        seconds: since the cell started.
        note: a sentence for whoever watches, or None.
        wrong: what went wrong so far.
    """

    cell: str
    stage: str
    planned: int = 0
    finished: int = 0
    counts: dict[Outcome, int] = field(default_factory=dict)
    current: str | None = None
    part: str | None = None
    worker: int = 0
    seconds: float = 0.0
    note: str | None = None
    wrong: tuple[Wrong, ...] = ()
