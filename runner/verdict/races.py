"""From races to findings: what fails where several threads run one test at once has roots and contrasts of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.evidence.signatures import Rules
from runner.model.contrast import Contrasts
from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.verdict import Evidence, Finding
from runner.model.words import Outcome
from runner.verdict.attribution import findings_of

_TOLD = 12
"""Tests of which the calls are counted in a finding."""


def race_findings(
    plan: Plan, races: Mapping[str, Races], contrasts: Iterable[Contrasts] = (), rules: Rules | None = None
) -> tuple[Finding, ...]:
    """The findings of the race stage, by the same table as all others, blockers first.

    All threads and rounds of a run are one attempt: calls in one process share its fate.

    Args:
        plan: what was run.
        races: by cell id.
        contrasts: what experiments found out, of any of the cells.
        rules: signatures; the shipped ones when None.
    """
    rules = rules or built_in()
    observer = Observer(rules, raced=True)
    seen = {cell: observer.observe(one.as_result()) for cell, one in races.items()}
    # What a cache as found does was looked at without threads.
    about_races = [one.model_copy(update={"found": ()}) for one in contrasts]
    return tuple(_with_calls(finding, races) for finding in findings_of(seen, plan, about_races, rules))


def _with_calls(finding: Finding, races: Mapping[str, Races]) -> Finding:
    said = tuple(Evidence(kind="count", text=_calls(test, races)) for test in finding.tests[:_TOLD])
    return finding.model_copy(update={"evidence": (*finding.evidence, *said)})


def _calls(test: str, races: Mapping[str, Races]) -> str:
    """`t.py::test_a passed in one thread; in several failed 55 of 64 calls in py3.13t-gil-off-triton3.7.0`."""
    said = [
        f"{one.failed} of {one.calls} calls in {cell}"
        for cell, race in races.items()
        for one in race.tests
        if one.id == test and one.outcome is not Outcome.NOT_RUN
    ]
    return f"{test} passed in one thread; in several failed {', '.join(said)}"
