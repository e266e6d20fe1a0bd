from __future__ import annotations

from pathlib import Path

from runner.model.cell import CellKey
from runner.model.race import NotRaced, RacedTest, RaceError, Races
from runner.model.result import Attempt, GilState
from runner.model.words import GilMode, Outcome, Status

KEY = CellKey(id="py3.13t-gil-off", python="3.13t", gil=GilMode.OFF, triton=None, torch=None)
CLEAN = RacedTest(id="a", threads=4, rounds=2, rounds_done=2, passed=8)
ERROR = RaceError(phase="call", type="KeyError", message="3", count=1, round=1)
MIXED = CLEAN.model_copy(update={"id": "b", "passed": 0, "failed": 1, "skipped": 7, "errors": (ERROR,)})
CRASH = Attempt(outcome=Outcome.CRASHED, signal="SIGSEGV", message="died")
CRASHED = CLEAN.model_copy(update={"id": "c", "rounds_done": 1, "passed": 4, "failed": 1, "broken": CRASH})


def races(*tests: RacedTest, unfinished: tuple[NotRaced, ...] = (), trouble: tuple[Attempt, ...] = ()) -> Races:
    gil = GilState(requested=GilMode.OFF)
    return Races(cell=KEY, threads=4, rounds=2, gil=gil, tests=tests, unfinished=unfinished, trouble=trouble)


def test_any_failure_beats_every_skip() -> None:
    skipped = CLEAN.model_copy(update={"passed": 0, "skipped": 8})
    assert [one.outcome for one in (CLEAN, MIXED, CRASHED, skipped)] == [
        Outcome.PASSED,
        Outcome.FAILED,
        Outcome.CRASHED,
        Outcome.SKIPPED,
    ]


def test_status_and_reason_say_how_much_failed() -> None:
    assert (races(CLEAN).status, races(CLEAN).reason) == (Status.PASS, None)
    failing = races(CLEAN, MIXED, CRASHED)
    assert failing.status is Status.FAIL
    assert failing.reason == "races: failed 2 of 16 in 2 of 3 tests, 1 of them crashed"


def test_what_was_not_raced_makes_no_pass() -> None:
    lost = races(CLEAN, unfinished=(NotRaced(id="d", reason="the time of the cell was over"),))
    assert lost.status is Status.NO_RESULT
    assert lost.reason == "races: 1 of 2 tests not raced: the time of the cell was over"


def test_trouble_outside_of_tests_is_a_failure() -> None:
    found = races(CLEAN, trouble=(CRASH,))
    assert (found.status, found.reason) == (Status.FAIL, "races: died")


def test_it_reads_what_it_wrote(tmp_path: Path) -> None:
    found = races(CLEAN, MIXED, CRASHED)
    found.write(tmp_path / "races.json")
    assert Races.read(tmp_path / "races.json") == found
