"""Whole matrices on small projects, as a user runs them, one stage after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.model.contrast import Contrasts
from runner.model.plan import Plan
from runner.model.verdict import Finding, Verdict
from tests.integration.experiment.table import TABLE, Table

PROJECTS = Path(__file__).parents[2] / "projects"


@dataclass(frozen=True)
class Matrix:
    """A matrix in a folder of its own."""

    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / ".triton-compat"

    def call(self, *words: str, may_end_with: tuple[int, ...] = (0,), **variables: str) -> str:
        """Run one command, with these environment variables; its standard output."""
        command = [sys.executable, "-m", "runner", *words]
        environ = {**os.environ, **variables}
        done = subprocess.run(command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode in may_end_with, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def experiment_within_the_plan(self) -> None:
        """The experiments, with the releases of Triton that the plan has: others depend on what a machine has kept."""
        self.call("experiment", "--offline", UV_DEFAULT_INDEX="http://127.0.0.1:9/simple")

    def run(self) -> None:
        """Plan and every cell."""
        self.call("plan", "matrix.yml", "--begin", "--fresh")
        for cell in Plan.read(self.out / "plan.json").cells:
            self.call("cell", cell.key.id, may_end_with=(0, 1, 3))

    def judge(self) -> Verdict:
        self.call("judge", may_end_with=(0, 1, 3))
        return Verdict.read(self.out / "verdict.json")

    def contrasts(self, cell: str) -> Contrasts:
        return Contrasts.read(self.out / "cells" / cell / "contrasts.json")


def finding_of(verdict: Verdict, test: str) -> Finding:
    """The only finding that names a test."""
    found = [finding for finding in verdict.findings if any(test in name for name in finding.tests)]
    assert len(found) == 1, [(finding.id, finding.tests) for finding in found]
    return found[0]


def said(finding: Finding, kind: str | None = None) -> str:
    return "\n".join(one.text for one in finding.evidence if kind in {None, one.kind})


@pytest.fixture
def matrix(tmp_path: Path) -> Callable[[str], Matrix]:
    def make(text: str) -> Matrix:
        (tmp_path / "matrix.yml").write_text(text)
        return Matrix(tmp_path)

    return make


@pytest.fixture
def table(pytestconfig: pytest.Config) -> Table:
    """Where a test says what it planted and what was found."""
    return pytestconfig.stash.setdefault(TABLE, Table())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the one table of this folder."""
    made = config.stash.get(TABLE, None)
    if made is not None and made.rows:
        terminalreporter.section("planted causes")
        for row in made.lines():
            terminalreporter.write_line(row)
