"""A finding as a script that shows it again. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.model.cell import PythonBuild
from runner.model.contrast import Contrast, Contrasts, ControlPart, Dump, FoundFailure
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment
from runner.model.result import Attempt, CellResult
from runner.model.verdict import RACED, Finding
from runner.model.words import Cause, Confidence, GilMode
from runner.report.escape import line
from runner.report.race_script import race_lines
from runner.report.shell import command, comment, word

UPSTREAM = frozenset(
    {Cause.STALE_CACHE, Cause.THREAD_SAFETY, Cause.TRITON_VERSION, Cause.PYTHON_ABI, Cause.COMPILER, Cause.TOOLCHAIN}
)
"""Causes that may be Triton's; a report is made where the evidence does not rest on the project's code alone."""
_CACHE = "TRITON_CACHE_DIR"


@dataclass(frozen=True)
class Case:
    """A finding with what is known of the cell in which it is shown again.

    Attributes:
        finding: which.
        plan, cell, environment: as planned.
        result: of the cell.
        contrasts: of the cell, or None when no experiment looked into it.
    """

    finding: Finding
    plan: Plan
    cell: PlannedCell
    environment: PlannedEnvironment
    result: CellResult
    contrasts: Contrasts | None

    @property
    def found(self) -> FoundFailure | None:
        """What the cell shows with the user's own cache alone, if the finding is about that."""
        found = self.contrasts.found if self.contrasts else ()
        return next((one for one in found if one.root == self.finding.root), None)

    @property
    def dump(self) -> Dump | None:
        """What Triton's compiler worked on when it failed, where it was kept."""
        made = self.contrasts.dumps if self.contrasts else ()
        return next((one for one in made if one.root == self.finding.root), None)

    @property
    def mine(self) -> tuple[Contrast, ...]:
        """The contrasts of the finding's root in this cell."""
        made = self.contrasts.contrasts if self.contrasts else ()
        return tuple(one for one in made if one.root == self.finding.root)

    @property
    def test(self) -> str | None:
        """The test that stands for the finding: the one that was looked into, else the first of this cell."""
        if self.mine:
            return self.mine[0].tests[0]
        own = {test.id for test in self.result.tests if test.outcome.is_bad or self.finding.is_raced}
        return next((test for test in self.finding.tests if test in own), None)

    @property
    def sample(self) -> Attempt | None:
        """One attempt that shows it."""
        if self.found is not None:
            return self.found.sample
        attempts = [attempt for test in self.result.tests if test.id == self.test for attempt in test.attempts]
        return next((attempt for attempt in attempts if attempt.outcome.is_bad), None)

    @property
    def shown_by(self) -> tuple[ControlPart, ...]:
        """Parts of the control that show the same root or signature."""
        parts = self.contrasts.control if self.contrasts else ()
        return tuple(
            part
            for part in parts
            if part.count
            and part.count.failed
            and (_failure(self.finding) in part.roots or _signed(self.finding, part.signatures))
        )

    @property
    def is_upstream(self) -> bool:
        """Whether there is something to report to Triton: the control shows it, or a contrast says so."""
        if self.finding.cause not in UPSTREAM or self.finding.confidence is Confidence.CANNOT_TELL:
            return False
        return bool(self.shown_by) or self.finding.cause is not Cause.THREAD_SAFETY


def _signed(finding: Finding, signatures: Sequence[str]) -> bool:
    return any(_failure(finding).startswith(f"{name}-") for name in signatures)


def _failure(finding: Finding) -> str:
    """The root as the control has it: what threads do to one test is there what they do to one kernel."""
    return finding.root.removeprefix(RACED)


def script(case: Case) -> str:
    """A bash script: makes the environment with uv, and runs the test as the matrix did."""
    return "\n".join(_script(case)) + "\n"


def _script(case: Case) -> Iterator[str]:
    finding, settings = case.finding, case.cell.settings
    yield "#!/usr/bin/env bash"
    yield comment(f"{finding.id}: {finding.title}")
    yield comment(f"{finding.cause.value}, {finding.confidence.value}; cell {case.cell.key.id}")
    if others := [cell for cell in finding.cells if cell != case.cell.key.id]:
        yield comment(f"also in {', '.join(others)}")
    yield "set -u"
    yield ""
    yield "# The environment, in a folder of its own."
    yield 'work=$(mktemp -d) && cd "$work" || exit 1'
    yield from _environment(case)
    yield ""
    if finding.is_raced and case.test is not None:
        yield from race_lines(case.cell, case.plan.root, case.test, case.environment.executable)
        yield from _counts(case)
        return
    yield comment(f"The test, as the matrix ran it{', with the cache as it was found' if case.found else ''}.")
    workdir = str(PurePosixPath(case.plan.root) / settings.workdir)
    yield f"cd {word(workdir)} || exit 1"
    if case.found is not None:
        yield comment("A copy, so that the directory stays as it is.")
        yield f'cp -a {word(case.found.directory)} "$work/cache" || exit 1'
    tests = [case.test] if case.test and not case.test.startswith("<") else list(settings.tests)
    python = word(case.environment.executable) if case.environment.executable else '"$work/venv/bin/python"'
    yield f'export {_CACHE}="$work/cache"'
    yield f"{_variables(case)}{python} {command(['-m', 'pytest', *settings.pytest_args, *tests])}"
    yield from _counts(case)


def _environment(case: Case) -> Iterator[str]:
    environment = case.environment
    if environment.executable is not None:
        yield comment(f"It is the Python that the matrix file names: {environment.executable}")
        return
    build = PythonBuild.parse(environment.python)
    if case.result.environment is not None:  # exactly the release that ran
        build = PythonBuild.parse(case.result.environment.python + ("t" if build.free_threaded else ""))
    install = ["uv", "pip", "install", "--python", "venv/bin/python"]
    yield command(["uv", "venv", "--python", build.request, "venv"]) + " || exit 1"
    pins = [f"{pin.name}=={pin.version}" for pin in environment.pins]
    if pins:
        yield command([*install, "--only-binary", ":all:", "--no-deps", *pins]) + " || exit 1"
    for folder, extra in zip(environment.local, environment.extras or ("",) * len(environment.local), strict=False):
        path = str(PurePosixPath(case.plan.root) / folder)
        yield command([*install, "--no-deps", path + extra]) + " || exit 1"


def _variables(case: Case) -> str:
    env = dict(case.cell.settings.env)
    env.pop(_CACHE, None)
    gil = case.cell.key.gil
    if _is_free_threaded(case) and gil is not GilMode.DEFAULT:
        env["PYTHON_GIL"] = "1" if gil is GilMode.ON else "0"
    gpus = case.result.environment.gpus if case.result.environment else ()
    if gpus and gpus[0].uuid and "CUDA_VISIBLE_DEVICES" not in env:
        env["CUDA_VISIBLE_DEVICES"] = gpus[0].uuid
    text = command([], env)
    return f"{text} " if text else ""


def _is_free_threaded(case: Case) -> bool:
    known = case.result.gil.free_threaded_build
    return bool(known) if known is not None else case.environment.python.endswith("t")


def _counts(case: Case) -> Iterator[str]:
    for one in case.mine:
        yield comment(
            f"Seen: {one.factor.value}: {one.before.value} {one.before.count} failed, "
            f"{one.after.value} {one.after.count} failed"
        )


def file_name(finding: Finding) -> str:
    """A folder's name for a finding, whatever its id holds."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", finding.id).strip(".-")[:120] or "finding"


def headline(finding: Finding) -> str:
    """One line for a terminal."""
    return f"{finding.id}: {line(finding.title, 120)}"
