from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from runner.model.cell import CellKey
from runner.model.plan import Expectation, Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import Attempt, CellResult, GilState, ObservedEnvironment, TestResult
from runner.model.verdict import Finding, Verdict
from runner.model.words import Cause, Confidence, GilMode, Outcome, Status, VerdictWord
from runner.verdict.judge import judge

TODAY = date(2026, 11, 30)


def key(name: str, gil: str = "on") -> CellKey:
    return CellKey(id=name, python="3.13t", gil=GilMode(gil), triton="3.7.0", torch=None)


def a_plan(*keys: CellKey, expectations: tuple[Expectation, ...] = (), unavailable: str | None = None) -> Plan:
    environment = PlannedEnvironment(
        id="env", python="3.13t", triton="3.7.0", torch=None, fingerprint="f", unavailable=unavailable
    )
    return Plan(
        matrix="m",
        matrix_file="m.yml",
        matrix_sha256="0",
        root="/p",
        created="2026-11-30T00:00:00+00:00",
        tool="0",
        gil_modes=(GilMode.ON,),
        environments=(environment,),
        cells=tuple(PlannedCell(key=one, environment="env", settings=Settings()) for one in keys),
        expectations=expectations,
    )


def a_test(
    name: str, outcome: Outcome = Outcome.PASSED, first: Outcome | None = None, gil: bool | None = None
) -> TestResult:
    attempt = Attempt(outcome=first or outcome, gil_enabled=gil, message="why" if outcome is Outcome.SKIPPED else None)
    return TestResult(id=name, outcome=outcome, attempts=(attempt,))


def a_result(cell: CellKey, *tests: TestResult, status: Status = Status.PASS, **more: Any) -> CellResult:
    off = cell.gil is GilMode.OFF
    more.setdefault("planned", len(tests))
    more.setdefault("gil", GilState(requested=cell.gil, free_threaded_build=True, enabled_at_end=not off))
    return CellResult(cell=cell, status=status, tests=tests, **more)


def seen(python: str = "3.13.5", triton: str | None = "3.7.0") -> ObservedEnvironment:
    return ObservedEnvironment(python=python, build="b", soabi=None, executable="/x", triton=triton, torch=None)


def verdict_of(plan: Plan, *results: CellResult, today: date = TODAY) -> Verdict:
    return judge(plan, {result.cell.id: result for result in results}, today=today)


PASSED = a_test("t.py::a")
FAILED = a_test("t.py::b", Outcome.FAILED)
ON, OFF = key("one"), key("off", "off")


@pytest.mark.parametrize(
    ("cell", "result", "status", "reason"),
    [
        (ON, a_result(ON, PASSED), Status.PASS, None),
        (ON, a_result(ON, PASSED, reason="compiled, not run"), Status.PASS, "compiled, not run"),
        (ON, None, Status.NO_RESULT, "nothing of it arrived"),
        (ON, a_result(key("other"), PASSED), Status.NO_RESULT, "another cell, other"),
        (ON, a_result(ON, PASSED, FAILED, status=Status.FAIL), Status.FAIL, "1 failed of 2 tests"),
        (ON, a_result(ON, PASSED, FAILED), Status.FAIL, "1 failed of 2 tests (it says pass of itself)"),
        (
            ON,
            a_result(ON, PASSED, FAILED, status=Status.NO_RESULT, planned=3),
            Status.FAIL,
            "1 of 3 planned tests has no",
        ),
        (ON, a_result(ON, FAILED, status=Status.UNAVAILABLE), Status.FAIL, "says unavailable"),
        (ON, a_result(ON, PASSED, status=Status.UNAVAILABLE), Status.NO_RESULT, "yet 1 test came back"),
        (ON, a_result(ON, status=Status.UNAVAILABLE, reason="no wheel"), Status.UNAVAILABLE, "no wheel"),
        (ON, a_result(ON, PASSED, status=Status.FAIL, reason="broken"), Status.FAIL, "broken"),
        (ON, a_result(ON, PASSED, planned=3), Status.NO_RESULT, "2 of 3 planned tests have no outcome"),
        (ON, a_result(ON, PASSED, planned=0), Status.NO_RESULT, "0 tests planned, yet 1 outcomes came back"),
        (ON, a_result(ON, PASSED, PASSED), Status.NO_RESULT, "1 of 2 planned tests has no outcome"),
        (ON, a_result(ON, PASSED, a_test("t.py::c", Outcome.NOT_RUN)), Status.NO_RESULT, "1 of 2 planned tests has no"),
        (ON, a_result(ON), Status.NO_RESULT, "no test was collected"),
        (
            ON,
            a_result(ON, a_test("t.py::s", Outcome.SKIPPED)),
            Status.NO_RESULT,
            "every test was skipped, so nothing ran: why",
        ),
        (ON, a_result(ON, PASSED, a_test("t.py::s", Outcome.SKIPPED)), Status.PASS, None),
        (ON, a_result(ON, a_test("t.py::x", Outcome.XFAILED)), Status.PASS, None),
        (ON, a_result(ON, PASSED, status=Status.NO_RESULT, reason="killed"), Status.NO_RESULT, "killed"),
        (ON, a_result(ON, FAILED, status=Status.INFRA, reason="ECC error"), Status.INFRA, "ECC error"),
        (ON, a_result(ON, PASSED, status=Status.INFRA), Status.NO_RESULT, "gives no evidence"),
        (ON, a_result(ON, FAILED, status=Status.INFRA), Status.FAIL, "says infra"),
        (
            ON,
            a_result(ON, a_test("t.py::h", Outcome.TIMED_OUT), status=Status.INFRA, reason="slow"),
            Status.FAIL,
            "1 timed out",
        ),
        (
            ON,
            a_result(ON, a_test("t.py::k", Outcome.PASSED, first=Outcome.CRASHED)),
            Status.FAIL,
            "1 crashed of 1 test",
        ),
        (
            ON,
            a_result(ON, TestResult(id="t.py::e", outcome=Outcome.PASSED, attempts=())),
            Status.NO_RESULT,
            "no outcome",
        ),
        (OFF, a_result(OFF, PASSED), Status.PASS, None),
        (
            OFF,
            a_result(OFF, PASSED, gil=GilState(requested=GilMode.OFF)),
            Status.NO_RESULT,
            "nothing shows that the GIL",
        ),
        (OFF, a_result(OFF, a_test("t.py::g", gil=True)), Status.FAIL, "ended with the GIL on in t.py::g"),
        (
            OFF,
            a_result(OFF, PASSED, gil=GilState(requested=GilMode.OFF, enabled_at_end=True, enabled_by="triton._C.x")),
            Status.FAIL,
            "asked for GIL off and ended with the GIL on, switched on by triton._C.x",
        ),
        (
            ON,
            a_result(ON, PASSED, environment=seen(python="3.12.1")),
            Status.NO_RESULT,
            "ran on Python 3.12.1, not on 3.13t",
        ),
        (ON, a_result(ON, FAILED, environment=seen(triton="3.6.0")), Status.NO_RESULT, "Triton 3.6.0, not with 3.7.0"),
        (ON, a_result(ON, PASSED, environment=seen(triton="3.7.0+git1")), Status.PASS, None),
        (
            ON,
            a_result(ON, PASSED, environment=seen(), gil=GilState(requested=GilMode.ON, free_threaded_build=False)),
            Status.NO_RESULT,
            "a build without free threading",
        ),
    ],
)
def test_a_cell_is_worth_its_evidence(
    cell: CellKey, result: CellResult | None, status: Status, reason: str | None
) -> None:
    verdict = judge(a_plan(cell), {cell.id: result} if result else {}, today=TODAY)
    assert verdict.cells[0].status is status
    assert (reason in (verdict.cells[0].reason or "")) if reason else verdict.cells[0].reason is None


def test_what_the_plan_knows_to_be_unavailable_needs_no_result() -> None:
    verdict = judge(a_plan(ON, unavailable="no wheel"), {}, today=TODAY)
    assert verdict.cells[0].status is Status.UNAVAILABLE
    assert verdict.cells[0].reason == "no wheel"


@pytest.mark.parametrize(
    ("statuses", "sentence"),
    [
        ("", "CANNOT TELL: the plan has no cells."),
        ("p", "PASS: 1 of 1 cell passes (1 test)."),
        ("pps", "PASS: 3 of 3 cells pass (4 tests, 1 of them skipped)."),
        ("ppu", "PASS: 2 of 3 cells pass (2 tests), 1 unavailable."),
        ("fp", "FAIL: 1 of 2 cells fails (1 of 2 tests), 1 passes."),
        ("ffuunipp", "FAIL: 2 of 8 cells fail (2 of 4 tests), 1 has no result, 1 infra, 2 unavailable, 2 pass."),
        ("g", "FAIL: 1 of 1 cell fails."),
        ("np", "CANNOT TELL: 1 of 2 cells has no result, 1 passes."),
        ("nnii", "CANNOT TELL: 2 of 4 cells have no result, 2 infra."),
        ("ip", "CANNOT TELL: 1 of 2 cells has an infra problem, 1 passes."),
        ("u", "CANNOT TELL: nothing ran, 1 of 1 cell is unavailable."),
        ("uu", "CANNOT TELL: nothing ran, 2 of 2 cells are unavailable."),
    ],
)
def test_the_sentence_counts_every_cell(statuses: str, sentence: str) -> None:
    cells = [key(f"c{number}") for number in range(len(statuses))]
    skipped = a_test("t.py::s", Outcome.SKIPPED)
    made: dict[str, Callable[[CellKey], CellResult]] = {
        "p": lambda cell: a_result(cell, PASSED),
        "s": lambda cell: a_result(cell, PASSED, skipped),
        "u": lambda cell: a_result(cell, status=Status.UNAVAILABLE, reason="no wheel"),
        "f": lambda cell: a_result(cell, FAILED, status=Status.FAIL),
        "g": lambda cell: a_result(cell, status=Status.FAIL, reason="broken"),
        "i": lambda cell: a_result(cell, status=Status.INFRA, reason="Xid 79"),
    }
    results = {cell.id: made[letter](cell) for cell, letter in zip(cells, statuses, strict=True) if letter != "n"}
    verdict = judge(a_plan(*cells), results, today=TODAY)
    assert verdict.sentence == sentence
    assert verdict.sentence.startswith(f"{verdict.verdict.value}: ")
    assert [cell.id for cell in verdict.cells] == [cell.id for cell in cells]


def expect(*tests: str, expires: str = "2026-11-30", cells: tuple[str, ...] = ("one",)) -> Expectation:
    return Expectation(
        cells=cells, tests=tests, reason="known", owner="me", link="L", expires=expires, source="m.yml:4"
    )


@pytest.mark.parametrize(
    ("expectations", "word", "expected"),
    [
        ((expect("t.py::b"),), VerdictWord.PASS, True),
        ((expect(),), VerdictWord.PASS, True),
        ((expect("t.py::a"),), VerdictWord.FAIL, False),
        ((expect("t.py::b", expires="2026-11-29"),), VerdictWord.FAIL, False),
        ((expect("t.py::b", cells=("two",)),), VerdictWord.FAIL, False),
        ((expect("nothing"), expect("*::b")), VerdictWord.PASS, True),
    ],
)
def test_only_a_valid_expectation_that_covers_every_failure_excuses_a_cell(
    expectations: tuple[Expectation, ...], word: VerdictWord, expected: bool
) -> None:
    verdict = verdict_of(a_plan(ON, expectations=expectations), a_result(ON, PASSED, FAILED, status=Status.FAIL))
    assert verdict.verdict is word
    assert verdict.cells[0].expected is expected
    assert verdict.cells[0].status is Status.FAIL


def test_a_second_failure_beside_the_expected_one_is_a_failure() -> None:
    other = a_test("t.py::c", Outcome.CRASHED)
    plan = a_plan(ON, expectations=(expect("t.py::b"),))
    assert verdict_of(plan, a_result(ON, FAILED, other, status=Status.FAIL)).verdict is VerdictWord.FAIL


def test_an_expected_failure_does_not_hide_what_did_not_run() -> None:
    plan = a_plan(ON, expectations=(expect("t.py::b"),))
    verdict = verdict_of(plan, a_result(ON, FAILED, status=Status.FAIL, planned=2))
    assert verdict.verdict is VerdictWord.CANNOT_TELL
    assert verdict.cells[0].status is Status.NO_RESULT
    assert "failed as expected and did not come to an end" in (verdict.cells[0].reason or "")


def test_sentence_with_expected_failures() -> None:
    two = key("two")
    plan = a_plan(ON, two, expectations=(expect(cells=("one", "two")),))
    only = verdict_of(plan, *(a_result(cell, FAILED, status=Status.FAIL) for cell in (ON, two)))
    assert only.sentence == "PASS: 2 of 2 cells fail as expected."
    half = verdict_of(plan, a_result(ON, FAILED, status=Status.FAIL), a_result(two, PASSED))
    assert half.sentence == "PASS: 1 of 2 cells passes (1 test), 1 fails as expected."


def test_a_result_outside_the_plan_is_named_and_counts_for_nothing() -> None:
    stranger = a_result(key("stranger"), FAILED, status=Status.FAIL)
    verdict = verdict_of(a_plan(ON), a_result(ON, PASSED), stranger)
    assert verdict.verdict is VerdictWord.PASS
    assert verdict.notes == ("A result arrived for stranger, which is not in the plan; it counts for nothing.",)


def test_findings_are_passed_on_in_their_order() -> None:
    findings = tuple(
        Finding(id=name, cause=Cause.FLAKY, title=name, cells=("one",), confidence=Confidence.LIKELY, next_step="n")
        for name in ("f2", "f1")
    )
    assert judge(a_plan(ON), {"one": a_result(ON, PASSED)}, today=TODAY, findings=findings).findings == findings
