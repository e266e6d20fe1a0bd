"""plan.json: every cell of a matrix with everything pinned, and how each setting came to be."""

from __future__ import annotations

import hashlib
import json
from typing import ClassVar, Self

from pydantic import Field, model_validator

from runner.model.cell import CellKey, is_safe_id
from runner.model.document import Document, Value
from runner.model.words import GilMode


class Pin(Value):
    """One pinned distribution of an environment.

    Attributes:
        name: normalized project name.
        version: exact version.
        filename: the wheel that fits this interpreter.
        sha256: of that wheel, or None where the index gives none.
        size: bytes, or None where the index does not say.
    """

    name: str
    version: str
    filename: str
    sha256: str | None = None
    size: int | None = None


class PlannedEnvironment(Value):
    """One set of installed packages, shared by the cells that differ in the GIL alone.

    Attributes:
        id: such as `py3.13t-triton3.7.0`.
        python: `3.13t`, or `?` for a named environment.
        triton: exact release, or None when `executable` brings its own.
        torch: exact release, or None.
        executable: an existing Python that is used as it is (an `environment:` entry), else None.
        pins: every package that comes from an index, in the order of their names.
        local: folders of the user's that are installed as well, absolute or relative to `Plan.root`.
        extras: for each folder in `local`, its extras, in brackets as pip writes them (`[test]`), or ``.
        fingerprint: of all the above; an environment is reused only while it is the same.
        unavailable: why it cannot be made (no wheel, Requires-Python, yanked), or None.
    """

    id: str
    python: str
    triton: str | None
    torch: str | None
    executable: str | None = None
    pins: tuple[Pin, ...] = ()
    local: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    fingerprint: str
    unavailable: str | None = None


class Limits(Value):
    """Seconds and bytes that a cell may use.

    Attributes:
        test_seconds: one test with its fixtures, or the collection of one file.
        cell_seconds: a whole cell, without making its environment.
        memory_bytes: resident memory that one worker process with its children may have, or None for no limit.
    """

    test_seconds: float = Field(default=300.0, gt=0)
    cell_seconds: float = Field(default=3600.0, gt=0)
    memory_bytes: int | None = Field(default=None, gt=0)


class GpuNeed(Value):
    """What a cell's GPU must be.

    Attributes:
        compute_capability: such as `9.0`; None when the cell needs no GPU.
        free_memory_bytes: that must be free at the start.
        required: when True a machine without such a GPU is `infra`; when False tests run and skip for themselves.
    """

    compute_capability: str | None = None
    free_memory_bytes: int = 0
    required: bool = False


class Race(Value):
    """How tests are run in several threads at once, after the ordinary run.

    Attributes:
        threads: that run one test at the same time.
        rounds: how often they do so; 0 switches the stage off.
        leave_out: globs over test ids; `*` and `?` match any characters, brackets stand for themselves.
    """

    MOST_THREADS: ClassVar[int] = 256
    MOST_ROUNDS: ClassVar[int] = 100_000
    USUAL_ROUNDS: ClassVar[int] = 10

    threads: int = Field(default=8, ge=2, le=MOST_THREADS)
    rounds: int = Field(default=0, ge=0, le=MOST_ROUNDS)
    leave_out: tuple[str, ...] = ()


class Settings(Value):
    """How the tests of one cell are run.

    Attributes:
        tests: paths relative to `Plan.root`, as pytest takes them.
        pytest_args: further arguments for pytest.
        env: environment variables for the tests.
        workdir: relative to `Plan.root`; where pytest starts.
        limits: see `Limits`.
        gpu: see `GpuNeed`.
        race: see `Race`.
        runner: labels of the machine that runs the cell.
        sources: for each setting above (dotted, such as `limits.test_seconds`) where it was set:
            `matrices/sm90.yml:12` or `default`.
    """

    tests: tuple[str, ...] = ()
    pytest_args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    workdir: str = "."
    limits: Limits = Limits()
    gpu: GpuNeed = GpuNeed()
    race: Race = Race()
    runner: tuple[str, ...] = ()
    sources: dict[str, str] = Field(default_factory=dict)


class Expectation(Value):
    """A known failure. It excuses nothing after its expiry.

    Attributes:
        cells: ids of the planned cells it covers (its selector, expanded).
        tests: globs over test ids; empty means every test.
        reason: why.
        owner: who answers for it.
        link: where it is followed.
        expires: ISO date, the last day on which it holds.
        source: `matrices/sm90.yml:40`.
    """

    cells: tuple[str, ...]
    tests: tuple[str, ...] = ()
    reason: str
    owner: str
    link: str
    expires: str
    source: str


class RuleFile(Value):
    """Signatures of the user's own.

    Attributes:
        name: the file as the user named it.
        text: what it holds; it goes with the plan, for the verdict may be made where the file is not.
    """

    name: str
    text: str


class PlannedCell(Value):
    """One expected cell: it has a row in every report, whatever happens.

    Attributes:
        key: its coordinates.
        environment: id of its `PlannedEnvironment`.
        settings: how its tests are run.
    """

    key: CellKey
    environment: str
    settings: Settings


class Job(Value):
    """Cells that one machine takes together, so that nothing is installed twice.

    Attributes:
        name: unique within the plan.
        cells: ids.
        runner: labels that the machine must have.
    """

    name: str
    cells: tuple[str, ...]
    runner: tuple[str, ...]


class Plan(Document):
    """What will be run, exactly.

    Attributes:
        matrix: the matrix's name.
        matrix_file: as the user gave it.
        matrix_sha256: of the matrix file's bytes.
        root: absolute path of the project's root: what relative paths are relative to.
        root_source: where the root was set: `matrices/sm90.yml:12`, or `default: ` and which default it is.
        created: ISO 8601 with offset, UTC.
        tool: version of triton-compat that planned.
        gil_modes: the modes the matrix asked for (a build with the GIL has `on` alone).
        environments, cells, jobs, expectations: in the order of the matrix file's axes.
        signatures: the user's own rule files.
    """

    SCHEMA: ClassVar[str] = "triton-compat/plan/1"
    WRITER: ClassVar[str] = "triton-compat plan or nox -s matrix"

    matrix: str
    matrix_file: str
    matrix_sha256: str
    root: str
    root_source: str = "default"
    created: str
    tool: str
    gil_modes: tuple[GilMode, ...]
    environments: tuple[PlannedEnvironment, ...]
    cells: tuple[PlannedCell, ...]
    jobs: tuple[Job, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    signatures: tuple[RuleFile, ...] = ()

    @classmethod
    def parse(cls, text: str, name: str) -> Self:
        """As for every document; ids of environments, which become names of folders, lead nowhere else."""
        plan = super().parse(text, name)
        for environment in plan.environments:
            if not is_safe_id(environment.id):
                raise cls._refused(f"{name}: environment id {environment.id!r:.200} is no file name")
        return plan

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        """Every later stage relies on this; a file that was edited or merged by hand may not keep it."""
        environments = [environment.id for environment in self.environments]
        cells = [cell.key.id for cell in self.cells]
        for kind, ids in (("environment", environments), ("cell", cells)):
            if len(set(ids)) < len(ids):
                raise ValueError(f"{kind} {next(one for one in ids if ids.count(one) > 1)!r:.200} is there twice")
        for cell in self.cells:
            if cell.environment not in environments:
                raise ValueError(f"cell {cell.key.id} needs environment {cell.environment!r:.200}, which is not there")
        return self

    def cell(self, cell_id: str) -> PlannedCell | None:
        """The cell with that id, or None."""
        return next((cell for cell in self.cells if cell.key.id == cell_id), None)

    def environment(self, environment_id: str) -> PlannedEnvironment:
        """The environment with that id; KeyError for one that the plan does not have."""
        for environment in self.environments:
            if environment.id == environment_id:
                return environment
        raise KeyError(environment_id)


def plan_sha(cell: PlannedCell, environment: PlannedEnvironment) -> str:
    """Fingerprint of everything that decides a cell's result; sources and labels of settings do not count."""
    settings = cell.settings.model_dump(mode="json", exclude={"sources", "runner"})
    data = {"key": cell.key.model_dump(mode="json"), "settings": settings, "fingerprint": environment.fingerprint}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
