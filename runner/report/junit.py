"""junit.xml: rendered from our own results, so that a crash loses nothing and nothing looks better than it was."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from junitparser import Error, Failure, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from runner.model.cell import CellKey
from runner.model.plan import Plan
from runner.model.result import Attempt, CellResult, TestResult
from runner.model.words import Outcome, Status
from runner.report import phrases
from runner.report.escape import block, first_line, line
from runner.report.gil import gil_in_words
from runner.verdict.cell_status import Weighed, outcome_of, weigh

CELL_CASE = "(cell)"
_NAME_LIMIT = 1_000
_LONGEST = 1e9
_DECLARATION = "<?xml version='1.0' encoding='utf-8'?>\n"
_RESULTS: dict[Outcome, tuple[type[FinalResult], str]] = {
    Outcome.FAILED: (Failure, "failed"),
    Outcome.ERROR: (Error, "error"),
    Outcome.CRASHED: (Error, "crashed"),
    Outcome.TIMED_OUT: (Error, "timed_out"),
    Outcome.NOT_RUN: (Error, "not_run"),  # a reader that knows no "not run" must not take it for harmless
    Outcome.SKIPPED: (Skipped, "pytest.skip"),
    Outcome.XFAILED: (Skipped, "pytest.xfail"),
}


@dataclass(frozen=True, slots=True)
class Suite:
    """One cell as the text of its `testsuite` element, with its counts (`milliseconds` among them)."""

    cell: str
    text: str
    counts: Counter[str]


def render(result: CellResult) -> str:
    """One cell as a `testsuites` document with one suite, named by the cell's id."""
    return join([_suite(result.cell, result, weigh(result.cell, result))])


def render_all(plan: Plan, results: Mapping[str, CellResult]) -> str:
    """The whole matrix: one suite for every expected cell, in the plan's order.

    A cell whose status no test shows (nothing arrived, unavailable, infra, the GIL came on) gets one more case called
    `(cell)`: skipped when it is unavailable, an error or a failure otherwise.
    """
    return join(suites(plan, results))


def suites(plan: Plan, results: Mapping[str, CellResult]) -> Iterator[Suite]:
    """The suite of every expected cell, as text already: the trees of a large matrix are never in memory together."""
    for cell in plan.cells:
        result = results.get(cell.key.id)
        unavailable = plan.environment(cell.environment).unavailable
        yield _suite(cell.key, result, weigh(cell.key, result, planned_unavailable=unavailable))


def join(found: Iterable[Suite]) -> str:
    """A `testsuites` document of these suites."""
    texts, total = [], Counter[str]()
    for suite in found:
        texts.append(suite.text)
        total.update(suite.counts)
    said = " ".join(f'{name}="{total[name]}"' for name in ("tests", "failures", "errors", "skipped"))
    root = f'<testsuites name="triton-compat" {said} time="{total["milliseconds"] / 1000}">'
    return f"{_DECLARATION}{root}\n{''.join(texts)}</testsuites>\n"


def _suite(key: CellKey, result: CellResult | None, weighed: Weighed) -> Suite:
    suite = TestSuite(key.id)
    for name, value in _properties(key, result, weighed):
        suite.add_property(name, line(value, _NAME_LIMIT))
    cases = [_case(test) for test in result.tests] if result else []
    seconds = sum(_seconds(test) for test in result.tests) if result else 0.0
    counts = Counter({"tests": 0, "failures": 0, "errors": 0, "skipped": 0, "milliseconds": round(1000 * seconds)})
    cell_case = _cell_case(key, weighed, [kind for _, kind in cases])
    for case, kind in [*cases, *([cell_case] if cell_case else [])]:
        suite.append(case)
        counts["tests"] += 1
        if kind is not None:
            counts[{Failure: "failures", Error: "errors", Skipped: "skipped"}[kind]] += 1
    suite.tests, suite.failures, suite.errors, suite.skipped = (
        counts[name] for name in ("tests", "failures", "errors", "skipped")
    )
    suite.time = counts["milliseconds"] / 1000
    stamp = _timestamp(result.started) if result else None
    if stamp is not None:
        suite.timestamp = stamp
    return Suite(key.id, suite.tostring().decode().removeprefix(_DECLARATION) + "\n", counts)


def _properties(key: CellKey, result: CellResult | None, weighed: Weighed) -> Iterable[tuple[str, str]]:
    yield "status", weighed.status.value
    if weighed.reason:
        yield "reason", weighed.reason
    yield "python", key.python
    yield "gil", key.gil.value
    yield from ((name, value) for name, value in (("triton", key.triton), ("torch", key.torch)) if value)
    if result is not None and result.environment is not None:
        yield "observed.python", result.environment.build or result.environment.python
        yield "observed.gil", gil_in_words(result)
        yield "observed.triton", result.environment.triton or "none"
        yield "observed.torch", result.environment.torch or "none"


def _cell_case(
    key: CellKey, weighed: Weighed, kinds: list[type[FinalResult] | None]
) -> tuple[TestCase, type[FinalResult]] | None:
    """The case that carries a status which the tests alone do not show, or None."""
    kind: type[FinalResult]
    if weighed.status is Status.UNAVAILABLE:
        kind = Skipped
    elif weighed.status is Status.FAIL:
        kind = Failure
    else:
        kind = Error
    shown = Error in kinds or Failure in kinds
    if weighed.status is Status.PASS or (shown and weighed.status in {Status.FAIL, Status.NO_RESULT}):
        return None
    case = TestCase(CELL_CASE, key.id, 0.0)
    case.append(kind(line(weighed.reason or phrases.status_word(weighed.status), _NAME_LIMIT), weighed.status.value))
    return case, kind


def _case(test: TestResult) -> tuple[TestCase, type[FinalResult] | None]:
    name, classname = _names(test)
    attempt = phrases.telling_attempt(test)
    case = TestCase(line(name, _NAME_LIMIT), _class_name(classname), _seconds(test))
    outcome = outcome_of(test)
    kind = _RESULTS.get(outcome)
    if kind is not None:
        element, type_ = kind
        message = first_line(attempt.message if attempt else None, _NAME_LIMIT)
        found = element(message or phrases.attempts_in_words(test), type_)
        text = "\n".join(part for part in (attempt.message, attempt.stack) if part) if attempt else ""
        if text and element is not Skipped:
            found.text = block(text)
        case.append(found)
    if len(test.attempts) > 1 or outcome is Outcome.XPASSED or any(one.output for one in test.attempts):
        case.system_out = "\n".join(_log(number, one) for number, one in enumerate(test.attempts, 1))
    return case, kind[0] if kind else None


def _log(number: int, one: Attempt) -> str:
    """One attempt in words, with what it printed."""
    said = f"attempt {number}: {phrases.attempt_in_words(one)}, {phrases.duration(one.seconds)}"
    message = first_line(one.message)
    return said + (f": {message}" if message else "") + (f"\n{block(one.output)}" if one.output else "")


def _names(test: TestResult) -> tuple[str, str]:
    """The name as pytest's own JUnit gives it, such as `test_add[8]`, and the id of what holds the test."""
    path, bracket, parameters = test.id.partition("[")
    *parents, name = path.split("::")
    if not parents:  # a file that could not be collected
        return name + bracket + parameters, ""
    return name + bracket + parameters, "::".join(parents)


@lru_cache(maxsize=4096)  # a file has many tests
def _class_name(parents: str) -> str:
    """`tests.test_ops.TestAdd` for `tests/test_ops.py::TestAdd`."""
    file, *classes = parents.split("::")
    return line(".".join([file.removesuffix(".py").replace("/", "."), *classes]), _NAME_LIMIT)


def _seconds(test: TestResult) -> float:
    total = sum(one.seconds for one in test.attempts)
    return min(round(total, 3), _LONGEST) if math.isfinite(total) and total > 0 else 0.0


def _timestamp(started: str) -> str | None:
    """ISO 8601 without an offset, in UTC, as the common schemas want it."""
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return None
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") if moment.tzinfo else None
