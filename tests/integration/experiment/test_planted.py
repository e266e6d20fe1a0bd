"""Planted causes, each found by running it; what is planted elsewhere in this folder joins the same table."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from runner.model.verdict import Finding, Verdict
from runner.model.words import Cause, Confidence, Status, VerdictWord
from tests.integration.experiment.conftest import Matrix, finding_of, said
from tests.integration.experiment.planted import PLANTED, Planted, Project
from tests.integration.experiment.table import MISSED, OPEN, WRONG, Table
from tests.stubs.machine import StubGpu

pytestmark = [pytest.mark.interpreters, pytest.mark.network, pytest.mark.experiments]


@pytest.fixture
def planted_project(matrix: Callable[[str], Matrix], monkeypatch: pytest.MonkeyPatch) -> Callable[[Project], Matrix]:
    """Copies a project to where it is run, on a machine with a GPU where stubs play one."""

    def make(project: Project) -> Matrix:
        run = matrix("")
        machine = project.copy_to(run.folder)
        if "gpu:" in (run.folder / "matrix.yml").read_text():
            for name, value in {**machine.variables, "TRITON_COMPAT_LOCKS": str(run.folder)}.items():
                monkeypatch.setenv(name, value)
        return run

    return make


def found(verdict: Verdict, planted: Planted) -> list[Finding]:
    file = f"tests/test_{planted.file}.py"
    return [one for one in verdict.findings if any(test.split("::")[0] == file for test in one.tests)]


@pytest.mark.parametrize("project", PLANTED, ids=lambda project: project.name)
def test_no_planted_cause_is_mistaken_for_another(
    planted_project: Callable[[Project], Matrix], project: Project, table: Table
) -> None:
    run = planted_project(project)
    run.run()
    run.experiment_within_the_plan()
    verdict = run.judge()
    rows = {one: table.add(one.file, one.cause, found(verdict, one)) for one in project.planted}
    assert not {one.file: row.found for one, row in rows.items() if row.how in {WRONG, MISSED}}
    assert not {one.file: row.found for one, row in rows.items() if row.how == OPEN and not one.may_stay_open}


def test_a_gpu_that_somebody_else_uses_is_infra(planted_project: Callable[[Project], Matrix], table: Table) -> None:
    project = next(one for one in PLANTED if one.name == "broken_gpu")
    run = planted_project(project)
    machine = project.copy_to(run.folder)
    machine.gpus = [StubGpu(processes=[(os.getpid(), 70_000)])]
    machine.write()
    run.run()
    verdict = run.judge()
    (cell,) = verdict.cells
    table.note("gpu_of_somebody_else", "infra", f"cell {cell.status.value}", right=cell.status is Status.INFRA)
    assert verdict.verdict is VerdictWord.CANNOT_TELL
    assert "is not idle" in (cell.reason or "")


WRONG_WHEEL = """
environment:
  - {name: wrong-wheel, python: %s}
gil: [on]
project: {root: ., tests: tests}
limits: {test: 60s}
"""


def test_a_wheel_of_another_abi_is_found_by_the_control(matrix: Callable[[str], Matrix], table: Table) -> None:
    """The binary of a build with the GIL, in an environment of the free-threaded one."""
    good = matrix("python: [3.13, 3.13t]\ngil: [on]\ntriton: 3.7.0\nproject: {root: ., tests: tests}\n")
    (good.folder / "tests").mkdir()
    (good.folder / "tests" / "test_it.py").write_text("def test_imports():\n    import triton\n")
    good.run()
    environments = good.out / "environments"
    binary = next((environments / "py3.13-triton3.7.0").rglob("libtriton*.so"))
    folder = environments / "py3.13t-triton3.7.0"
    target = next(folder.rglob("libtriton*.so"))
    target.unlink()  # the environment's files are hard links into uv's cache: replace, never write
    target.write_bytes(binary.read_bytes())
    run = matrix(WRONG_WHEEL % (folder / "bin" / "python"))
    run.run()
    run.call("experiment", "--offline")
    finding = finding_of(run.judge(), "test_it.py")
    table.add("wheel_of_another_abi", Cause.PYTHON_ABI, [finding])
    assert finding.cause is Cause.PYTHON_ABI
    assert finding.confidence is not Confidence.CANNOT_TELL
    assert "importing Triton: 6 of 6 failed, with the same signature" in said(finding)


EXPECTATIONS = """
python: [3.12]
triton: 3.7.0
project: {root: ., tests: tests}
limits: {test: 60s}
expect:
  - {select: "*", tests: "*::test_known", reason: r, owner: o, link: https://example.org/1, expires: 2999-01-01}
  - {select: "*", tests: "*::test_expired", reason: r, owner: o, link: https://example.org/2, expires: 2020-01-01}
  - {select: "*", tests: "*::test_passes", reason: r, owner: o, link: https://example.org/3, expires: 2999-01-01}
"""


def test_an_expected_an_expired_and_a_mended_failure(matrix: Callable[[str], Matrix], table: Table) -> None:
    run = matrix(EXPECTATIONS)
    tests = run.folder / "tests" / "test_it.py"
    tests.parent.mkdir()
    tests.write_text(
        "def test_known(): raise KeyError(1)\ndef test_expired(): raise ValueError(2)\ndef test_passes(): 1\n"
    )
    run.run()
    verdict = run.judge()
    about = {number: [note for note in verdict.notes if f"example.org/{number}" in note] for number in (1, 2, 3)}
    expired = [note for note in about[2] if "expired on 2020-01-01: it no longer excuses 1 failing test" in note]
    mended = [note for note in about[3] if note.startswith("Unexpected pass")]
    tests.write_text("def test_known(): raise KeyError(1)\n")
    run.run()
    alone = run.judge()
    (cell,) = alone.cells
    table.note("failure_as_expected", "expected", "expected" if cell.expected else "fail", right=cell.expected)
    table.note(
        "expectation_that_expired", "counts again", "counts again" if expired else "nothing", right=bool(expired)
    )
    table.note("expectation_that_passes", "unexpected", "unexpected" if mended else "nothing", right=bool(mended))
    assert verdict.verdict is VerdictWord.FAIL
    assert (len(about[1]), len(expired), len(mended)) == (0, 1, 1)
    assert (cell.expected, alone.verdict) == (True, VerdictWord.PASS)
