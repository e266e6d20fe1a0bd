"""result.json: what became of one cell, with every attempt kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar, Self

from pydantic import Field

from runner.model.cell import CellKey
from runner.model.document import Document, Value
from runner.model.words import GilMode, Outcome, Status


class Attempt(Value):
    """One execution of one test in one process.

    Attributes:
        outcome: what became of it.
        seconds: wall time, all phases together.
        phase: `collect`, `setup`, `call`, `teardown`, `synchronize` (the wait for the GPU after it); where it ended
            when it did not end well, else None.
        signal: name of the signal that ended the process (`SIGSEGV`), else None.
        exit_code: of the process when it ended unexpectedly, else None.
        message: one bounded text: the exception, the skip reason, or what the supervisor saw.
        stack: bounded traceback, or the stacks of all threads after a crash or a deadline.
        output: the end of what the test printed, when pytest captured any and the test went wrong.
        pid: of the worker process.
        gil_enabled: state of the GIL right after the attempt; None when unknown (the process died).
    """

    outcome: Outcome
    seconds: float = 0.0
    phase: str | None = None
    signal: str | None = None
    exit_code: int | None = None
    message: str | None = None
    stack: str | None = None
    output: str | None = None
    pid: int | None = None
    gil_enabled: bool | None = None


class TestResult(Value):
    """One collected test with all its attempts, in the order in which they were made.

    Attributes:
        id: pytest's node id; for a file that could not be collected, the file's path.
        outcome: of the test as a whole: that of the first attempt. Later attempts are evidence, never an excuse.
        file, line: where the test stands (relative to the root; 1-based), where pytest said so.
        attempts: at least one.
    """

    __test__: ClassVar[bool] = False  # the name starts with Test; pytest must not collect it

    id: str
    outcome: Outcome
    file: str | None = None
    line: int | None = None
    attempts: tuple[Attempt, ...]


class GilState(Value):
    """The truth about the GIL in one cell.

    Attributes:
        requested: the mode that was asked for.
        free_threaded_build: of the interpreter that ran; None when no worker reported.
        enabled_at_start: before any user code; None when unknown.
        enabled_at_end: at the end of the last worker; True if any worker ended with the GIL on.
        enabled_by: the module whose import switched the GIL on, such as `triton._C.libtriton`; None when nothing did.
        enabled_by_test: node id of the test, or path of the file, during which it happened.
        enabled_after_files: path of a test file to the state after the last of its tests, in the order in which they
            ran; empty for builds that cannot switch the GIL off.
        first_test_enabled: id of the first test after which it was on, whatever had switched it on; None when it
            never was, and for builds that cannot switch it off.
    """

    requested: GilMode
    free_threaded_build: bool | None = None
    enabled_at_start: bool | None = None
    enabled_at_end: bool | None = None
    enabled_by: str | None = None
    enabled_by_test: str | None = None
    enabled_after_files: dict[str, bool] = Field(default_factory=dict)
    first_test_enabled: str | None = None


class Gpu(Value):
    """One GPU as the driver reports it."""

    name: str
    uuid: str | None = None
    compute_capability: str | None = None
    memory_bytes: int | None = None


class ObservedEnvironment(Value):
    """The environment as observed in the process that ran the tests, never as asked for.

    Attributes:
        python: `3.13.5`.
        build: `sys.version`, one line.
        soabi: `cpython-313t-x86_64-linux-gnu`.
        executable: the interpreter's path.
        triton, torch: versions as installed, or None.
        packages: name to version of every distribution.
        driver: version of the CUDA driver, or None when there is none.
        gpus: as visible to the process; empty when there is none.
        platform: such as `Linux-6.1-x86_64 glibc 2.36`.
        fingerprint: of the `PlannedEnvironment` that was made.
    """

    python: str
    build: str
    soabi: str | None
    executable: str
    triton: str | None
    torch: str | None
    packages: dict[str, str] = Field(default_factory=dict)
    driver: str | None = None
    gpus: tuple[Gpu, ...] = ()
    platform: str = ""
    fingerprint: str | None = None


class Left(Value):
    """A worker process and why it ended: the cost of replacement is visible."""

    pid: int
    reason: str
    seconds: float


class CellResult(Document):
    """What became of one cell.

    Attributes:
        cell: its coordinates.
        environment: as observed; None when no process of it came up.
        gil: see `GilState`.
        status: see `Status`.
        reason: why it is not a plain pass (one sentence), or a note on a pass ("no SM90 GPU here: ..."); None else.
        planned: number of tests collected; files that could not be collected count as one each.
        tests: in the order of collection; exactly `planned` of them when the cell is complete.
        workers: every worker process that was used.
        started: ISO 8601, UTC.
        seconds: wall time of the cell, without making its environment.
        environment_seconds: wall time of making the environment; 0 when it was reused.
        plan_sha: fingerprint of the planned cell, so that a changed plan does not reuse an old result.
    """

    SCHEMA: ClassVar[str] = "triton-compat/result/1"
    WRITER: ClassVar[str] = "triton-compat cell with the id of this cell"

    cell: CellKey
    environment: ObservedEnvironment | None = None
    gil: GilState
    status: Status
    reason: str | None = None
    planned: int = Field(default=0, ge=0)
    tests: tuple[TestResult, ...] = ()
    workers: tuple[Left, ...] = ()
    started: str = ""
    seconds: float = 0.0
    environment_seconds: float = 0.0
    plan_sha: str = ""

    @property
    def counts(self) -> dict[Outcome, int]:
        """Outcomes that occur, with how many tests have each, in the order of `Outcome`."""
        return count_outcomes(test.outcome for test in self.tests)

    def without_passes(self) -> Self:
        """The result without the tests that passed at once: of a large matrix, that much fits in memory."""
        kept = (
            test
            for test in self.tests
            if test.outcome is not Outcome.PASSED or any(one.outcome is not Outcome.PASSED for one in test.attempts)
        )
        return self.model_copy(update={"tests": tuple(kept)})

    @property
    def is_complete(self) -> bool:
        """Every planned test has an outcome that is not `not_run`, and none has two."""
        finished = {test.id for test in self.tests if test.outcome is not Outcome.NOT_RUN}
        return len(finished) == len(self.tests) == self.planned


def count_outcomes(outcomes: Iterable[Outcome]) -> dict[Outcome, int]:
    """Count outcomes, in the order of `Outcome`, without those that do not occur."""
    found = Counter(outcomes)
    return {outcome: found[outcome] for outcome in Outcome if found[outcome]}
