"""What one result proves: a cell's status by the evidence in it, not by its own word."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

from runner.model.cell import CellKey, PythonBuild
from runner.model.race import Races
from runner.model.result import CellResult, TestResult, count_outcomes
from runner.model.words import GilMode, Outcome, Status

_IDLE = frozenset({Outcome.SKIPPED, Outcome.NOT_RUN})


@dataclass(frozen=True, slots=True)
class Weighed:
    """One expected cell after its evidence was weighed.

    Attributes:
        status: what the evidence supports; never better than what the result says of itself.
        reason: why it is not a plain pass, or the result's own note on a pass; None else.
        counts: outcomes that occur, with how many tests have each.
        bad: ids of the tests that went wrong.
        complete: every planned test has exactly one outcome that is not `not_run`.
    """

    status: Status
    reason: str | None
    counts: dict[Outcome, int] = field(default_factory=dict)
    bad: tuple[str, ...] = ()
    complete: bool = False


def outcome_of(test: TestResult) -> Outcome:
    """The outcome that the attempts of a test support: a kind word never covers a bad first attempt."""
    if not test.attempts:
        return test.outcome if test.outcome.is_bad else Outcome.NOT_RUN
    first = test.attempts[0].outcome
    return test.outcome if test.outcome.is_bad or not (first.is_bad or first is Outcome.NOT_RUN) else first


def weigh(
    key: CellKey, result: CellResult | None, *, planned_unavailable: str | None = None, races: Races | None = None
) -> Weighed:
    """Decide what a cell's result is worth.

    Args:
        key: the cell as planned.
        result: what arrived, or None when nothing did.
        planned_unavailable: why the plan already knows that the environment cannot be made, or None.
        races: what became of its tests in several threads at once, or None where they were not raced.
    """
    if result is None:
        if planned_unavailable is not None:
            return Weighed(Status.UNAVAILABLE, planned_unavailable)
        return Weighed(Status.NO_RESULT, "nothing of it arrived: the job was lost, cancelled or never started")
    if result.cell.id != key.id:
        return Weighed(Status.NO_RESULT, f"what arrived is the result of another cell, {result.cell.id}")
    outcomes = [(test.id, outcome_of(test)) for test in result.tests]
    bad = tuple(sys.intern(name) for name, outcome in outcomes if outcome.is_bad)  # most cells have the same tests
    counts = count_outcomes(outcome for _, outcome in outcomes)
    finished = {name for name, outcome in outcomes if outcome is not Outcome.NOT_RUN}
    complete = len(finished) == len(outcomes) == result.planned
    status, reason = _decide(key, result, counts, len(finished), complete=complete)
    if races is not None:
        bad = tuple(dict.fromkeys((*bad, *(test.id for test in races.failing))))
        if status is Status.PASS and races.status is not Status.PASS:  # it keeps quiet about them
            status, reason = races.status, races.reason
    return Weighed(status, reason, counts, bad, complete)


def _decide(  # noqa: PLR0911 - one return for each rule
    key: CellKey, result: CellResult, counts: dict[Outcome, int], finished: int, *, complete: bool
) -> tuple[Status, str | None]:
    """The rules, in the order of their force."""
    if result.status is Status.UNAVAILABLE and not result.tests:
        return Status.UNAVAILABLE, result.reason or "the result gives no reason"
    ended_on = _gil_came_on(key, result)
    if ended_on is not None:
        return Status.FAIL, ended_on
    if result.status is Status.INFRA and result.reason and not _may_be_deadlock(key, result, counts):
        return Status.INFRA, result.reason
    other = next(_differences(key, result), None)
    if other is not None:
        return Status.NO_RESULT, other
    missing = "" if complete else _missing(result.planned, len(result.tests), finished)
    wrong = {outcome: count for outcome, count in counts.items() if outcome.is_bad}
    if wrong:
        own = result.reason if result.status is Status.FAIL else None
        each = ", ".join(f"{count} {outcome.value.replace('_', ' ')}" for outcome, count in wrong.items())
        what = own or f"{each} of {_tests(max(result.planned, len(result.tests)))}"
        doubt = (
            "" if result.status in {Status.FAIL, Status.NO_RESULT} else f" (it says {result.status.value} of itself)"
        )
        return Status.FAIL, what + (f"; {missing}" if missing and not own else "") + doubt
    if result.status is Status.FAIL:
        return Status.FAIL, result.reason or "it says so of itself, without a test that went wrong"
    return _without_a_failure(key, result, counts, missing)


def _without_a_failure(  # noqa: PLR0911 - one return for each rule
    key: CellKey, result: CellResult, counts: dict[Outcome, int], missing: str
) -> tuple[Status, str | None]:
    """What a cell is in which no test went wrong: a pass only if it proves to be one."""
    claimed = result.status
    if claimed is Status.NO_RESULT:
        return Status.NO_RESULT, result.reason or missing or "it did not come to an end"
    if claimed is Status.INFRA:
        return Status.NO_RESULT, "it blames the machine and gives no evidence"
    if claimed is Status.UNAVAILABLE:
        return Status.NO_RESULT, f"it says unavailable, yet {_tests(len(result.tests))} came back"
    if not result.tests and not result.planned:
        return Status.NO_RESULT, result.reason or "no test was collected"
    if missing:
        return Status.NO_RESULT, missing
    if set(counts) <= _IDLE:
        why = most_common_skip(result)
        return Status.NO_RESULT, "every test was skipped, so nothing ran" + (f": {why}" if why else "")
    if key.gil is GilMode.OFF and result.gil.enabled_at_end is None:
        return Status.NO_RESULT, "nothing shows that the GIL was off at the end"
    return Status.PASS, result.reason


def most_common_skip(result: CellResult) -> str | None:
    """The first line of the skip reason that most skipped tests give, or None when none gives one."""
    found: dict[str, int] = {}
    for test in result.tests:
        if test.outcome is Outcome.SKIPPED and test.attempts and test.attempts[0].message:
            lines = test.attempts[0].message.removeprefix("Skipped: ").strip().splitlines()
            if lines:
                found[lines[0]] = found.get(lines[0], 0) + 1
    return max(found, key=found.__getitem__) if found else None


def _gil_came_on(key: CellKey, result: CellResult) -> str | None:
    """Why a cell that asked for no GIL did run with one, or None."""
    if key.gil is not GilMode.OFF:
        return None
    seen = next((t.id for t in result.tests for attempt in t.attempts if attempt.gil_enabled is True), None)
    if result.gil.enabled_at_end is not True and seen is None:
        return None
    by = f", switched on by {result.gil.enabled_by}" if result.gil.enabled_by else ""
    where = result.gil.enabled_by_test or seen
    return f"asked for GIL off and ended with the GIL on{by}" + (f" in {where}" if where else "")


def _may_be_deadlock(key: CellKey, result: CellResult, counts: dict[Outcome, int]) -> bool:
    """A deadline on a free-threaded build is evidence about the code; the machine may not take the blame."""
    free_threaded = result.gil.free_threaded_build
    if free_threaded is None:
        free_threaded = key.python.endswith("t")
    return free_threaded and Outcome.TIMED_OUT in counts


def _differences(key: CellKey, result: CellResult) -> Iterator[str]:
    """What the process that ran was and the cell is not."""
    seen = result.environment
    if seen is None:
        return
    try:
        asked = PythonBuild.parse(key.python)
    except ValueError:  # a named environment before it reported itself
        asked = None
    if asked is not None:
        if not f"{seen.python}.".startswith(f"{asked.patch or asked.version}."):
            yield f"it ran on Python {seen.python}, not on {key.python}"
        if result.gil.free_threaded_build not in {None, asked.free_threaded}:
            how = "without" if asked.free_threaded else "with"
            yield f"it ran on a build {how} free threading, not on {key.python}"
    for name, wanted, found in (("Triton", key.triton, seen.triton), ("torch", key.torch, seen.torch)):
        if wanted is not None and found is not None and not _same_release(wanted, found):
            yield f"it ran with {name} {found}, not with {wanted}"


def _same_release(wanted: str, found: str) -> bool:
    """Whether two versions agree, a local label such as `+cu128` aside."""
    try:
        return Version(wanted).public == Version(found).public
    except InvalidVersion:
        return wanted == found


def _missing(planned: int, reported: int, finished: int) -> str:
    """How a result falls short of what was planned."""
    if finished < planned:
        return f"{planned - finished} of {planned} planned tests {_have(planned - finished)} no outcome"
    return f"{_tests(planned)} planned, yet {reported} outcomes came back"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
