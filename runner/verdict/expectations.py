"""Known failures: what they excuse, until when, and what to say when they are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache

from runner.model.plan import Expectation
from runner.model.result import CellResult
from runner.model.words import Outcome
from runner.verdict.cell_status import Weighed, outcome_of

_PASSED = frozenset({Outcome.PASSED, Outcome.XPASSED})
_NAMED_CELLS = 5
Surprise = tuple[int, str]
"""The place of an expectation in the plan, and the glob of it whose tests all passed."""


def is_valid(expectation: Expectation, today: date) -> bool:
    """Whether an expectation still holds; its expiry day is the last on which it does. No date, no excuse."""
    expires = _expiry(expectation)
    return expires is not None and today <= expires


def covers(expectation: Expectation, cell: str, test: str) -> bool:
    """Whether it speaks of this test in this cell.

    `*` and `?` in a glob match any characters; brackets stand for themselves, because node ids are full of them.
    """
    return cell in expectation.cells and _names(expectation, test)


def excuses(expectations: Iterable[Expectation], cell: str, weighed: Weighed, today: date) -> bool:
    """Whether everything that went wrong in a cell is covered by expectations that hold today.

    A cell that failed without a failing test (the GIL came on, say) is covered by one that names no tests.
    """
    valid = [one for one in expectations if cell in one.cells and is_valid(one, today)]
    if not weighed.bad:
        return any(not one.tests for one in valid)
    return all(any(_names(one, test) for one in valid) for test in weighed.bad)


def surprises(expectations: Iterable[Expectation], result: CellResult) -> frozenset[Surprise]:
    """What was expected to fail in a cell and passed there."""
    return frozenset(
        (number, glob)
        for number, one in enumerate(expectations)
        if result.cell.id in one.cells
        for glob in _globs(one)
        if _passed_after_all(glob, result)
    )


def remarks(
    expectations: Iterable[Expectation],
    weighed: Mapping[str, Weighed],
    surprising: Mapping[str, frozenset[Surprise]],
    today: date,
) -> tuple[str, ...]:
    """One sentence for each expectation that expired or whose failure did not happen, in the order of the file.

    Args:
        expectations: all of the plan.
        weighed: every planned cell, by id.
        surprising: the `surprises` of each cell, by id; a cell without a result has none.
        today: the day on which expectations must hold.
    """
    found: list[str] = []
    for number, one in enumerate(expectations):
        if not is_valid(one, today):
            found.append(_expired(one, weighed))
            continue
        for glob in _globs(one):
            cells = [cell for cell in one.cells if (number, glob) in surprising.get(cell, ())]
            if cells:
                found.append(_unexpected(one, glob, cells))
    return tuple(found)


def _globs(one: Expectation) -> tuple[str, ...]:
    return one.tests or ("*",)


def _expired(one: Expectation, weighed: Mapping[str, Weighed]) -> str:
    hits = sum(_names(one, test) for cell in one.cells if cell in weighed for test in weighed[cell].bad)
    expires = _expiry(one)
    when = f"expired on {expires.isoformat()}" if expires else f"has no valid expiry date ({one.expires})"
    what = f"it no longer excuses {hits} failing test{'' if hits == 1 else 's'}" if hits else "it excused nothing here"
    return f"The expectation at {one.source} {when}: {what}. Owner {one.owner}, {one.link}: {one.reason}"


def _unexpected(one: Expectation, glob: str, cells: list[str]) -> str:
    tests = f"tests like {glob}" if one.tests else "all tests"
    more = f" and {len(cells) - _NAMED_CELLS} more" if len(cells) > _NAMED_CELLS else ""
    return (
        f"Unexpected pass: {tests} passed in {', '.join(cells[:_NAMED_CELLS])}{more}; "
        f"narrow or remove the expectation at {one.source}. Owner {one.owner}, {one.link}: {one.reason}"
    )


def _passed_after_all(glob: str, result: CellResult) -> bool:
    """At least one test that the glob names passed, and none went wrong or did not run."""
    outcomes = {outcome_of(test) for test in result.tests if _pattern(glob).fullmatch(test.id)}
    unsure = any(outcome.is_bad or outcome in {Outcome.NOT_RUN, Outcome.XFAILED} for outcome in outcomes)
    return bool(outcomes & _PASSED) and not unsure and result.is_complete


def _names(one: Expectation, test: str) -> bool:
    return not one.tests or any(_pattern(glob).fullmatch(test) for glob in one.tests)


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(character) or re.escape(character) for character in glob), re.DOTALL)


def _expiry(one: Expectation) -> date | None:
    try:
        return date.fromisoformat(one.expires)
    except ValueError:
        return None
