from __future__ import annotations

from datetime import date

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.model.cell import CellKey
from runner.model.contrast import Contrast, Contrasts, ControlPart, Count, Side
from runner.model.plan import Expectation
from runner.model.race import RacedTest, RaceError, Races
from runner.model.result import Attempt, GilState
from runner.model.verdict import Finding
from runner.model.words import Cause, Confidence, Factor, GilMode, Outcome, Status, VerdictWord
from runner.verdict.attribution import attribute
from runner.verdict.cell_status import weigh
from runner.verdict.judge import judge
from runner.verdict.races import race_findings
from tests.unit.verdict.building import GOOD, GREEN, part, plan, result

PLAN = plan(gils=(GilMode.ON, GilMode.OFF))
ON, OFF = (cell.key for cell in PLAN.cells)
RESULTS = {key.id: result(PLAN, key.id, {"t.py::test_a": GOOD}, enabled_at_end=key is ON) for key in (ON, OFF)}
STACK = 'Traceback\n  File "/x/site-packages/triton/runtime/autotuner.py", line 7, in run\nTypeError: None'


NARGS = ("TypeError", "'NoneType' object is not a mapping", STACK)
LOST = ("AssertionError", "a use was lost", 'Traceback\n  File "/p/tests/t.py", line 7, in test_a\nAssertionError')


def raced(key: CellKey, failed: int, broken: Attempt | None = None, *, error: tuple[str, str, str] = NARGS) -> Races:
    type_, message, stack = error
    errors = (RaceError(phase="call", type=type_, message=message, count=failed or 1, round=1, stack=stack),)
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


def with_one_thread(races: Races, *control: ControlPart) -> Contrasts:
    """Six runs with eight threads that all fail, beside six with one thread that all pass."""
    root = Observer(built_in(), raced=True).root(races.as_result().tests[0].attempts[0]).id
    made = Contrast(
        cell=races.cell.id,
        root=root,
        tests=("t.py::test_a",),
        factor=Factor.THREADS,
        before=Side(value="8 threads", count=Count(failed=6, total=6), started="t0"),
        after=Side(value="1 thread", count=Count(failed=0, total=6), started="t1"),
    )
    return Contrasts(cell=races.cell.id, contrasts=(made,), control=control)


def text_of(finding: Finding) -> str:
    return "\n".join(one.text for one in finding.evidence)


def test_like_failures_of_two_cells_are_one_finding_that_tells_nothing_before_it_was_looked_into() -> None:
    (found,) = race_findings(PLAN, {ON.id: raced(ON, 50), OFF.id: raced(OFF, 55)})
    assert (found.cause, found.confidence) == (Cause.UNEXPLAINED, Confidence.CANNOT_TELL)
    assert found.cells == (ON.id, OFF.id)
    assert found.title == (
        "TypeError: 'NoneType' object is not a mapping, in triton/runtime/autotuner.py, "
        "when several threads at once run a test that passes in one"
    )
    assert found.evidence[-1].text == (
        f"t.py::test_a passed in one thread; in several failed 50 of 64 calls in {ON.id}, 55 of 64 calls in {OFF.id}"
    )
    assert "gil: off 1 of 1 failed, on 1 of 1 failed; the GIL is ruled out as the cause" in text_of(found)


def test_as_many_calls_from_one_thread_decide_it() -> None:
    races = raced(OFF, 55, error=LOST)
    (found,) = race_findings(PLAN, {OFF.id: races}, [with_one_thread(races)])
    assert (found.cause, found.confidence) == (Cause.THREAD_SAFETY, Confidence.LIKELY)
    assert "threads: 8 threads 6 of 6 failed, 1 thread 0 of 6 failed; the number of threads decides it, proven" in (
        text_of(found)
    )


def test_it_is_the_projects_where_the_control_is_green() -> None:
    races = raced(OFF, 55, error=LOST)
    (found,) = race_findings(PLAN, {OFF.id: races}, [with_one_thread(races, *GREEN)])
    assert (found.cause, found.confidence) == (Cause.PROJECT, Confidence.LIKELY)


def test_it_is_tritons_where_the_control_shows_it() -> None:
    races = raced(OFF, 55)
    shown = part("autotune-from-threads", 6, 6, "autotuner-nargs-none", threads=8, single="autotune")
    (found,) = race_findings(PLAN, {OFF.id: races}, [with_one_thread(races, shown, part("autotune", 0, 6))])
    assert (found.cause, found.confidence) == (Cause.THREAD_SAFETY, Confidence.PROVEN)
    assert "so it is Triton's" in text_of(found)


def test_a_failure_of_the_ordinary_run_with_the_same_root_is_another_finding() -> None:
    races = {OFF.id: raced(OFF, 55)}
    (race,) = race_findings(PLAN, races)
    attempt = races[OFF.id].as_result().tests[0].attempts[0]
    (ordinary,) = attribute(PLAN, [result(PLAN, OFF.id, {"t.py::test_b": attempt})])
    assert race.id == ordinary.id.replace("unexplained-", "unexplained-race-")
    document = with_one_thread(races[OFF.id])
    assert attribute(PLAN, [result(PLAN, OFF.id, {"t.py::test_b": attempt})], [document]) == (ordinary,)


def test_the_side_without_a_failure_is_part_of_the_evidence() -> None:
    (found,) = race_findings(PLAN, {ON.id: raced(ON, 0), OFF.id: raced(OFF, 55)})
    assert found.cells == (OFF.id,)
    assert f"0 of 64 calls in {ON.id}" in text_of(found)
    assert "gil: off 1 of 1 failed, on 0 of 1 failed; a lead, too few attempts to tell" in text_of(found)


def test_no_failure_is_no_finding() -> None:
    assert race_findings(PLAN, {OFF.id: raced(OFF, 0)}) == ()


def test_a_crash_stands_for_what_failed_before_it() -> None:
    crash = Attempt(outcome=Outcome.CRASHED, signal="SIGSEGV")
    (found,) = race_findings(PLAN, {OFF.id: raced(OFF, 3, broken=crash)})
    assert found.title == "The process died (SIGSEGV), when several threads at once run a test that passes in one"


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


def test_a_race_that_does_not_fail_by_itself_is_not_flaky() -> None:
    """The races before it were left out when it was repeated."""
    races = raced(OFF, 55, error=LOST)
    root = race_findings(PLAN, {OFF.id: races})[0].id.split("unexplained-")[1]
    again = Contrast(
        cell=OFF.id,
        root=root,
        tests=("t.py::test_a",),
        factor=Factor.REPEAT,
        before=Side(value="as it was", count=Count(failed=1, total=1), source=f"cell {OFF.id}"),
        after=Side(value="again", count=Count(failed=0, total=20)),
    )
    (found,) = race_findings(PLAN, {OFF.id: races}, [Contrasts(cell=OFF.id, contrasts=(again,))])
    assert (found.cause, found.confidence) == (Cause.UNEXPLAINED, Confidence.CANNOT_TELL)


def test_what_the_text_states_is_not_put_on_the_threads() -> None:
    said = "used more than the memory limit of 1 GiB: it held 1.15 GiB"
    killed = Attempt(outcome=Outcome.CRASHED, signal="SIGKILL", message=said)
    races = raced(OFF, 3, broken=killed)
    (found,) = race_findings(PLAN, {OFF.id: races}, [with_one_thread(races)])
    assert (found.cause, found.confidence) == (Cause.RESOURCE, Confidence.LIKELY)
