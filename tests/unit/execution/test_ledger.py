"""The fold over a journal: blame goes to what was running, and to nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from runner.execution.cuts import MOST_CUTS
from runner.execution.ledger import Ledger
from runner.execution.orders import Work, give_orders, next_suspect, next_work
from runner.model.words import GilMode, Outcome

HELLO = {
    "event": "hello",
    "python": "3.12.1",
    "build": "3.12.1 (main)",
    "executable": "python",
    "free_threaded_build": False,
    "gil": True,
}
COLLECTED = {
    "event": "collected",
    "tests": [["t.py::a", "t.py", 1], ["t.py::b", "t.py", 2], ["u.py::c", "u.py", 1]],
    "root": "/",
    "gil": True,
}


def ended(signal: str | None = None, exit_code: int | None = None, phase: str | None = None) -> dict[str, Any]:
    return {
        "event": "ended",
        "signal": signal,
        "exit_code": exit_code,
        "phase": phase,
        "seconds": 1.0,
        "activity_seconds": 0.5,
        "stack": None,
        "output": None,
        "said": "",
    }


def worker(mode: str = "all", numbers: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"event": "worker", "pid": 7, "mode": mode, "numbers": list(numbers)}


def start(number: int) -> dict[str, Any]:
    return {"event": "start", "n": number}


def end(number: int, outcome: str = "passed") -> dict[str, Any]:
    return {"event": "end", "n": number, "gil": True, "attempts": [{"outcome": outcome, "seconds": 0.1}]}


def fold(*events: dict[str, Any]) -> Ledger:
    ledger = Ledger(GilMode.ON)
    for event in events:
        ledger.apply(event)
    return ledger


def test_a_death_in_a_test_is_that_tests() -> None:
    ledger = fold(worker(), HELLO, COLLECTED, start(0), end(0), start(1), ended("SIGSEGV", phase="teardown"))
    attempt = ledger.attempts[1][0]
    assert (attempt.outcome, attempt.signal, attempt.phase) == (Outcome.CRASHED, "SIGSEGV", "teardown")
    assert ledger.remaining() == [2]
    assert next_work(ledger) == Work("rest", (2,))


def test_a_death_in_collection_leaves_the_file_out() -> None:
    ledger = fold(worker(), HELLO, {"event": "collect", "file": "t.py"}, ended("SIGABRT"))
    assert ledger.entries["t.py"][0].outcome is Outcome.CRASHED
    assert next_work(ledger) == Work("all")
    orders = give_orders(Work("all"), ledger, ("-q", "t.py::a", "u.py"), 60, None)
    assert orders.leave_out == ("t.py",)
    assert orders.arguments == ("-q", "u.py"), "pytest would not find t.py::a and stop"


def test_a_death_between_tests_is_the_sessions() -> None:
    ledger = fold(worker(), HELLO, COLLECTED, start(0), end(0), ended("SIGSEGV"))
    assert ledger.session[0].phase == "session"
    assert next_work(ledger) == Work("rest", (1, 2))


def test_what_comes_after_a_deadline_does_not_count() -> None:
    deadline = {"event": "deadline", "limit": "activity", "reason": "too long", "phase": "call"}
    ledger = fold(worker(), HELLO, COLLECTED, start(0), deadline, end(0), start(1), ended("SIGTERM", phase="setup"))
    assert ledger.attempts[0][0].outcome is Outcome.TIMED_OUT
    assert ledger.attempts[0][0].phase == "call"
    assert 1 not in ledger.attempts


def test_workers_that_bring_nothing_end_the_cell() -> None:
    ledger = fold(worker(), HELLO, COLLECTED, ended(exit_code=0))
    assert next_work(ledger) == Work("rest", (0, 1, 2))
    for _ in range(2):
        ledger.apply(worker("rest"))
        ledger.apply(ended(exit_code=0))
    assert next_work(ledger) is None


def test_a_suspect_runs_again_once_and_keeps_its_first_outcome() -> None:
    ledger = fold(worker(), HELLO, COLLECTED, start(0), ended("SIGSEGV", phase="call"))
    assert next_suspect(ledger, 5) == Work("alone", (0,))
    assert next_suspect(ledger, 0) is None
    for event in (worker("alone", (0,)), HELLO, start(0), end(0), ended(exit_code=0)):
        ledger.apply(event)
    assert [attempt.outcome for attempt in ledger.attempts[0]] == [Outcome.CRASHED, Outcome.PASSED]
    assert next_suspect(ledger, 5) is None


@pytest.mark.parametrize("number", [-1, 3, "x", None, 1.5])
def test_numbers_that_no_test_has_are_refused(number: Any) -> None:
    ledger = fold(worker(), HELLO, COLLECTED)
    with pytest.raises(ValueError, match="no test has the number"):
        ledger.apply(start(number))


def test_the_module_that_switched_the_gil_on_is_named_with_its_test() -> None:
    flip = {"event": "gil", "module": "triton._C.libtriton", "gil": True}
    hello = {**HELLO, "free_threaded_build": True, "gil": False}
    ledger = fold(worker(), hello, {**COLLECTED, "gil": False}, start(1), flip, end(1))
    assert ledger.gil.enabled_by == "triton._C.libtriton"
    assert ledger.gil.enabled_by_test == "t.py::b"
    ledger.apply(ended(exit_code=0))
    assert ledger.gil.enabled_at_end is True


def test_of_several_tests_that_may_have_ended_the_supervisor_each_runs_by_itself() -> None:
    """Ends that the supervisor had not read when it died are lost; which test started last is in shared memory."""
    ledger = Ledger(GilMode.ON)
    for _ in range(MOST_CUTS - 1):
        for event in (
            {"event": "worker", "pid": 5, "mode": "all"},
            HELLO,
            COLLECTED,
            {"event": "supervisor", "running": 1},
        ):
            ledger.apply(event)
    assert ledger.attempts == {}
    assert next_work(ledger) == Work("rest", (0,))
    ledger.apply({"event": "worker", "pid": 6, "mode": "rest"})
    ledger.apply({"event": "end", "n": 0, "gil": True, "attempts": [{"outcome": "passed"}]})
    ledger.apply(ended(exit_code=0))
    assert next_work(ledger) == Work("rest", (1,))
    ledger.apply({"event": "worker", "pid": 7, "mode": "rest"})
    ledger.apply({"event": "supervisor", "running": 1})
    assert ledger.attempts[1][0].outcome is Outcome.CRASHED
    assert ledger.attempts[0][0].outcome is Outcome.PASSED
    assert next_work(ledger) == Work("rest", (2,))


def test_a_test_whose_end_was_read_is_not_blamed_for_its_supervisor() -> None:
    ledger = Ledger(GilMode.ON)
    for _ in range(3):
        for event in (
            {"event": "worker", "pid": 5, "mode": "all"},
            HELLO,
            COLLECTED,
            {"event": "start", "n": 0},
            {"event": "end", "n": 0, "gil": True, "attempts": [{"outcome": "passed"}]},
            {"event": "supervisor", "running": 0},
        ):
            ledger.apply(event)
    assert [attempt.outcome for attempt in ledger.attempts[0]] == [Outcome.PASSED]
    assert ledger.remaining() == [1, 2]


def test_a_supervisor_that_died_before_it_read_the_plan_knows_the_test_by_its_number() -> None:
    ledger = Ledger(GilMode.ON)
    for _ in range(MOST_CUTS):
        for event in (
            {"event": "worker", "pid": 5, "mode": "all"},
            {"event": "collect", "file": "t.py"},
            {"event": "supervisor", "running": 0},
        ):
            ledger.apply(event)
    for event in ({"event": "worker", "pid": 6, "mode": "all"}, HELLO, COLLECTED):
        ledger.apply(event)
    assert ledger.remaining() == [1, 2]
    assert ledger.left_out == {}


def test_a_run_that_is_stopped_again_and_again_blames_no_test_for_it() -> None:
    ledger = Ledger(GilMode.ON)
    for _ in range(MOST_CUTS):
        for event in (worker(), HELLO, COLLECTED, start(1), {"event": "interrupted"}, {"event": "supervisor"}):
            ledger.apply(event)
    assert ledger.attempts == {}
    assert next_work(ledger) == Work("rest", (0, 1, 2))
    assert [left.reason for left in ledger.workers] == ["the run was stopped"] * MOST_CUTS
