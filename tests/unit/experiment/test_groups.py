from __future__ import annotations

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.experiment.groups import Group, count_run, groups_of, leads_to_compiler
from runner.model.cell import CellKey
from runner.model.result import Attempt, CellResult, GilState, TestResult
from runner.model.words import GilMode, Outcome, Status

KEY = CellKey(id="py3.13t-gil-off-triton3.7.0", python="3.13t", gil=GilMode.OFF, triton="3.7.0", torch=None)
CRASH = Attempt(
    outcome=Outcome.CRASHED, signal="SIGSEGV", message="the process died of SIGSEGV", phase="collect", pid=7
)
KEY_ERROR = Attempt(outcome=Outcome.FAILED, message="KeyError: 1", stack="KeyError: 1", pid=7)
PASS = Attempt(outcome=Outcome.PASSED, pid=7)


def result(**tests: Attempt) -> CellResult:
    """`a__b` stands for `a.py::b`, `a` for the file `a.py`."""
    found = tuple(
        TestResult(id=_name(name), outcome=attempt.outcome, attempts=(attempt,)) for name, attempt in tests.items()
    )
    return CellResult(
        cell=KEY, gil=GilState(requested=GilMode.OFF), status=Status.FAIL, planned=len(found), tests=found
    )


def _name(name: str) -> str:
    file, _, test = name.partition("__")
    return f"{file}.py::{test}" if test else f"{file}.py"


def groups(of: CellResult) -> tuple[Group, ...]:
    rules = built_in()
    return groups_of(of, Observer(rules).observe(of), rules)


def slow(attempt: Attempt, seconds: float) -> Attempt:
    return attempt.model_copy(update={"seconds": seconds})


def test_the_quickest_test_stands_for_its_root_with_those_before_it() -> None:
    (group,) = groups(result(a__one=PASS, a__slow=slow(KEY_ERROR, 9), a__quick=slow(KEY_ERROR, 1)))
    assert group.test == "a.py::quick"
    assert group.company == ("a.py::one", "a.py::slow")
    assert not group.is_file


def test_tests_of_another_process_are_no_company() -> None:
    elsewhere = PASS.model_copy(update={"pid": 8})
    (group,) = groups(result(a__one=elsewhere, a__two=KEY_ERROR))
    assert group.company == ()


def test_the_root_with_the_most_tests_comes_first() -> None:
    type_error = KEY_ERROR.model_copy(update={"message": "TypeError: no", "stack": "TypeError: no"})
    found = groups(result(a__one=type_error, a__two=KEY_ERROR, a__three=KEY_ERROR))
    assert [group.test for group in found] == ["a.py::three", "a.py::one"]


def count(group: Group, run: CellResult) -> tuple[int, int, int]:
    found, _ = count_run(run, Observer(built_in()), group)
    return found.failed, found.other, found.total


def test_a_run_shows_the_root_or_another_or_passes_or_says_nothing() -> None:
    (group,) = groups(result(a__one=KEY_ERROR))
    other = KEY_ERROR.model_copy(update={"message": "TypeError: no", "stack": "TypeError: no"})
    assert count(group, result(a__one=KEY_ERROR)) == (1, 0, 1)
    assert count(group, result(a__one=other)) == (0, 1, 1)
    assert count(group, result(a__one=PASS)) == (0, 0, 1)
    assert count(group, result(a__one=Attempt(outcome=Outcome.SKIPPED))) == (0, 0, 0)
    assert count(group, result()) == (0, 0, 0)


def test_a_file_that_can_be_collected_again_is_a_pass_of_it() -> None:
    (group,) = groups(result(a=CRASH))
    assert group.is_file
    assert count(group, result(a=CRASH)) == (1, 0, 1)
    assert count(group, result(a__one=PASS, b__two=KEY_ERROR)) == (0, 0, 1)
    assert count(group, result(a__one=KEY_ERROR)) == (0, 1, 1)


def test_what_goes_wrong_outside_of_the_test_is_no_pass_of_it() -> None:
    (group,) = groups(result(a__one=KEY_ERROR))
    assert count(group, result(conftest=CRASH)) == (0, 1, 1)


def test_what_the_compiler_worked_on_is_asked_for_where_a_failure_leads_to_it() -> None:
    site = "/e/lib/python3.13t/site-packages/triton"
    dump = "Fatal Python error: Aborted\n\nCurrent thread 0x00007f3a5c0d1740 (most recent call first):\n"
    below = f'{dump}  File "{site}/backends/nvidia/compiler.py", line 286 in make_llir\n'
    died = Attempt(outcome=Outcome.CRASHED, signal="SIGABRT", stack=below, pid=7)
    refused = KEY_ERROR.model_copy(update={"message": "RuntimeError: PassManager::run failed", "stack": None})
    of = result(a__died=died, b__refused=refused, c__own=KEY_ERROR, d__crashed=CRASH)
    assert {group.test for group in groups(of) if leads_to_compiler(group)} == {"a.py::died", "b.py::refused"}
