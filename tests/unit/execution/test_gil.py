"""The fold over what workers say of the GIL."""

from __future__ import annotations

from runner.execution.gil import GilRecord, follow_tests
from runner.model.result import Attempt, GilState, TestResult
from runner.model.words import GilMode, Outcome


def begun(mode: GilMode = GilMode.DEFAULT) -> GilRecord:
    record = GilRecord(mode)
    record.begin(enabled=False, free_threaded_build=True, first=True)
    return record


def test_the_import_that_switched_it_on_is_kept_with_its_test() -> None:
    record = begun()
    record.switch("first", enabled=True, during="t.py::a")
    record.switch("second", enabled=True, during="t.py::b")
    record.end()
    assert (record.state.enabled_by, record.state.enabled_by_test) == ("first", "t.py::a")
    assert record.state.enabled_at_end is True


def test_an_import_that_was_undone_is_nobodys() -> None:
    record = begun()
    record.switch("first", enabled=True, during="t.py::a")
    record.switch(None, enabled=False, during="t.py::b")
    record.end()
    assert (record.state.enabled_by, record.state.enabled_by_test) == (None, None)
    assert record.state.enabled_at_end is False


def test_a_switch_that_no_import_explains_still_has_its_test() -> None:
    record = begun()
    record.note(False, "t.py::a")
    record.note(True, "t.py::b")
    assert (record.state.enabled_by, record.state.enabled_by_test) == (None, "t.py::b")


def test_one_worker_that_ended_with_it_on_is_enough() -> None:
    record = begun()
    record.switch("module", enabled=True, during="t.py::a")
    record.end()
    record.begin(enabled=False, free_threaded_build=True, first=False)
    record.end()
    assert record.state.enabled_at_end is True
    assert record.state.enabled_at_start is False


def test_each_file_has_the_state_after_its_last_test() -> None:
    def ran(name: str, enabled: bool | None) -> TestResult:
        attempt = Attempt(outcome=Outcome.PASSED, gil_enabled=enabled)
        return TestResult(id=name, outcome=Outcome.PASSED, file=name.split("::", maxsplit=1)[0], attempts=(attempt,))

    tests = [ran("a.py::1", False), ran("b.py::1", False), ran("b.py::2", True), ran("b.py::3", None)]
    state = follow_tests(GilState(requested=GilMode.DEFAULT, free_threaded_build=True), tests)
    assert state.enabled_after_files == {"a.py": False, "b.py": True}
    assert list(state.enabled_after_files) == ["a.py", "b.py"]
    assert state.first_test_enabled == "b.py::2"
    plain = GilState(requested=GilMode.ON, free_threaded_build=False)
    assert follow_tests(plain, tests) == plain
