"""What a comment says about its baseline: which it is, how old, and what changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.github.address import link
from runner.github.room import Part
from runner.model.baseline import Origin
from runner.model.changes import ChangedTest, Changes
from runner.model.words import Change
from runner.report.escape import code, prose
from runner.verdict.baseline import cells_in_words, counts_in_words

_SYMBOLS = {Change.REGRESSED: "❌", Change.FLAKY: "⚠️", Change.GONE: "⚠️", Change.FIXED: "✅"}
_SHOWN = 8
"""Rows; the others are folded, so that the table is not pushed off the first screen."""
_CELLS = 3


@dataclass(frozen=True)
class Compared:
    """What the verdict was compared with.

    Attributes:
        origin: of the baseline.
        url: the page of its commit; empty for none.
        age: in words.
    """

    origin: Origin
    url: str
    age: str


def age_in_words(made: datetime, now: datetime) -> str:
    """`less than an hour`, `5 hours`, `2 days`; whole units, rounded down."""
    passed = now - made
    if passed < timedelta(hours=1):  # or negative: two clocks
        return "less than an hour"
    if passed < timedelta(days=1):
        return _counted(passed // timedelta(hours=1), "hour")
    return _counted(passed.days, "day")


def compared_in_words(compared: Compared | None) -> str:
    """``[`1a2b3c4`](...) on main, 2 days old``; `none` without a baseline."""
    if compared is None:
        return "none"
    place, commit = prose(compared.origin.place), compared.origin.commit
    where = f"{link(code(commit[:7]), compared.url)} on {place}" if commit else f"the folder {place}"
    return f"{where}, {compared.age} old"


def changes_part(changes: Changes, jobs: Mapping[str, str]) -> Part:
    """What changed since the baseline: the counts in a sentence, then the tests, what needs a look first.

    Args:
        changes: as judged.
        jobs: pages of the jobs that ran the cells, by cell id.
    """
    if not changes.cells:
        return Part("changes", "**Since the baseline**: it has none of these cells, so nothing can be compared.")
    where = f"test by test in {_counted(changes.cells, 'cell')}"
    is_same = set(changes.counts) <= {Change.SAME, Change.CANNOT_TELL}
    said = (
        f"nothing changed ({counts_in_words(changes)}, {where})" if is_same else f"{counts_in_words(changes)} ({where})"
    )
    head = " ".join([f"**Since the baseline**: {said}.", *(prose(line, 600) for line in cells_in_words(changes))])
    rows = list(_rows(changes, jobs))
    if len(rows) > _SHOWN + 1:
        rest = len(changes.named) + sum(changes.unnamed.values()) - _SHOWN
        folded = ["", "<details>", f"<summary>{_counted(rest, 'more test')}</summary>", "", *rows[_SHOWN:]]
        rows = [*rows[:_SHOWN], "\n".join([*folded, "", "</details>"])]
    return Part("changes", head + ("\n" if rows else ""), tuple(rows), rank=1)


def _rows(changes: Changes, jobs: Mapping[str, str]) -> Iterator[str]:
    for kind, symbol in _SYMBOLS.items():
        for test in changes.named:
            if test.change is kind:
                yield f"- {symbol} {kind.value}: {code(test.test)} in {_places(test, jobs)}"
        if more := changes.unnamed.get(kind):
            yield f"- {symbol} {kind.value}: {_counted(more, 'more test')}"


def _places(test: ChangedTest, jobs: Mapping[str, str]) -> str:
    names = [link(code(cell), jobs.get(cell, "")) for cell in test.cells[:_CELLS]]
    rest = len(test.cells) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest > 0 else "")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
