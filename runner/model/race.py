"""races.json: what became of one cell's tests when several threads ran each of them at once."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from pydantic import Field

from runner.model.cell import CellKey
from runner.model.document import Document, Value
from runner.model.result import Attempt, CellResult, GilState, Left, TestResult
from runner.model.words import Outcome, Status


class RaceError(Value):
    """One kind of failure: calls that failed in the same phase with the same type and, numbers aside, message.

    Attributes:
        phase: `setup`, `call`, `teardown`, or `synchronize` (the CUDA context was dead after the round).
        type: name of the exception's class.
        message: of the first such failure, bounded.
        count: how many calls failed like this.
        round: 1-based, of the first.
        stack: bounded traceback of the first.
    """

    phase: str
    type: str
    message: str
    count: int = Field(ge=1)
    round: int = Field(ge=1)
    stack: str | None = None


class RacedTest(Value):
    """One test that several threads ran at once, round after round.

    Attributes:
        id: as in the cell's result.
        threads: how many ran it in each round.
        rounds: how many were asked for.
        rounds_done: how many came to their end; fewer than `rounds` when one of them did not.
        passed, failed, skipped: calls with that outcome; one call is one thread in one round.
        errors: kinds of failures, the commonest first; bounded.
        other_errors: failures of further kinds than are listed.
        broken: how the round ended that did not come to its end (crash, deadline), else None.
        gil_enabled: state of the GIL after the last round; None when unknown.
        seconds: wall time of all rounds.
    """

    id: str
    threads: int
    rounds: int
    rounds_done: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: tuple[RaceError, ...] = ()
    other_errors: int = 0
    broken: Attempt | None = None
    gil_enabled: bool | None = None
    seconds: float = 0.0

    @property
    def outcome(self) -> Outcome:
        """Of all calls together: any failure beats every skip."""
        if self.broken is not None:
            return self.broken.outcome
        if self.failed:
            return Outcome.FAILED
        if self.rounds_done < self.rounds:
            return Outcome.NOT_RUN
        return Outcome.PASSED if self.passed else Outcome.SKIPPED

    @property
    def calls(self) -> int:
        """Calls that were asked for: threads times rounds."""
        return self.threads * self.rounds

    @property
    def kinds(self) -> tuple[Attempt, ...]:
        """What went wrong, each kind as an attempt: how a round ended early, then the listed errors."""
        errors = (
            Attempt(
                outcome=Outcome.FAILED,
                phase=error.phase,
                message=f"{error.type}: {error.message}" if error.message else error.type,
                stack=error.stack,
            )
            for error in self.errors
        )
        return (*([self.broken] if self.broken else []), *errors)


class NotRaced(Value):
    """A test that no threads ran, and why."""

    id: str
    reason: str


class Races(Document):
    """The race stage of one cell.

    Attributes:
        cell: its coordinates.
        threads, rounds: as asked for.
        gil: of the processes that ran the threads.
        tests: those that were raced, in the order of collection.
        left_out: those that cannot run in threads, did not pass in the ordinary run, or were left out by the matrix.
        unfinished: those that could have been raced and were not: the time was over, no process came up.
        trouble: what went wrong outside of every test.
        workers: every worker process that was used.
        seconds: wall time.
        plan_sha: as in the cell's result.
    """

    SCHEMA: ClassVar[str] = "triton-compat/races/1"

    cell: CellKey
    threads: int
    rounds: int
    gil: GilState
    tests: tuple[RacedTest, ...] = ()
    left_out: tuple[NotRaced, ...] = ()
    unfinished: tuple[NotRaced, ...] = ()
    trouble: tuple[Attempt, ...] = ()
    workers: tuple[Left, ...] = ()
    seconds: float = 0.0
    plan_sha: str = ""

    @property
    def failing(self) -> tuple[RacedTest, ...]:
        """Tests of which at least one call went wrong."""
        return tuple(test for test in self.tests if test.outcome.is_bad)

    def as_result(self) -> CellResult:
        """The stage as a result: each test that was raced is one attempt, wrong when any of its calls was.

        Several kinds of failures in one test are most often one race: the first of `RacedTest.kinds` stands for them.
        """
        tests = []
        for test in self.tests:
            passed = Attempt(outcome=test.outcome, seconds=test.seconds, gil_enabled=test.gil_enabled)
            attempt = (*test.kinds, passed)[0].model_copy(update={"seconds": test.seconds})
            tests.append(TestResult(id=test.id, outcome=attempt.outcome, attempts=(attempt,)))
        return CellResult(
            cell=self.cell,
            gil=self.gil,
            status=self.status,
            planned=len(tests) + len(self.unfinished),
            tests=tuple(tests),
            plan_sha=self.plan_sha,
        )

    @property
    def status(self) -> Status:
        """What the stage alone says: `fail`, `pass`, or `no_result` when something that could be was not raced."""
        if self.failing or self.trouble:
            return Status.FAIL
        return Status.NO_RESULT if self.unfinished else Status.PASS

    @property
    def reason(self) -> str | None:
        """`races: failed 9 of 64 in 2 of 40 tests, 1 of them crashed`; None where all went well."""
        said = []
        bad = self.failing
        if bad:
            failed, calls = sum(test.failed for test in bad), sum(test.calls for test in bad)
            ended = Counter(test.outcome for test in bad if test.broken is not None)
            how = "".join(f", {count} of them {name.value.replace('_', ' ')}" for name, count in ended.items())
            said.append(f"failed {failed} of {calls} in {len(bad)} of {_tests(len(self.tests))}{how}")
        if self.trouble:
            said.append(self.trouble[0].message or "a process ended outside of every test")
        if self.unfinished:
            all_of_them = len(self.tests) + len(self.unfinished)
            first = self.unfinished[0].reason
            said.append(f"{len(self.unfinished)} of {_tests(all_of_them)} not raced: {first}")
        return f"races: {'; '.join(said)}" if said else None


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
