"""junit.xml: rendered from our own results, so that a crash loses nothing and nothing looks better than it was.

A cell is one suite, named by its id. Where its tests were raced as well, that is a second suite, `<id> (race)`, with
the same tests once more: a reader that knows suites keeps the two apart, and the counts of the first stay those of the
ordinary run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from junitparser import Error, Failure, Skipped, TestSuite

from runner.model.cell import CellKey
from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.result import CellResult
from runner.report.escape import line
from runner.report.gil import gil_in_words
from runner.report.junit_cases import NAME_LIMIT, Case, cell_case, race_cases, test_case
from runner.report.races import NO_RACES
from runner.verdict.cell_status import Weighed, weigh

_DECLARATION = "<?xml version='1.0' encoding='utf-8'?>\n"
_COUNTED = {Failure: "failures", Error: "errors", Skipped: "skipped"}


@dataclass(frozen=True, slots=True)
class Suite:
    """A cell, or its races, as the text of a `testsuite` element.

    Attributes:
        cell: its id.
        text: the element.
        counts: of its cases; `milliseconds` among them.
        has_result: something arrived of the cell.
    """

    cell: str
    text: str
    counts: Counter[str]
    has_result: bool


def render(result: CellResult, races: Races | None = None) -> str:
    """One cell as a `testsuites` document with its suite, and that of its races."""
    return join(_suites(result.cell, result, weigh(result.cell, result, races=races), races))


def render_all(plan: Plan, results: Mapping[str, CellResult], races: Mapping[str, Races] = NO_RACES) -> str:
    """The whole matrix: the suites of every expected cell, in the plan's order.

    A cell whose status no test shows (nothing arrived, unavailable, infra, the GIL came on) gets one more case called
    `(cell)`: skipped when it is unavailable, an error or a failure otherwise.
    """
    return join(suites(plan, results, races))


def suites(plan: Plan, results: Mapping[str, CellResult], races: Mapping[str, Races] = NO_RACES) -> Iterator[Suite]:
    """The suites of every expected cell, as text already: the trees of a large matrix are never in memory together."""
    for cell in plan.cells:
        result, race = results.get(cell.key.id), races.get(cell.key.id)
        unavailable = plan.environment(cell.environment).unavailable
        weighed = weigh(cell.key, result, planned_unavailable=unavailable, races=race)
        yield from _suites(cell.key, result, weighed, race)


def join(found: Iterable[Suite]) -> str:
    """A `testsuites` document of these suites."""
    texts, total = [], Counter[str]()
    for suite in found:
        texts.append(suite.text)
        total.update(suite.counts)
    return "".join(document(total, texts))


def document(total: Counter[str], texts: Iterable[str]) -> Iterator[str]:
    """The parts of a `testsuites` document, one after the other: the counts of its suites together, then their text."""
    said = " ".join(f'{name}="{total[name]}"' for name in ("tests", "failures", "errors", "skipped"))
    root = f'<testsuites name="triton-compat" {said} time="{total["milliseconds"] / 1000}">'
    yield f"{_DECLARATION}{root}\n"
    yield from texts
    yield "</testsuites>\n"


def _suites(key: CellKey, result: CellResult | None, weighed: Weighed, races: Races | None) -> Iterator[Suite]:
    cases = [test_case(test) for test in result.tests] if result else []
    raced = list(race_cases(races)) if races else []
    own = cell_case(key, weighed, shown=any(case.kind in {Error, Failure} for case in (*cases, *raced)))
    stamp = _timestamp(result.started) if result else None
    there = result is not None
    yield _suite(key.id, key.id, _properties(key, result, weighed), [*cases, *([own] if own else [])], stamp, there)
    if races is not None:
        yield _suite(key.id, f"{key.id} (race)", _race_properties(races), raced, stamp, there)


def _suite(
    cell: str,
    name: str,
    properties: Iterable[tuple[str, str]],
    cases: Sequence[Case],
    stamp: str | None,
    has_result: bool,
) -> Suite:
    suite = TestSuite(name)
    for title, value in properties:
        suite.add_property(title, line(value, NAME_LIMIT))
    counts = Counter({"tests": 0, "failures": 0, "errors": 0, "skipped": 0})
    for case in cases:
        suite.append(case.element)
        counts["tests"] += 1
        if case.kind is not None:
            counts[_COUNTED[case.kind]] += 1
    counts["milliseconds"] = round(1000 * sum(case.seconds for case in cases))
    suite.tests, suite.failures, suite.errors, suite.skipped = (
        counts[count] for count in ("tests", "failures", "errors", "skipped")
    )
    suite.time = counts["milliseconds"] / 1000
    if stamp is not None:
        suite.timestamp = stamp
    return Suite(cell, suite.tostring().decode().removeprefix(_DECLARATION) + "\n", counts, has_result)


def _properties(key: CellKey, result: CellResult | None, weighed: Weighed) -> Iterable[tuple[str, str]]:
    yield "status", weighed.status.value
    if weighed.reason:
        yield "reason", weighed.reason
    yield "python", key.python
    yield "gil", key.gil.value
    yield from ((name, value) for name, value in (("triton", key.triton), ("torch", key.torch)) if value)
    if result is not None and result.environment is not None:
        yield "observed.python", result.environment.build or result.environment.python
        yield "observed.gil", gil_in_words(result.gil)
        yield "observed.triton", result.environment.triton or "none"
        yield "observed.torch", result.environment.torch or "none"


def _race_properties(races: Races) -> Iterable[tuple[str, str]]:
    yield "status", races.status.value
    if races.reason:
        yield "reason", races.reason
    yield "threads", str(races.threads)
    yield "rounds", str(races.rounds)
    yield "observed.gil", gil_in_words(races.gil)


def _timestamp(started: str) -> str | None:
    """ISO 8601 without an offset, in UTC, as the common schemas want it."""
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return None
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") if moment.tzinfo else None
