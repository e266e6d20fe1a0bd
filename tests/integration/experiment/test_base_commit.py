"""What a change brought and what was there before it, told apart by a work tree of the base commit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from runner.model.words import Cause, Confidence, Factor
from tests.integration.experiment.conftest import Matrix, finding_of, said
from tests.integration.experiment.table import Table

pytestmark = [pytest.mark.interpreters, pytest.mark.network]
MATRIX = """
python: [3.12]
triton: 3.7.0
project: {install: ./lib, root: ., tests: tests}
limits: {test: 60s}
"""
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "adder"
version = "1.0"
"""
TESTS = """
import adder
def test_adds():
    assert adder.add(1, 2) == 3
def test_was_always_wrong():
    assert adder.add(1, 1) == 3
"""


def git(run: Matrix, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=run.folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_base_commit_tells_a_regression_from_what_was_there(matrix: Callable[[str], Matrix], table: Table) -> None:
    run = matrix(MATRIX)
    package = run.folder / "lib" / "adder" / "__init__.py"
    for path, text in (
        (package, "def add(x, y): return x + y\n"),
        (run.folder / "lib" / "pyproject.toml", PYPROJECT),
        (run.folder / "tests" / "test_adder.py", TESTS),
        (run.folder / ".gitignore", ".triton-compat\n"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(run, "init", "-q", "-b", "main")
    git(run, "add", ".")
    git(run, "commit", "-q", "-m", "base")
    base = git(run, "rev-parse", "HEAD")
    package.write_text("def add(x, y): return x - y\n")
    git(run, "commit", "-q", "-a", "-m", "change")

    run.run()
    run.call("experiment", "--offline", "--base", "HEAD~1")
    verdict = run.judge()
    regression, old = finding_of(verdict, "test_adds"), finding_of(verdict, "test_was_always_wrong")
    table.add("brought_by_the_change", Cause.REGRESSION, [regression])
    table.add("on_the_base_commit_too", Cause.PRE_EXISTING, [old])
    assert (regression.cause, regression.confidence) == (Cause.REGRESSION, Confidence.PROVEN)
    assert (old.cause, old.confidence) == (Cause.PRE_EXISTING, Confidence.PROVEN)
    assert "this change is ruled out as the cause" in said(old)
    contrasts = [one for one in run.contrasts(regression.cells[0]).contrasts if one.factor is Factor.BASE_COMMIT]
    assert {one.after.value for one in contrasts} == {base}
    assert git(run, "status", "--porcelain") == ""
    assert len(git(run, "worktree", "list").splitlines()) == 1, "the work tree was left behind"


def test_a_commit_that_is_not_there_is_named(matrix: Callable[[str], Matrix]) -> None:
    run = matrix(MATRIX.replace("install: ./lib, ", ""))
    (run.folder / "tests").mkdir()
    (run.folder / "tests" / "test_a.py").write_text("def test_a(): pass\n")
    git(run, "init", "-q")
    run.run()
    run.call("experiment", "--base", "nowhere", may_end_with=(10, 11))
