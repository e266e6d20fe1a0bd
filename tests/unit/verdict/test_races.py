from __future__ import annotations

from datetime import date

from runner.model.cell import CellKey
from runner.model.plan import Expectation
from runner.model.race import RacedTest, RaceError, Races
from runner.model.result import Attempt, GilState
from runner.model.words import Cause, Confidence, GilMode, Outcome, Status, VerdictWord
from runner.verdict.cell_status import weigh
from runner.verdict.judge import judge
from runner.verdict.races import race_findings
from tests.unit.verdict.building import GOOD, plan, result

PLAN = plan(gils=(GilMode.ON, GilMode.OFF))
ON, OFF = (cell.key for cell in PLAN.cells)
RESULTS = {key.id: result(PLAN, key.id, {"t.py::test_a": GOOD}, enabled_at_end=key is ON) for key in (ON, OFF)}
STACK = 'Traceback\n  File "/x/site-packages/triton/runtime/autotuner.py", line 7, in run\nTypeError: None'


def raced(key: CellKey, failed: int, broken: Attempt | None = None) -> Races:
    message = "'NoneType' object is not a mapping"
    errors = (RaceError(phase="call", type="TypeError", message=message, count=failed or 1, round=1, stack=STACK),)
    test = RacedTest(
        id="t.py::test_a",
        threads=8,
        rounds=8,
        rounds_done=8,
        passed=64 - failed,
        failed=failed,
        errors=errors if failed else (),
        broken=broken,
    )
    gil = GilState(requested=key.gil)
    return Races(cell=key, threads=8, rounds=8, gil=gil, tests=(test,))


def test_like_failures_of_two_cells_are_one_candidate_that_is_no_more_than_likely() -> None:
    (found,) = race_findings(PLAN, {ON.id: raced(ON, 50), OFF.id: raced(OFF, 55)})
    assert (found.cause, found.confidence) == (Cause.THREAD_SAFETY, Confidence.LIKELY)
    assert found.cells == (ON.id, OFF.id)
    assert found.title == (
        "TypeError: 'NoneType' object is not a mapping when 8 threads run a test at once that passes in one"
    )
    assert found.evidence[0].text == (
        f"t.py::test_a passed in one thread; in several failed 50 of 64 calls in {ON.id}, 55 of 64 calls in {OFF.id}"
    )
    assert found.evidence[1].text == "the traceback ends in triton/runtime/autotuner.py"


def test_the_side_without_a_failure_is_part_of_the_evidence() -> None:
    (found,) = race_findings(PLAN, {ON.id: raced(ON, 0), OFF.id: raced(OFF, 55)})
    assert found.cells == (OFF.id,)
    assert f"0 of 64 calls in {ON.id}" in found.evidence[0].text


def test_no_failure_is_no_finding() -> None:
    assert race_findings(PLAN, {OFF.id: raced(OFF, 0)}) == ()


def test_a_crash_is_a_finding_of_its_own() -> None:
    crash = Attempt(outcome=Outcome.CRASHED, signal="SIGSEGV")
    (found,) = race_findings(PLAN, {OFF.id: raced(OFF, 0, broken=crash)})
    assert found.title.startswith("SIGSEGV when 8 threads")


def test_a_result_that_keeps_quiet_about_its_races_is_no_pass() -> None:
    races = raced(OFF, 3)
    weighed = weigh(OFF, RESULTS[OFF.id], races=races)
    assert (weighed.status, weighed.reason, weighed.bad) == (Status.FAIL, races.reason, ("t.py::test_a",))
    assert weigh(OFF, RESULTS[OFF.id], races=raced(OFF, 0)).status is Status.PASS


def test_an_expectation_can_name_a_test_that_fails_in_a_race() -> None:
    known = Expectation(
        cells=(OFF.id,),
        tests=("*::test_a",),
        reason="known",
        owner="me",
        link="https://example.org/1",
        expires="2027-01-01",
        source="m.yml:1",
    )
    races = {OFF.id: raced(OFF, 3)}
    today = date(2026, 12, 1)
    assert judge(PLAN, RESULTS, today=today, races=races).verdict is VerdictWord.FAIL
    excused = judge(PLAN.model_copy(update={"expectations": (known,)}), RESULTS, today=today, races=races)
    assert excused.verdict is VerdictWord.PASS
    assert [cell.expected for cell in excused.cells] == [False, True]
