"""What happens while a matrix runs, as far as a person who watches wants to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runner.model.words import Outcome, Status


@dataclass(frozen=True, slots=True)
class EnvironmentStarted:
    """An environment is being made; `environment` is its id."""

    environment: str


@dataclass(frozen=True, slots=True)
class EnvironmentFinished:
    """It is ready, or cannot be made: then `problem` says why. `reused` when it was there already."""

    environment: str
    reused: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class CellStarted:
    """The tests of a cell are being collected."""

    cell: str


@dataclass(frozen=True, slots=True)
class TestStarted:
    """Test `number` (from 1) of `total` begins, or goes on.

    `stage` is empty for the ordinary run, else what is done with the tests: `racing`, `repeating suspects`. `part` says
    how far the test itself is, such as `round 3 of 50`.
    """

    cell: str
    test: str
    number: int
    total: int
    stage: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class TestFinished:
    """Test `number` (from 1) of `total` has an outcome; `message` is one line about a bad one."""

    cell: str
    test: str
    outcome: Outcome
    number: int
    total: int
    message: str | None = None


@dataclass(frozen=True, slots=True)
class CellFinished:
    """A cell came to its end; `kept` when its result is that of an earlier run."""

    cell: str
    status: Status
    passed: int = 0
    skipped: int = 0
    bad: int = 0
    reason: str | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the person who watches, such as the progress of building an interpreter."""

    text: str


Event: TypeAlias = (
    EnvironmentStarted | EnvironmentFinished | CellStarted | TestStarted | TestFinished | CellFinished | Note
)
