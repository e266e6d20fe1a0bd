"""A table of planted causes, each found by running it: what was planted, what was found, and how sure."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from runner.model.verdict import Finding, Verdict
from runner.model.words import Cause, Confidence, VerdictWord
from tests.integration.experiment.conftest import Matrix, finding_of, said
from tests.integration.experiment.planted import PLANTED, Planted

pytestmark = [pytest.mark.interpreters, pytest.mark.network, pytest.mark.experiments]
MATRIX = """
python: [3.12, 3.13, 3.13t]
gil: [on, off]
triton: 3.7.0
include:
  - {python: 3.13t, triton: 3.3.1, gil: on}
project: {root: ., tests: tests}
limits: {test: 20s}
"""


def found(verdict: Verdict, planted: Planted) -> list[Finding]:
    file = f"tests/test_{planted.name}.py"
    return [one for one in verdict.findings if any(test.split("::")[0] == file for test in one.tests)]


def test_no_planted_cause_is_mistaken_for_another(matrix: Callable[[str], Matrix]) -> None:
    run = matrix(MATRIX)
    (run.folder / "tests").mkdir()
    for planted in PLANTED:
        (run.folder / "tests" / f"test_{planted.name}.py").write_text(planted.source)
    run.run()
    run.call("experiment", "--offline")
    verdict = run.judge()
    table = {planted.name: [(one.cause, one.confidence) for one in found(verdict, planted)] for planted in PLANTED}
    for name, answers in table.items():
        told = "; ".join(f"{cause.value} ({how.value})" for cause, how in answers) or "did not fail"
        sys.stdout.write(f"{name:32} {told}\n")
    wrong = {
        planted.name: table[planted.name]
        for planted in PLANTED
        for cause, how in table[planted.name]
        if cause is not planted.cause and how is not Confidence.CANNOT_TELL
    }
    assert not wrong
    missed = [
        planted.name
        for planted in PLANTED
        if planted.cause not in {Cause.UNEXPLAINED, Cause.FLAKY}  # luck may have it that a flaky one passed
        and planted.cause not in {cause for cause, _ in table[planted.name]}
    ]
    assert not missed


WRONG_WHEEL = """
environment:
  - {name: wrong-wheel, python: %s}
gil: [on]
project: {root: ., tests: tests}
limits: {test: 60s}
"""


def test_a_wheel_of_another_abi_is_found_by_the_control(matrix: Callable[[str], Matrix]) -> None:
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
  - {select: "*", tests: "*::test_mended", reason: r, owner: o, link: https://example.org/3, expires: 2999-01-01}
"""


def test_an_expected_an_expired_and_a_mended_failure(matrix: Callable[[str], Matrix]) -> None:
    run = matrix(EXPECTATIONS)
    (run.folder / "tests").mkdir()
    tests = "def test_known(): raise KeyError(1)\ndef test_expired(): raise ValueError(2)\ndef test_mended(): pass\n"
    (run.folder / "tests" / "test_it.py").write_text(tests)
    run.run()
    verdict = run.judge()
    assert verdict.verdict is VerdictWord.FAIL
    assert any("example.org/2" in note for note in verdict.notes)
    assert any("example.org/3" in note for note in verdict.notes)
