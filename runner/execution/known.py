"""What is known of a cell's tests and files: their attempts, and which of them are left. The ledger writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runner.execution.blame import Activity
from runner.execution.progress import Wrong
from runner.model.result import Attempt, count_outcomes
from runner.model.words import Outcome


@dataclass(frozen=True)
class Planned:
    """A collected test."""

    id: str
    file: str | None
    line: int | None


class Known:
    """The outcomes of one cell so far.

    Attributes:
        planned: every collected test in order, or None before a collection came to its end.
        attempts: by number of the test.
        entries: for files that are not tests: what became of their collection.
        session: what went wrong outside of tests and files.
        left_out: files that must not be collected again.
        missing: number of a test to the reason why it cannot be run any more.
        retried: numbers of suspects that ran again.
    """

    def __init__(self) -> None:
        self.planned: list[Planned] | None = None
        self.attempts: dict[int, list[Attempt]] = {}
        self.entries: dict[str, list[Attempt]] = {}
        self.session: list[Attempt] = []
        self.left_out: dict[str, None] = {}
        self.missing: dict[int, str] = {}
        self.retried: set[int] = set()

    def remaining(self) -> list[int]:
        """Numbers of tests that still have to run."""
        count = len(self.planned or ())
        return [number for number in range(count) if number not in self.attempts and number not in self.missing]

    def suspects(self) -> list[int]:
        """Numbers of tests whose first attempt ended the worker."""
        ended = {Outcome.CRASHED, Outcome.TIMED_OUT}
        return [number for number in sorted(self.attempts) if self.attempts[number][0].outcome in ended]

    @property
    def finished(self) -> int:
        """Number of entries with an outcome."""
        return len(self.attempts) + len(self.entries)

    @property
    def total(self) -> int:
        """Number of entries that will have an outcome, as far as that is known."""
        return len(self.planned or ()) + len(self.entries)

    @property
    def counts(self) -> dict[Outcome, int]:
        """Outcomes so far, by the first attempts."""
        return count_outcomes(attempts[0].outcome for attempts in (*self.entries.values(), *self.attempts.values()))

    def wrong(self) -> Iterator[Wrong]:
        """Every entry and test whose first attempt went wrong."""
        planned = self.planned or ()
        named = ((planned[number].id, attempts) for number, attempts in self.attempts.items())
        for number, (name, attempts) in enumerate((*self.entries.items(), *named), 1):
            if attempts[0].outcome.is_bad:
                yield Wrong(number, name, attempts[0].outcome, attempts[0].message)

    @property
    def brought(self) -> int:
        """Grows with everything that a worker finds out; one during which it stays the same was of no use."""
        known = self.planned is not None
        return len(self.attempts) + len(self.entries) + len(self.left_out) + len(self.missing) + known

    def add_blame(self, activity: Activity, attempt: Attempt, *, again: bool = False) -> None:
        """Write down that an attempt ended badly while this ran; for `again` see `add_attempts`."""
        number = activity.number
        if number is not None:
            self.add_attempts(number, [attempt], again=again)
        elif activity.kind in {"collect", "conftest"}:
            self.left_out[activity.name] = None
            self.add_entry(activity.name, attempt)
        else:
            self.session.append(attempt)

    def add_attempts(self, number: int, attempts: list[Attempt], *, again: bool = False) -> None:
        """Write down what became of a test; what it has already counts, unless it ran again on purpose."""
        if number not in self.attempts or again:
            self.attempts.setdefault(number, []).extend(attempts)

    def add_entry(self, file: str, attempt: Attempt) -> None:
        """A file collected again by a later worker tells the same again; the first word counts."""
        self.entries.setdefault(file, [attempt])
