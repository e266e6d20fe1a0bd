"""The matrix file's model: what it may say. The JSON Schema for editors is generated from this."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Discriminator, Field, Tag

from runner.model.words import GilMode
from runner.plan.fields import (
    Arguments,
    Capability,
    Date,
    Duration,
    EnvironmentName,
    Executable,
    Flag,
    Folder,
    Gil,
    Glob,
    Installed,
    Label,
    Link,
    Many,
    Name,
    Part,
    PathText,
    Python,
    Requirement,
    Rounds,
    Sentence,
    Size,
    Threads,
    Torch,
    Triton,
    VariableName,
    VariableValue,
)
from runner.plan.releases import TorchWord


class Axes(Part):
    """Values along the four axes; each is one value or a list."""

    python: Many[Python] | None = None
    """Python builds: 3.12, 3.13, 3.13t (free-threaded), or exactly 3.13.5t."""

    gil: Many[Gil] = (GilMode.ON, GilMode.OFF)
    """GIL modes: on, off, default (unset: what a user gets). A build that has the GIL always runs as `on` alone.
    Without this key: on and off."""

    triton: Many[Triton] | None = None
    """Triton releases: exact, a range such as '>=3.3,<3.8', latest, or latest-2 (two releases before the latest)."""

    torch: Many[Torch] = (TorchWord.NONE,)
    """torch releases: none, matched (the newest release that pins the cell's Triton), or as for triton.
    Without this key: none."""


class Extra(Part):
    """Cells beside the product of the axes: one value or a list along each axis."""

    python: Many[Python]
    """Python builds."""

    triton: Many[Triton]
    """Triton releases."""

    gil: Many[Gil] | None = None
    """GIL modes. Without this key: those of the matrix."""

    torch: Many[Torch] | None = None
    """torch releases. Without this key: those of the matrix."""


class AxisSelector(Part):
    """Cells by axis values: every key that is given must fit, and a key fits by any of its values."""

    python: Many[Python] | None = None
    """Python builds. 3.13 means also 3.13.5, but never 3.13t."""

    gil: Many[Gil] | None = None
    """GIL modes."""

    triton: Many[Triton] | None = None
    """Triton releases: exact, ranges, latest."""

    torch: Many[Torch] | None = None
    """torch releases, none or matched."""

    environment: Many[EnvironmentName] | None = None
    """Names of entries under environment."""


def _form(raw: object) -> str:
    return "axes" if isinstance(raw, (dict, AxisSelector)) else "glob"


Selector: TypeAlias = Annotated[
    Annotated[Glob, Tag("glob")] | Annotated[AxisSelector, Tag("axes")], Discriminator(_form)
]
"""A glob over cell ids (`py3.13t-*`) or a mapping of axis values (`{python: 3.13t, gil: off}`)."""


class LimitsPart(Part):
    """What a cell may use."""

    test: Duration | None = None
    """Time for one test with its fixtures, or for collecting one file: 90 (seconds), 30s, 5m, 1h. Default 5m."""

    cell: Duration | None = None
    """Time for a whole cell, without making its environment. Default 1h."""

    memory: Size | None = None
    """Resident memory of one worker process with its children: 8GiB, 512MB. Default: no limit."""


class GpuPart(Part):
    """What a cell's GPU must be."""

    compute_capability: Capability | None = Field(default=None, alias="compute-capability")
    """Such as 9.0."""

    free_memory: Size | None = Field(default=None, alias="free-memory")
    """Memory that must be free on the GPU at the start: 8GiB. Default: none."""

    required: Flag | None = None
    """Whether a machine without such a GPU is at fault; otherwise tests run and skip for themselves. Default: false."""


class RacePart(Part):
    """Every test in several threads at once, after the ordinary run: finds races, in the project and in Triton."""

    threads: Threads | None = None
    """How many threads run one test at the same time. Default: 8."""

    rounds: Rounds | None = None
    """How often they do so; 0 switches it off. Default: 10 where this key is given, else 0."""

    leave_out: Many[Glob] | None = Field(default=None, alias="leave-out")
    """Globs over test ids that cannot run in threads. Those that the tool sees for itself need not be named."""


class RunPart(Part):
    """How tests are run."""

    tests: Many[PathText] | None = None
    """Files, folders or test ids, relative to the project's root, as pytest takes them."""

    pytest_args: Arguments | None = Field(default=None, alias="pytest-args")
    """Further arguments for pytest: one line that is split as a shell would, or a list."""

    env: dict[VariableName, VariableValue] | None = Field(
        default=None, json_schema_extra={"additionalProperties": False}
    )
    """Environment variables for the tests."""

    workdir: Folder | None = None
    """Where pytest starts, relative to the project's root. Default: the root."""


class MachinePart(Part):
    """On what tests are run."""

    limits: LimitsPart | None = None
    """Time and memory that a cell may use."""

    runner: Many[Label] | None = None
    """Labels of the machine that runs the cell."""

    gpu: GpuPart | None = None
    """What the cell's GPU must be."""

    race: RacePart | None = None
    """Every test in several threads at once, after the ordinary run. Default: off."""


class Project(RunPart):
    """What is tested."""

    tests: Many[PathText]
    """Files, folders or test ids, relative to the project's root, as pytest takes them."""

    root: PathText | None = None
    """The project's folder, relative to this file's. Default: the git checkout around this file, else its folder."""

    install: Many[Installed] | None = None
    """Requirements from the index, and folders relative to the root such as . or ./kernels[test]. Default: nothing."""

    base: Many[Requirement] = ("pytest",)
    """What every environment holds beside Triton and torch; a pytest is among it. Default: pytest."""


class Override(RunPart, MachinePart):
    """Other settings for some cells. Later overrides win; env is merged by variable, limits, gpu and race by key."""

    select: Selector
    """The cells: a glob over ids or a mapping of axis values."""


class Expected(Part):
    """A known failure. It excuses nothing after its expiry."""

    select: Selector
    """The cells: a glob over ids or a mapping of axis values."""

    tests: Many[Glob] | None = None
    """Globs over test ids. Default: every test."""

    reason: Sentence
    """Why it fails."""

    owner: Sentence
    """Who answers for it."""

    link: Link
    """Where it is followed."""

    expires: Date
    """The last day on which it holds: 2027-01-31."""


class Existing(Part):
    """An existing Python (conda, container image) that is used as it is: nothing is installed into it."""

    name: EnvironmentName
    """Its cells are called NAME-gil-on and the like."""

    python: Executable
    """Path of its python: absolute, or relative to the project's root."""


class Coordinates(Axes):
    """All that decides which cells there are, selectors aside."""

    include: tuple[Extra, ...] = ()
    """Further cells, added after exclude has removed some."""

    environment: tuple[Existing, ...] = ()
    """Existing Pythons that are used as they are; each gives a cell for each GIL mode."""


class Matrix(MachinePart, Coordinates):
    """A matrix of Python builds, GIL modes, Triton and torch releases over which a project's tests are run."""

    name: Name | None = None
    """What reports call the matrix. Default: the file's name without its suffix."""

    project: Project
    """What is tested."""

    signatures: Many[PathText] = ()
    """Rule files of your own, relative to the project's root: texts that hint at a cause, read before the shipped ones.
    docs/attribution.md describes them."""

    exclude: tuple[Selector, ...] = ()
    """Cells of the axes' product that are left out."""

    overrides: tuple[Override, ...] = ()
    """Other settings for some cells; later ones win."""

    expect: tuple[Expected, ...] = ()
    """Known failures, each with an owner, a link and an expiry."""
