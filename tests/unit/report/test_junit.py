from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite

from runner.model.race import NotRaced, RacedTest, RaceError, Races
from runner.model.result import Attempt, GilState, TestResult
from runner.model.words import Outcome, Status
from runner.report.junit import render, render_all
from runner.report.junit_cases import CELL_CASE, RACE_CASE

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
SUITE = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}
CASE_CHILDREN = {"skipped", "error", "failure", "system-out"}


def read(text: str) -> list[TestSuite]:
    return list(JUnitXml.fromstring(text.encode()))


def check_schema(text: str) -> None:
    """What the common JUnit schemas ask for: names, numbers, the order of children, and counts that are true."""
    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert root.tag == "testsuites"
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.attrib[name]) == sum(int(suite.attrib[name]) for suite in root)
    for suite in root:
        assert suite.tag == "testsuite"
        assert {"name", "tests", "failures", "errors", "skipped", "time"} <= set(suite.attrib) <= SUITE
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib.get("timestamp", "2026-11-30T12:00:00"))
        assert [child.tag for child in suite] == ["properties"] + ["testcase"] * int(suite.attrib["tests"])
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert len(suite.findall(f"testcase/{tag}")) == int(suite.attrib[count])
        for case in suite.findall("testcase"):
            assert set(case.attrib) == {"name", "classname", "time"}
            assert float(case.attrib["time"]) >= 0
            children = [child.tag for child in case]
            assert set(children) <= CASE_CHILDREN
            assert len([tag for tag in children if tag != "system-out"]) <= 1


def test_golden(sample: tuple[str, Any], golden: Callable[[str, str], None]) -> None:
    name, data = sample
    text = render_all(data.plan, data.results)
    check_schema(text)
    golden(f"{name}.junit.xml", text)


def test_the_suites_are_the_expected_cells_and_their_counts_those_of_the_results(sample: tuple[str, Any]) -> None:
    _, data = sample
    suites = read(render_all(data.plan, data.results))
    assert [suite.name for suite in suites] == [cell.key.id for cell in data.plan.cells]
    for suite, cell in zip(suites, data.verdict.cells, strict=True):
        counts = cell.counts
        extra = [case for case in suite if case.name == CELL_CASE]
        assert suite.tests == sum(counts.values()) + len(extra)
        own = {kind: sum(isinstance(found, kind) for case in extra for found in case.result) for kind in KINDS}
        assert suite.failures == counts.get(Outcome.FAILED, 0) + own[Failure]
        wrong = (Outcome.ERROR, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.NOT_RUN)
        assert suite.errors == sum(counts.get(outcome, 0) for outcome in wrong) + own[Error]
        idle = (Outcome.SKIPPED, Outcome.XFAILED)
        assert suite.skipped == sum(counts.get(outcome, 0) for outcome in idle) + own[Skipped]
        if cell.status is not Status.PASS:
            assert suite.failures + suite.errors + (suite.skipped if cell.status is Status.UNAVAILABLE else 0) > 0


KINDS = (Failure, Error, Skipped)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome.PASSED, None),
        (Outcome.XPASSED, None),
        (Outcome.FAILED, Failure),
        (Outcome.ERROR, Error),
        (Outcome.CRASHED, Error),
        (Outcome.TIMED_OUT, Error),
        (Outcome.NOT_RUN, Error),
        (Outcome.SKIPPED, Skipped),
        (Outcome.XFAILED, Skipped),
    ],
)
def test_an_outcome_is_what_a_reader_of_junit_understands(make: Any, outcome: Outcome, kind: type | None) -> None:
    test = make.test("tests/t.py::TestA::test_b[x::y]", outcome, message="why\nmore", stack="line 1\nline 2")
    (suite,) = read(render(make.result(make.key(), [make.test("tests/t.py::test_a"), test])))
    case = list(suite)[1]
    assert (case.classname, case.name) == ("tests.t.TestA", "test_b[x::y]")
    assert [type(found) for found in case.result] == ([kind] if kind else [])
    if kind is not None:
        assert case.result[0].message == "why"
        assert kind is Skipped or case.result[0].text == "why\nmore\nline 1\nline 2"


def test_a_file_that_could_not_be_collected_keeps_its_path(make: Any) -> None:
    (suite,) = read(render(make.result(make.key(), [make.test("tests/t.py", make.Outcome.ERROR)], make.Status.FAIL)))
    assert next(iter(suite)).name == "tests/t.py"


def test_every_attempt_is_kept_with_what_it_printed(make: Any) -> None:
    later = Attempt(outcome=Outcome.PASSED, seconds=0.25, output="hello\n")
    test = TestResult(id="t.py::a", outcome=Outcome.CRASHED, attempts=(make.crash(), later))
    (suite,) = read(render(make.result(make.key(), [test], make.Status.FAIL)))
    (case,) = suite
    assert case.is_error
    assert case.system_out is not None
    assert case.system_out.split("\n")[:3] == [
        "attempt 1: crashed with SIGSEGV, 0.5 s: the worker died with SIGSEGV",
        "attempt 2: passed, 0.2 s",
        "hello",
    ]


@pytest.mark.parametrize(
    ("status", "planned", "kind", "reason"),
    [
        (Status.PASS, 3, Error, "2 of 3 planned tests have no outcome"),
        (Status.INFRA, 1, Error, "Xid 79"),
        (Status.NO_RESULT, 1, Error, "Xid 79"),
        (Status.FAIL, 1, Failure, "Xid 79"),
    ],
)
def test_what_no_test_shows_has_a_case_of_its_own(
    make: Any, status: Status, planned: int, kind: type, reason: str
) -> None:
    result = make.result(make.key(), [make.test("t.py::a")], status, "Xid 79", planned=planned)
    (suite,) = read(render(result))
    assert [case.name for case in suite] == ["a", CELL_CASE]
    (found,) = list(suite)[1].result
    assert type(found) is kind
    assert found.message == reason


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=40), st.floats(allow_nan=True))
def test_any_text_makes_valid_xml(make: Any, text: str, seconds: float) -> None:
    attempt = Attempt(outcome=Outcome.FAILED, seconds=seconds, message=text, stack=text, output=text)
    test = TestResult(id=f"t.py::{text}", outcome=Outcome.FAILED, attempts=(attempt,))
    result = make.result(make.key(), [test], make.Status.FAIL, text)
    written = render(result)
    check_schema(written)
    assert ILLEGAL.search(written) is None
    assert [suite.failures for suite in read(written)] == [1]


def raced(name: str, **more: Any) -> RacedTest:
    return RacedTest(id=f"tests/t.py::{name}", threads=8, rounds=8, seconds=0.5, **{"rounds_done": 8, **more})


def race_suite(make: Any, *tests: RacedTest, **more: Any) -> list[TestSuite]:
    key = make.key()
    races = Races(cell=key, threads=8, rounds=8, gil=GilState(requested=key.gil), tests=tests, **more)
    reason = {"reason": races.reason} if races.reason else {}
    text = render(make.result(key, make.tests(2), races.status, **reason), races)
    check_schema(text)
    return read(text)


def test_races_are_a_suite_of_their_own_and_leave_the_counts_of_the_first_alone(make: Any) -> None:
    error = RaceError(phase="call", type="TypeError", message="no mapping", count=9, round=3, stack="line 1")
    suites = race_suite(make, raced("test_a[1]", passed=64), raced("test_b", passed=55, failed=9, errors=(error,)))
    ordinary, race = suites
    assert (ordinary.name, ordinary.tests, ordinary.failures) == (make.key().id, 2, 0)
    assert (race.name, race.tests, race.failures, race.time) == (f"{make.key().id} (race)", 2, 1, 1.0)
    clean, failing = race
    assert (clean.classname, clean.name, clean.result) == ("tests.t", "test_a[1]", [])
    (found,) = failing.result
    assert found.message == "failed 9 of 64 calls (8 threads, 8 rounds): no mapping"
    assert found.text == "9 of 64 calls, first in round 3: TypeError in call: no mapping\nline 1"


def test_a_race_that_ended_badly_was_cut_short_or_could_not_be_is_not_a_pass(make: Any) -> None:
    _, race = race_suite(
        make,
        raced("test_crash", passed=16, failed=1, rounds_done=2, broken=make.crash()),
        raced("test_cut", passed=8, rounds_done=1),
        raced("test_skips", skipped=64),
        unfinished=(NotRaced(id="tests/t.py::test_late", reason="the time of the cell was over"),),
        left_out=(NotRaced(id="tests/t.py::test_d", reason="it uses capsys"),),
        trouble=(make.crash(),),
    )
    kinds = [(case.name, type(case.result[0]), case.result[0].type) for case in race]
    assert kinds == [
        ("test_crash", Error, "crashed"),
        ("test_cut", Error, "not_run"),
        ("test_skips", Skipped, "pytest.skip"),
        ("test_late", Error, "not_run"),
        ("test_d", Skipped, "not_raced"),
        (RACE_CASE, Error, "crashed"),
    ]
    messages = [case.result[0].message for case in race]
    assert messages[1] == "1 of 8 rounds came to their end"
    assert messages[3:5] == ["not raced: the time of the cell was over", "not raced: it uses capsys"]


def test_a_cell_that_fails_by_its_races_alone_needs_no_case_for_itself(make: Any) -> None:
    ordinary, race = race_suite(make, raced("test_b", passed=63, failed=1))
    assert CELL_CASE not in [case.name for case in ordinary]
    assert race.failures == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=40))
def test_any_text_of_a_race_makes_valid_xml(make: Any, text: str) -> None:
    error = RaceError(phase=text, type=text, message=text, count=1, round=1, stack=text)
    broken = Attempt(outcome=Outcome.CRASHED, message=text, stack=text)
    left = (NotRaced(id=text, reason=text),)
    race_suite(make, raced(text, failed=1, errors=(error,)), raced(text, broken=broken), unfinished=left, left_out=left)
