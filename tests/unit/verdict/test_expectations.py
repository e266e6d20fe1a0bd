from __future__ import annotations

from datetime import date

import pytest

from runner.model.cell import CellKey
from runner.model.plan import Expectation
from runner.model.result import Attempt, CellResult, GilState, TestResult
from runner.model.words import GilMode, Outcome, Status
from runner.verdict.cell_status import Weighed, weigh
from runner.verdict.expectations import covers, excuses, is_valid, remarks, surprises

TODAY = date(2026, 11, 30)


def expect(*tests: str, expires: str = "2026-12-31", cells: tuple[str, ...] = ("c",)) -> Expectation:
    return Expectation(
        cells=cells,
        tests=tests,
        reason="races",
        owner="kernels",
        link="https://e.com/1",
        expires=expires,
        source="m.yml:4",
    )


def weighed_and_results(
    outcomes: dict[str, Outcome], cell: str = "c", planned: int | None = None
) -> tuple[dict[str, Weighed], dict[str, CellResult]]:
    key = CellKey(id=cell, python="3.13t", gil=GilMode.ON, triton="3.7.0", torch=None)
    tests = tuple(
        TestResult(id=name, outcome=outcome, attempts=(Attempt(outcome=outcome),)) for name, outcome in outcomes.items()
    )
    bad = any(outcome.is_bad for outcome in outcomes.values())
    result = CellResult(
        cell=key,
        gil=GilState(requested=GilMode.ON),
        status=Status.FAIL if bad else Status.PASS,
        planned=len(tests) if planned is None else planned,
        tests=tests,
    )
    return {cell: weigh(key, result)}, {cell: result}


def said_of(
    expected: list[Expectation], weighed: dict[str, Weighed], results: dict[str, CellResult]
) -> tuple[str, ...]:
    return remarks(expected, weighed, {cell: surprises(expected, one) for cell, one in results.items()}, TODAY)


@pytest.mark.parametrize(
    ("expires", "valid"),
    [("2026-11-29", False), ("2026-11-30", True), ("2026-12-01", True), ("soon", False), ("", False)],
)
def test_the_expiry_day_is_the_last_valid_one(expires: str, valid: bool) -> None:
    assert is_valid(expect(expires=expires), TODAY) is valid


@pytest.mark.parametrize(
    ("glob", "test", "hit"),
    [
        ("t.py::test_add[8-True]", "t.py::test_add[8-True]", True),
        ("t.py::test_add[8]", "t.py::test_add8", False),
        ("t.py::test_add[*]", "t.py::test_add[a/b]", True),
        ("t.py::*", "t.py::test_b\nc", True),
        ("*::test_?", "d/t.py::test_b", True),
        ("*::test_?", "d/t.py::test_bc", False),
        ("t.py", "t.py::test_b", False),
        ("t.py::T*", "t.py::test", False),
    ],
)
def test_globs_take_brackets_as_they_stand(glob: str, test: str, hit: bool) -> None:
    assert covers(expect(glob), "c", test) is hit
    assert covers(expect(), "c", test) is True
    assert covers(expect(glob), "another", test) is False


def test_a_failure_without_a_failing_test_needs_an_expectation_for_the_whole_cell() -> None:
    weighed, _ = weighed_and_results({"t::a": Outcome.PASSED})
    assert excuses([expect()], "c", weighed["c"], TODAY) is True
    assert excuses([expect("t::a")], "c", weighed["c"], TODAY) is False


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ({"t::a": Outcome.CRASHED}, "no longer excuses 1 failing test."),
        ({"t::a": Outcome.PASSED}, "excused nothing here."),
    ],
)
def test_an_expired_expectation_is_named(outcomes: dict[str, Outcome], said: str) -> None:
    weighed, results = weighed_and_results(outcomes)
    (remark,) = said_of([expect("t::a", expires="2026-11-29")], weighed, results)
    assert remark.startswith("The expectation at m.yml:4 expired on 2026-11-29: it ")
    assert said in remark
    assert remark.endswith("Owner kernels, https://e.com/1: races")


def test_a_date_that_is_none_is_named_too() -> None:
    weighed, results = weighed_and_results({"t::a": Outcome.CRASHED})
    (remark,) = said_of([expect(expires="someday")], weighed, results)
    assert "has no valid expiry date (someday)" in remark


@pytest.mark.parametrize(
    ("globs", "outcomes", "count"),
    [
        ((), {"t::a": Outcome.PASSED}, 1),
        (("t::a",), {"t::a": Outcome.XPASSED, "t::b": Outcome.FAILED}, 1),
        (("t::a", "t::b"), {"t::a": Outcome.PASSED, "t::b": Outcome.PASSED}, 2),
        (("t::*",), {"t::a": Outcome.PASSED, "t::b": Outcome.FAILED}, 0),
        (("t::a",), {"t::a": Outcome.SKIPPED}, 0),
        (("t::gone",), {"t::a": Outcome.PASSED}, 0),
        (("t::*",), {"t::a": Outcome.PASSED, "t::b": Outcome.NOT_RUN}, 0),
    ],
)
def test_an_unexpected_pass_is_reported(globs: tuple[str, ...], outcomes: dict[str, Outcome], count: int) -> None:
    weighed, results = weighed_and_results(outcomes)
    found = said_of([expect(*globs)], weighed, results)
    assert len(found) == count
    assert all(one.startswith("Unexpected pass: ") and "m.yml:4" in one for one in found)


def test_an_incomplete_cell_is_no_unexpected_pass() -> None:
    weighed, results = weighed_and_results({"t::a": Outcome.PASSED}, planned=2)
    assert said_of([expect()], weighed, results) == ()


def test_many_cells_with_one_unexpected_pass_are_one_remark() -> None:
    weighed: dict[str, Weighed] = {}
    results: dict[str, CellResult] = {}
    names = tuple(f"c{number}" for number in range(7))
    for name in names:
        more = weighed_and_results({"t::a": Outcome.PASSED}, cell=name)
        weighed |= more[0]
        results |= more[1]
    (remark,) = said_of([expect(cells=names)], weighed, results)
    assert "all tests passed in c0, c1, c2, c3, c4 and 2 more;" in remark
