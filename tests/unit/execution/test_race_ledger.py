from __future__ import annotations

from typing import Any

import pytest

from runner.execution.cuts import MOST_CUTS
from runner.execution.known import Planned
from runner.execution.orders import next_work
from runner.execution.race_ledger import RaceLedger
from runner.model.plan import Race
from runner.model.words import GilMode, Outcome

BOARD = {"round": 3, "threads": 4, "passed": 7, "failed": 1, "skipped": 0, "unfinished": [[2, "0x00007f0000000001"]]}
ENDED: dict[str, Any] = {
    "event": "ended",
    "pid": 7,
    "signal": None,
    "exit_code": 0,
    "phase": "call",
    "race": None,
    "seconds": 1.0,
    "activity_seconds": 0.5,
    "stack": None,
    "output": None,
    "said": "",
}


@pytest.fixture
def ledger() -> RaceLedger:
    """Three tests, of which the first and the last are to be raced, and a worker that has collected them."""
    planned = [Planned(f"test_a.py::test_{n}", "test_a.py", n) for n in range(3)]
    found = RaceLedger(GilMode.OFF, None, Race(threads=4, rounds=5), planned, {0: 0.25, 2: 2.0})
    begin(found)
    return found


def begin(ledger: RaceLedger) -> None:
    ledger.apply({"event": "supervisor"})
    ledger.apply({"event": "worker", "pid": 7, "mode": "race", "numbers": [0]})
    ledger.apply(
        {
            "event": "hello",
            "gil": False,
            "free_threaded_build": True,
            "python": "3.13.5",
            "build": "b",
            "executable": "x",
        }
    )
    ledger.apply({"event": "selected", "missing": []})


def told(name: str, number: int, rounds: int, **more: Any) -> dict[str, Any]:
    counts = {"passed": 4 * rounds, "failed": 0, "skipped": 0, "errors": [], "other_errors": 0}
    return {"event": name, "n": number, "rounds": rounds, "gil": False, **counts, **more}


def test_only_what_is_eligible_is_raced_once(ledger: RaceLedger) -> None:
    assert ledger.remaining() == [0, 2]
    ledger.apply({"event": "race_start", "n": 0})
    ledger.apply(told("race_end", 0, 5, seconds=1.5))
    ledger.apply({"event": "unfit", "n": 2, "reason": "it uses capsys"})
    assert ledger.remaining() == []
    assert next_work(ledger) is None
    assert ledger.raced[0].outcome is Outcome.PASSED
    assert (ledger.raced[0].passed, ledger.raced[0].seconds, ledger.raced[0].gil_enabled) == (20, 1.5, False)
    assert ledger.unfit == {2: "it uses capsys"}


def test_each_round_has_a_deadline_that_lets_the_threads_take_turns(ledger: RaceLedger) -> None:
    ledger.apply({"event": "race_start", "n": 2})
    first = ledger.activity
    ledger.apply(told("race_round", 2, 3))
    assert (first.round, ledger.activity.round) == (1, 4)
    assert first.allowance == pytest.approx(4 * 2.0 + 0.5)


def test_a_crash_keeps_the_rounds_before_and_names_the_thread(ledger: RaceLedger) -> None:
    ledger.apply({"event": "race_start", "n": 0})
    ledger.apply(told("race_round", 0, 1))
    stack = "Fatal Python error\n\nCurrent thread 0x00007f0000000001 (most recent call first):\n  File"
    ledger.apply({**ENDED, "signal": "SIGSEGV", "exit_code": None, "race": BOARD, "stack": stack})
    test = ledger.raced[0]
    assert test.broken is not None
    assert (test.rounds_done, test.passed, test.failed) == (2, 7, 2)
    assert test.broken.message == (
        "the process died of SIGSEGV in the call of this test, in round 3 of 5; "
        "thread 2 of 4 had not finished; it happened in thread 2"
    )
    assert "Current thread 0x00007f0000000001 (race thread 2) (most" in (test.broken.stack or "")
    assert ledger.remaining() == [2]


def test_threads_that_hang_are_counted_as_the_deadline_found_them(ledger: RaceLedger) -> None:
    ledger.apply({"event": "race_start", "n": 0})
    board = {**BOARD, "unfinished": [[1, "0x01"], [4, "0x02"]]}
    words = {"limit": "activity", "reason": "a round of this race took longer than 3 s", "phase": "call"}
    ledger.apply({"event": "deadline", **words, "race": board})
    ledger.apply(told("race_end", 0, 5, seconds=9.0))  # woken by the signal for the stacks: too late
    ledger.apply({**ENDED, "signal": "SIGTERM", "exit_code": None, "race": {**BOARD, "unfinished": []}})
    test = ledger.raced[0]
    assert test.outcome is Outcome.TIMED_OUT
    assert (test.passed, test.failed) == (7, 3)
    assert "; threads 1, 4 of 4 had not finished" in (test.broken.message or "" if test.broken else "")


def test_a_race_that_lost_its_supervisor_runs_again_until_it_seems_to_be_what_ends_it(ledger: RaceLedger) -> None:
    for _ in range(MOST_CUTS):
        assert ledger.remaining() == [0, 2]
        ledger.apply({"event": "race_start", "n": 0})
        begin(ledger)
    assert ledger.remaining() == [2]
    assert ledger.raced[0].outcome is Outcome.CRASHED


def test_what_a_test_writes_into_the_channel_is_no_race(ledger: RaceLedger) -> None:
    for event in (
        told("race_end", 0, 5, seconds=1.0),
        told("race_round", 2, 1),
        {"event": "race_start", "n": 9},
        {"event": "unfit", "n": "0", "reason": "x"},
    ):
        with pytest.raises(ValueError, match=r"no such race|no test has"):
            ledger.apply(event)
    assert ledger.remaining() == [0, 2]


def test_two_workers_that_bring_nothing_are_the_last(ledger: RaceLedger) -> None:
    ledger.apply({**ENDED, "exit_code": 3})
    begin(ledger)
    ledger.apply({**ENDED, "exit_code": 3})
    assert next_work(ledger) is None
    assert ledger.remaining() == [0, 2]
