"""contrasts.json: what changed in one cell's failures when exactly one factor was changed, in counts."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from runner.model.document import Document, Value
from runner.model.result import Attempt
from runner.model.words import Factor


class Count(Value):
    """Attempts of the same tests under the same conditions.

    Attributes:
        failed: attempts that showed the root in question.
        other: attempts that went wrong in another way; they speak neither for nor against the root.
        total: all attempts with an outcome; skipped and not_run ones are not counted.
        processes: how many separate processes made them. Attempts that share a process can share its fate, so
            `processes` is what proof is computed from. None when every attempt had a process of its own.
    """

    failed: int = Field(ge=0)
    total: int = Field(ge=0)
    other: int = Field(default=0, ge=0)
    processes: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.failed + self.other > self.total:
            raise ValueError(f"{self.failed} failed and {self.other} otherwise are more than {self.total} in total")
        return self

    @property
    def trials(self) -> int:
        """Attempts that can count as independent: one for each process, at most `total`."""
        return self.total if self.processes is None else min(self.total, self.processes)

    def __str__(self) -> str:
        words = f"{self.failed} of {self.total}"
        return words + (f" ({self.other} failed otherwise)" if self.other else "")


class Side(Value):
    """One side of a contrast.

    Attributes:
        value: of the factor, such as `off`, `3.13t`, `3.7.0`, `as found`, `fresh`, `in one process`, a commit.
        count: see `Count`.
        source: `run`, or where the result was taken from: `cell X`, `sibling cell X`, `baseline`.
        env: variables that were set for it and differ from, or matter beside, the plain environment.
        command: what was run, as a list of arguments; empty when it was taken from a cell.
        signatures: ids of the signatures that were seen in its failures, each once.
        started: ISO 8601, UTC.
        seconds: wall time of all attempts together.
    """

    value: str
    count: Count
    source: str = "run"
    env: dict[str, str] = Field(default_factory=dict)
    command: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    started: str = ""
    seconds: float = 0.0


class Contrast(Value):
    """The same tests again with exactly one factor changed.

    Attributes:
        cell: id of the cell whose failure is looked into.
        root: id of the failures' root (`RootKey.id` of runner.evidence.root).
        tests: node ids of the tests that were run on both sides.
        factor: the one factor that differs. `repeat` changes nothing: its `before` is what the matrix run saw, its
            `after` the repetitions under the same conditions.
        before: the conditions under which the failure was seen.
        after: with the factor changed.
    """

    cell: str
    root: str
    tests: tuple[str, ...]
    factor: Factor
    before: Side
    after: Side


class ControlPart(Value):
    """One part of the control suite: Triton alone, no project code.

    Attributes:
        id: stable, such as `autotune-threads`.
        title: what it does, in words.
        count: None when it was not run.
        threads: number of threads that it used.
        single: for a part with several threads, the id of the same part with one thread, when there is one.
        mark: it states a property (Triton declares nothing about the GIL) rather than testing that something works;
            a cell's control can be green although it "failed".
        needs_gpu: whether it needs a GPU.
        skipped: why it was not run ("no SM90 GPU here"), else None.
        signatures: ids of the signatures in its failures; `roots` the ids of their roots.
        command, env: as for `Side`.
        detail: bounded end of the output of its first failure.
    """

    id: str
    title: str
    count: Count | None = None
    threads: int = Field(default=1, ge=1)
    single: str | None = None
    mark: bool = False
    needs_gpu: bool = False
    skipped: str | None = None
    signatures: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    detail: str | None = None

    @model_validator(mode="after")
    def _run_or_reason(self) -> Self:
        if (self.count is None) == (self.skipped is None):
            raise ValueError(f"control part {self.id!r} needs either a count or the reason why it was not run")
        return self


class Trial(Value):
    """A workaround that was itself run.

    Attributes:
        root: id of the root against which it was tried.
        title: what it is, as an instruction ("delete the cache directory").
        command, env: exactly what was run.
        count: `failed` of `total` with the workaround in place.
    """

    root: str
    title: str
    command: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    count: Count


class FoundFailure(Value):
    """A root that the cell does not show by itself, but with the user's own cache directory as it was found.

    Attributes:
        root: its id.
        tests: ids of the tests that show it.
        sample: one attempt that shows it.
        count: attempts of these tests, with the directory as found.
        directory: the user's.
    """

    root: str
    tests: tuple[str, ...]
    sample: Attempt
    count: Count
    directory: str


class Dump(Value):
    """What Triton's compiler worked on when it failed; the files lie in `dumps/ROOT/` beside contrasts.json.

    Attributes:
        root: id of the failures' root.
        test: node id of the test that was run for it.
        reproducer: name of the MLIR reproducer, the module before the stage that failed with the passes of that stage;
            None when no stage of MLIR was begun.
        stages: names of the kernel's IR after each stage that came to an end, in their order.
        architecture, warps: what the kernel was compiled for (90 is SM90), and its warps, where a file says so.
        left_out: what was too large, as sentences.
    """

    root: str
    test: str
    reproducer: str | None = None
    stages: tuple[str, ...] = ()
    architecture: int | None = None
    warps: int | None = None
    left_out: tuple[str, ...] = ()


class Contrasts(Document):
    """Everything that was found out about one cell's failures.

    Attributes:
        cell: its id.
        contrasts: in the order in which they were made.
        control: the control suite in the cell's own environment; empty when it was not run.
        workarounds: see `Trial`.
        found: what failed with the user's own cache directory, when the user asked for that; see `FoundFailure`.
        dumps: see `Dump`; for failures that lead to the compiler or its tools.
        spent_seconds: wall time of the experiments so far.
        unfinished: what the budget did not allow, as sentences; empty when all was done.
    """

    SCHEMA: ClassVar[str] = "triton-compat/contrasts/1"

    cell: str
    contrasts: tuple[Contrast, ...] = ()
    control: tuple[ControlPart, ...] = ()
    workarounds: tuple[Trial, ...] = ()
    found: tuple[FoundFailure, ...] = ()
    dumps: tuple[Dump, ...] = ()
    spent_seconds: float = 0.0
    unfinished: tuple[str, ...] = ()
