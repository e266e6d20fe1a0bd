"""From races to findings: like failures of all cells are one candidate for a cause, with its counts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from runner.model.plan import Plan
from runner.model.race import RacedTest, RaceError, Races
from runner.model.verdict import Evidence, Finding
from runner.model.words import Cause, Confidence, Outcome

_CHANGING = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")
_FRAME = re.compile(r"^(?:  File \"([^\"]+)\", line \d+|(\S[^:\n]*\.py):\d+: )", re.MULTILINE)
_EVIDENCE = 12
_NEXT = (
    "One call at a time passes, several at once do not: look at what these calls share, in the frame that the "
    "traceback in races.json ends in. Failures with the GIL on as well are no matter of free threading."
)


def race_findings(plan: Plan, races: Mapping[str, Races]) -> tuple[Finding, ...]:
    """One finding for each kind of failure, the most frequent first.

    A race says that a test which passes in one thread fails in several; whether the test, the project or Triton is at
    fault it does not say, so no finding is more than likely.

    Args:
        plan: the order of cells.
        races: by cell id.
    """
    groups: dict[tuple[str, str], list[tuple[str, RacedTest, RaceError | None]]] = {}
    for cell in plan.cells:
        for test in races[cell.key.id].failing if cell.key.id in races else ():
            for key, error in _kinds(test):
                groups.setdefault(key, []).append((cell.key.id, test, error))
    ordered = sorted(groups.items(), key=lambda group: -sum(test.failed for _, test, _ in group[1]))
    return tuple(_finding(number, key, seen, races) for number, (key, seen) in enumerate(ordered, start=1))


def _kinds(test: RacedTest) -> Iterator[tuple[tuple[str, str], RaceError | None]]:
    if test.broken is not None:
        how = test.broken.signal or test.outcome.value.replace("_", " ")
        yield ("the process", how), None
    for error in test.errors:
        yield (error.type, _CHANGING.sub("#", error.message.split("\n", 1)[0])), error


def _finding(
    number: int, key: tuple[str, str], seen: list[tuple[str, RacedTest, RaceError | None]], races: Mapping[str, Races]
) -> Finding:
    cells = tuple(dict.fromkeys(cell for cell, _, _ in seen))
    tests = tuple(dict.fromkeys(test.id for _, test, _ in seen))
    first_error = seen[0][2]
    what = f"{key[0]}: {first_error.message.splitlines()[0] if first_error.message else ''}" if first_error else key[1]
    evidence = [Evidence(kind="contrast", text=_counts(name, races)) for name in tests[:_EVIDENCE]]
    if first_error and (frame := _innermost(first_error.stack)):
        evidence.append(Evidence(kind="observation", text=f"the traceback ends in {frame}"))
    return Finding(
        id=f"race-{number}",
        cause=Cause.THREAD_SAFETY,
        title=f"{what} when {seen[0][1].threads} threads run a test at once that passes in one",
        cells=cells,
        tests=tests,
        confidence=Confidence.LIKELY,
        evidence=tuple(evidence),
        next_step=_NEXT,
    )


def _counts(test: str, races: Mapping[str, Races]) -> str:
    """`test_a.py::test_a passed in one thread; in several failed 55 of 64 calls in py3.13t-gil-off-triton3.7.0`."""
    said = [
        f"{one.failed} of {one.calls} calls in {cell}"
        for cell, race in races.items()
        for one in race.tests
        if one.id == test and one.outcome is not Outcome.NOT_RUN
    ]
    return f"{test} passed in one thread; in several failed {', '.join(said)}"


def _innermost(stack: str | None) -> str | None:
    frames = _FRAME.findall(stack or "")
    if not frames:
        return None
    path = str(frames[-1][0] or frames[-1][1])
    return path.rpartition("site-packages/")[2]
