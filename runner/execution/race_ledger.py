"""What is known of a cell's races: the same fold as for ordinary tests, in which a test's end is that of its race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.execution.blame import Activity
from runner.execution.known import Planned
from runner.execution.ledger import Ledger
from runner.execution.progress import Wrong
from runner.model.cell import PythonBuild
from runner.model.plan import Race
from runner.model.race import RacedTest, RaceError
from runner.model.result import Attempt, count_outcomes
from runner.model.words import GilMode, Outcome

BEAT_SECONDS = 0.5  # as in inside/_triton_compat/race.py: a round may have begun this long after its event
_COUNTS = ("passed", "failed", "skipped")


@dataclass
class _Running:
    """The race that runs in the worker, as far as it told."""

    number: int
    told: dict[str, Any] = field(default_factory=dict)


class RaceLedger(Ledger):
    """The state of one cell's race stage. Numbers of tests are those of the ordinary run.

    Args:
        requested, python: as for `Ledger`.
        race: as asked for.
        planned: every collected test.
        eligible: number of each test that is to be raced, with the seconds it took in the ordinary run.

    Attributes:
        unfit: number to the reason why a test cannot run in threads.
        raced: number to what became of its race.
    """

    def __init__(
        self,
        requested: GilMode,
        python: PythonBuild | None,
        race: Race,
        planned: Sequence[Planned],
        eligible: Mapping[int, float],
    ) -> None:
        super().__init__(requested, python)
        self.planned = list(planned)
        self.unfit: dict[int, str] = {}
        self.raced: dict[int, RacedTest] = {}
        self._race = race
        self._eligible = dict(eligible)
        self._running: _Running | None = None
        self._board: dict[str, Any] | None = None

    def remaining(self) -> list[int]:
        """Numbers of tests that still have to be raced."""
        done = (self.raced, self.unfit, self.missing)
        return [number for number in self._eligible if not any(number in one for one in done)]

    @property
    def finished(self) -> int:
        """Number of tests of which it is known what became of their race."""
        return len(self.raced) + len(self.unfit) + len(self.missing)

    @property
    def total(self) -> int:
        """Number of tests that are to be raced."""
        return len(self._eligible)

    @property
    def counts(self) -> dict[Outcome, int]:
        """Outcomes of the races so far."""
        return count_outcomes(one.outcome for one in self.raced.values())

    def wrong(self) -> Iterator[Wrong]:
        """Every test that failed in at least one thread."""
        for number, one in enumerate(self.raced.values(), 1):
            if one.outcome.is_bad:
                first = one.broken.message if one.broken else one.errors[0].message if one.errors else ""
                said = f"failed {one.failed} of {one.calls} calls in {one.threads} threads: {first}"
                yield Wrong(number, one.id, one.outcome, said)

    @property
    def brought(self) -> int:
        """See `Known.brought`."""
        return self.finished + len(self.left_out)

    # -- events --------------------------------------------------------------------------------------------------

    def _on_selected(self, event: Mapping[str, Any]) -> None:
        self.activity = Activity("between")
        for number in event["missing"]:
            self.missing[self._known(number)] = "the test was gone when its file was collected again in a new process"

    def _on_unfit(self, event: Mapping[str, Any]) -> None:
        self.unfit[self._known(event["n"])] = str(event["reason"])
        self._running = None
        self.activity = Activity("between")

    def _on_race_start(self, event: Mapping[str, Any]) -> None:
        self._running = _Running(self._known(event["n"]))
        self._begin_round(1)

    def _on_race_round(self, event: Mapping[str, Any]) -> None:
        running = self._require(event)
        self._gil.note(event["gil"], self._during())
        running.told = dict(event)
        self._begin_round(int(event["rounds"]) + 1)

    def _on_race_end(self, event: Mapping[str, Any]) -> None:
        running = self._require(event)
        self._gil.note(event["gil"], self._during())
        self.raced[running.number] = self._read(running.number, event, seconds=float(event["seconds"]))
        self._running = None
        self.activity = Activity("between")

    def _begin_round(self, number: int) -> None:
        """Threads that wait for each other, or share one core, take as long as all of them one after the other."""
        running = self._running
        assert running is not None  # noqa: S101 - the callers looked
        in_turn = self._race.threads * self._eligible.get(running.number, 0.0)
        self.activity = Activity("test", str(running.number), "setup", number, in_turn + BEAT_SECONDS)

    def _require(self, event: Mapping[str, Any]) -> _Running:
        running = self._running
        if running is None or running.number != event["n"]:
            raise ValueError("no such race is running")
        return running

    def _on_deadline(self, event: Mapping[str, Any]) -> None:
        super()._on_deadline(event)
        self._board = event.get("race")

    def _on_ended(self, event: Mapping[str, Any]) -> None:
        if self._deadline is None:
            self._board = event.get("race")
        super()._on_ended(event)
        self._running = self._board = None

    def _on_interrupted(self, event: Mapping[str, Any]) -> None:
        super()._on_interrupted(event)
        self._running = self._board = None

    # -- details -------------------------------------------------------------------------------------------------

    def _blame(self, activity: Activity, attempt: Attempt) -> None:
        running = self._running
        if activity.number is None or running is None:
            super()._blame(activity, attempt)
            return
        told = dict(running.told)
        board = self._board
        if board is not None:
            told.update(rounds=board["round"] - 1, **{name: board[name] for name in _COUNTS})
            attempt = _placed(attempt, board, self._race.rounds)
        lost = len(board["unfinished"]) if board and attempt.outcome is Outcome.TIMED_OUT else 1
        told["failed"] = int(told.get("failed", 0)) + max(1, lost)
        self.raced[running.number] = self._read(running.number, told, broken=attempt, seconds=attempt.seconds)
        self._running = None

    def _read(
        self, number: int, told: Mapping[str, Any], *, seconds: float, broken: Attempt | None = None
    ) -> RacedTest:
        planned = self.planned or []
        return RacedTest(
            id=planned[number].id,
            threads=self._race.threads,
            rounds=self._race.rounds,
            rounds_done=int(told.get("rounds", 0)),
            errors=tuple(RaceError.model_validate(one) for one in told.get("errors", ())),
            other_errors=int(told.get("other_errors", 0)),
            broken=broken,
            gil_enabled=None if broken is not None else told.get("gil"),
            seconds=seconds,
            **{name: int(told.get(name, 0)) for name in _COUNTS},
        )


def _placed(attempt: Attempt, board: Mapping[str, Any], rounds: int) -> Attempt:
    """Say in which round it was, and which threads were not done; name them in the stacks as well."""
    message = f"{attempt.message}, in round {board['round']} of {rounds}"
    stack = attempt.stack
    unfinished = board["unfinished"]
    if unfinished:
        numbers = [str(number) for number, _ in unfinished]
        who = f"thread {numbers[0]}" if len(numbers) == 1 else f"threads {', '.join(numbers)}"
        message += f"; {who} of {board['threads']} had not finished"
    for number, ident in unfinished:
        if stack and f"Current thread {ident}" in stack:
            message += f"; it happened in thread {number}" if attempt.signal else ""
        stack = stack and stack.replace(f"hread {ident}", f"hread {ident} (race thread {number})")
    return attempt.model_copy(update={"message": message, "stack": stack})
