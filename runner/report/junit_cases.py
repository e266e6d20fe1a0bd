"""The `testcase` elements of junit.xml: one for a test, one for a test that threads raced, one for a cell as such."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from junitparser import Error, Failure, Skipped, TestCase
from junitparser.junitparser import FinalResult

from runner.model.cell import CellKey
from runner.model.race import RacedTest, RaceError, Races
from runner.model.result import Attempt, TestResult
from runner.model.words import Outcome, Status
from runner.report import phrases
from runner.report.escape import block, first_line, line
from runner.verdict.cell_status import Weighed, outcome_of

CELL_CASE = "(cell)"
RACE_CASE = "(race)"
NAME_LIMIT = 1_000
_LONGEST = 1e9
_KINDS: dict[Outcome, tuple[type[FinalResult], str]] = {
    Outcome.FAILED: (Failure, "failed"),
    Outcome.ERROR: (Error, "error"),
    Outcome.CRASHED: (Error, "crashed"),
    Outcome.TIMED_OUT: (Error, "timed_out"),
    Outcome.NOT_RUN: (Error, "not_run"),  # a reader that knows no "not run" must not take it for harmless
    Outcome.SKIPPED: (Skipped, "pytest.skip"),
    Outcome.XFAILED: (Skipped, "pytest.xfail"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One element, the kind of its result (None when it is well), and its seconds."""

    element: TestCase
    kind: type[FinalResult] | None
    seconds: float = 0.0


def test_case(test: TestResult) -> Case:
    """An ordinary test: its outcome is that of the first attempt; further attempts are told in its output."""
    attempt = phrases.telling_attempt(test)
    seconds = _bounded(sum(one.seconds for one in test.attempts))
    case = _element(test.id, seconds)
    outcome = outcome_of(test)
    kind = _KINDS.get(outcome)
    if kind is not None:
        element, type_ = kind
        message = first_line(attempt.message if attempt else None, NAME_LIMIT)
        found = element(message or phrases.attempts_in_words(test), type_)
        text = "\n".join(part for part in (attempt.message, attempt.stack) if part) if attempt else ""
        if text and element is not Skipped:
            found.text = block(text)
        case.append(found)
    if len(test.attempts) > 1 or outcome is Outcome.XPASSED or any(one.output for one in test.attempts):
        case.system_out = "\n".join(_log(number, one) for number, one in enumerate(test.attempts, 1))
    return Case(case, kind[0] if kind else None, seconds)


def race_cases(races: Races) -> Iterator[Case]:
    """Every test that was raced, every one that was to be and was not (an error), every one left out (skipped)."""
    for test in races.tests:
        yield _race_case(test)
    for one in races.unfinished:
        case = _element(one.id, 0.0)
        case.append(Error(first_line(f"not raced: {one.reason}", NAME_LIMIT), "not_run"))
        yield Case(case, Error)
    for one in races.left_out:
        case = _element(one.id, 0.0)
        case.append(Skipped(first_line(f"not raced: {one.reason}", NAME_LIMIT), "not_raced"))
        yield Case(case, Skipped)
    for attempt in races.trouble:
        case = TestCase(RACE_CASE, races.cell.id, _bounded(attempt.seconds))
        found = Error(first_line(attempt.message, NAME_LIMIT) or phrases.attempt_in_words(attempt), "crashed")
        found.text = block("\n".join(part for part in (attempt.message, attempt.stack) if part))
        case.append(found)
        yield Case(case, Error, _bounded(attempt.seconds))


def cell_case(key: CellKey, weighed: Weighed, *, shown: bool) -> Case | None:
    """The case that carries a status which the tests alone do not show, or None.

    Args:
        key: coordinates.
        weighed: the status and its reason.
        shown: some other case of the cell is a failure or an error.
    """
    if weighed.status is Status.PASS or (shown and weighed.status in {Status.FAIL, Status.NO_RESULT}):
        return None
    kinds: dict[Status, type[FinalResult]] = {Status.UNAVAILABLE: Skipped, Status.FAIL: Failure}
    kind = kinds.get(weighed.status, Error)
    case = TestCase(CELL_CASE, key.id, 0.0)
    case.append(kind(line(weighed.reason or phrases.status_word(weighed.status), NAME_LIMIT), weighed.status.value))
    return Case(case, kind)


def _race_case(test: RacedTest) -> Case:
    seconds = _bounded(test.seconds)
    case = _element(test.id, seconds)
    kind = _KINDS.get(test.outcome)
    if kind is not None:
        element, type_ = kind
        said = f"failed {test.failed} of {test.calls} calls ({test.threads} threads, {test.rounds} rounds)"
        if test.outcome is Outcome.NOT_RUN:
            said = f"{test.rounds_done} of {test.rounds} rounds came to their end"
        elif test.outcome is Outcome.SKIPPED:
            said = f"every one of {test.calls} calls was skipped"
        why = test.broken.message if test.broken else test.errors[0].message if test.errors else ""
        found = element(said + (f": {first_line(why)}" if why else ""), type_)
        parts = [*_broken(test.broken), *(_error(one, test.threads * test.rounds) for one in test.errors)]
        if test.other_errors:
            parts.append(f"{test.other_errors} x other errors")
        if parts and element is not Skipped:
            found.text = block("\n\n".join(parts))
        case.append(found)
    return Case(case, kind[0] if kind else None, seconds)


def _broken(attempt: Attempt | None) -> list[str]:
    if attempt is None:
        return []
    return ["\n".join(part for part in (attempt.message, attempt.stack) if part)]


def _error(one: RaceError, calls: int) -> str:
    head = f"{one.count} of {calls} calls, first in round {one.round}: {one.type} in {one.phase}: {one.message}"
    return head + (f"\n{one.stack}" if one.stack else "")


def _log(number: int, one: Attempt) -> str:
    """One attempt in words, with what it printed."""
    said = f"attempt {number}: {phrases.attempt_in_words(one)}, {phrases.duration(one.seconds)}"
    message = first_line(one.message)
    return said + (f": {message}" if message else "") + (f"\n{block(one.output)}" if one.output else "")


def _element(test: str, seconds: float) -> TestCase:
    """An element with the name as pytest's own JUnit gives it, such as `test_add[8]`, and the class that holds it."""
    path, bracket, parameters = test.partition("[")
    *parents, name = path.split("::")
    return TestCase(line(name + bracket + parameters, NAME_LIMIT), _class_name("::".join(parents)), seconds)


@lru_cache(maxsize=4096)  # a file has many tests
def _class_name(parents: str) -> str:
    """`tests.test_ops.TestAdd` for `tests/test_ops.py::TestAdd`; empty for a file that could not be collected."""
    file, *classes = parents.split("::")
    return line(".".join([file.removesuffix(".py").replace("/", "."), *classes]), NAME_LIMIT)


def _bounded(seconds: float) -> float:
    return min(round(seconds, 3), _LONGEST) if math.isfinite(seconds) and seconds > 0 else 0.0
