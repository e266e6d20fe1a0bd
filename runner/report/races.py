"""The races of all cells as rows: one for each test that failed somewhere, GIL off beside GIL on. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from runner.model.plan import Plan, PlannedCell
from runner.model.race import RacedTest, Races
from runner.model.words import GilMode, Outcome
from runner.report.escape import first_line

NO_RACES: Mapping[str, Races] = MappingProxyType({})
HEADS = ("Test", "Environment", "GIL off", "GIL on", "GIL default", "Errors")
_MODES = (GilMode.OFF, GilMode.ON, GilMode.DEFAULT)
_ERRORS = 3
_REASONS = 6
NOTHING = "—"


@dataclass(frozen=True, slots=True)
class RaceRow:
    """One test in one environment.

    Attributes:
        test: its id.
        environment: id.
        modes: for GIL off, on and default: `failed 55 of 64`, `0 of 64`, why it was not raced, or a dash.
        errors: the kinds of failures with their counts.
    """

    test: str
    environment: str
    modes: tuple[str, str, str]
    errors: str


def race_rows(plan: Plan, races: Mapping[str, Races]) -> tuple[RaceRow, ...]:
    """A row for each test that failed in a race, for each environment in which it was raced, in the plan's order."""
    failing = dict.fromkeys(
        test.id for cell in plan.cells if cell.key.id in races for test in races[cell.key.id].failing
    )
    groups: dict[str, list[PlannedCell]] = {}
    for cell in plan.cells:
        if cell.key.id in races:
            groups.setdefault(cell.environment, []).append(cell)
    return tuple(
        _row(test, environment, {cell.key.gil: races[cell.key.id] for cell in cells})
        for environment, cells in groups.items()
        for test in failing
        if any(test == one.id for cell in cells for one in races[cell.key.id].failing)
    )


def _row(test: str, environment: str, found: Mapping[GilMode, Races]) -> RaceRow:
    errors = Counter[str]()
    for race in found.values():
        for one in race.tests:
            if one.id == test:
                errors.update({f"{error.type}: {first_line(error.message, 120)}": error.count for error in one.errors})
                if one.broken is not None:
                    errors[first_line(one.broken.message, 200)] += 1
                if one.other_errors:
                    errors["others"] += one.other_errors
    said = [f"{count} x {what}" for what, count in errors.most_common(_ERRORS)]
    if len(errors) > _ERRORS:
        said.append(f"{len(errors) - _ERRORS} other kinds")
    off, on, default = (_in_mode(test, found.get(mode)) for mode in _MODES)
    return RaceRow(test, environment, (off, on, default), "; ".join(said))


def _in_mode(test: str, race: Races | None) -> str:
    if race is None:
        return NOTHING
    for one in race.tests:
        if one.id == test:
            return _count(one)
    reasons = (one.reason for one in (*race.left_out, *race.unfinished) if one.id == test)
    return f"not raced: {first_line(next(reasons, 'unknown'), 120)}"


def _count(one: RacedTest) -> str:
    """`failed 55 of 64`; with what ended it, and with the GIL's state where that is not the one that was asked for."""
    if one.broken is not None:
        how = one.broken.signal or one.outcome.value.replace("_", " ")
        return f"{how} in round {one.rounds_done + 1} of {one.rounds}, failed {one.failed} of {one.calls}"
    return f"{'failed ' if one.failed else ''}{one.failed} of {one.calls}"


def race_sentences(races: Mapping[str, Races]) -> Iterator[str]:
    """What was raced and what was not, for all cells together."""
    tests = sum(len(race.tests) for race in races.values())
    failing = sum(len(race.failing) for race in races.values())
    calls = sum(test.calls for race in races.values() for test in race.tests)
    shapes = sorted({(race.threads, race.rounds) for race in races.values()})
    shape = ", ".join(f"{threads} threads, {rounds} round{'' if rounds == 1 else 's'}" for threads, rounds in shapes)
    yield (
        f"{_tests(tests)} raced in {len(races)} cell{'' if len(races) == 1 else 's'} ({shape}; {calls} calls): "
        f"{_tests(failing)} failed."
    )
    for word, kind in (("left out", "left_out"), ("not raced", "unfinished")):
        reasons = Counter(one.reason for race in races.values() for one in getattr(race, kind))
        if reasons:
            shown = [f"{first_line(reason, 120)} ({count})" for reason, count in reasons.most_common(_REASONS)]
            rest = len(reasons) - len(shown)
            more = f", and {rest} other reason{'' if rest == 1 else 's'}" if rest > 0 else ""
            yield f"{_tests(sum(reasons.values()))} {word}: {'; '.join(shown)}{more}."
    passed_all = [race for race in races.values() if any(test.outcome is Outcome.PASSED for test in race.tests)]
    if passed_all and not failing:
        yield "No failure in so many calls is no proof that there is no race."


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
