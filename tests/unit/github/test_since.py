"""What a comment says of its baseline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runner.github.since import Compared, age_in_words, changes_part, compared_in_words
from runner.model.baseline import Origin
from runner.model.changes import ChangedTest, Changes
from runner.model.words import Change

NOW = datetime(2026, 1, 3, 12, tzinfo=UTC)
COMMIT = "1a2b3c4" + "0" * 33


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (timedelta(minutes=-5), "less than an hour"),
        (timedelta(minutes=59), "less than an hour"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(hours=23, minutes=59), "23 hours"),
        (timedelta(days=1), "1 day"),
        (timedelta(days=2, hours=20), "2 days"),
        (timedelta(days=90), "90 days"),
    ],
)
def test_ages(passed: timedelta, words: str) -> None:
    assert age_in_words(NOW - passed, NOW) == words


def test_which_baseline_it_is() -> None:
    origin = Origin(place="main", commit=COMMIT, run=7, made=NOW)
    url = "https://github.example/octo/kernels/commit/1a2b3c4"
    assert compared_in_words(Compared(origin, url, "2 days")) == f"[`1a2b3c4`]({url}) on main, 2 days old"
    assert compared_in_words(None) == "none"
    folder = Compared(Origin(place="before", made=NOW), "", "1 hour")
    assert compared_in_words(folder) == "the folder before, 1 hour old"


def text(changes: Changes) -> str:
    part = changes_part(changes, {"c0": "https://github.example/job/1"})
    return part.shown(len(part.items))


def changed(count: int, change: Change = Change.REGRESSED, cells: int = 1) -> tuple[ChangedTest, ...]:
    where = tuple(f"c{number}" for number in range(cells))
    return tuple(ChangedTest(test=f"t{number}", change=change, cells=where) for number in range(count))


def test_what_needs_a_look_stands_first() -> None:
    named = (*changed(1, Change.FIXED), *changed(1, Change.GONE), *changed(1, Change.FLAKY), *changed(1, cells=5))
    counts = {Change.REGRESSED: 5, Change.FIXED: 1, Change.FLAKY: 1, Change.NEW: 2, Change.GONE: 1}
    changes = Changes(made="x", cells=5, counts=counts, named=named, new_cells=("n",))
    c0 = "[`c0`](https://github.example/job/1)"
    assert text(changes) == (
        "**Since the baseline**: 5 regressed, 1 fixed, 1 flaky, 2 new, 1 gone (test by test in 5 cells). "
        "The baseline lacks 1 cell: n.\n\n"
        f"- ❌ regressed: `t0` in {c0}, `c1`, `c2` and 2 more\n"
        f"- ⚠️ flaky: `t0` in {c0}\n"
        f"- ⚠️ gone: `t0` in {c0}\n"
        f"- ✅ fixed: `t0` in {c0}"
    )


def test_nothing_changed_and_nothing_in_common_are_said() -> None:
    changes = Changes(made="x", cells=1, counts={Change.SAME: 5, Change.CANNOT_TELL: 1})
    assert text(changes) == ("**Since the baseline**: nothing changed (5 same, 1 cannot tell, test by test in 1 cell).")
    assert "none of these cells" in text(Changes(made="x", cells=0, new_cells=("n",)))


@pytest.mark.parametrize(("count", "folded"), [(9, 0), (10, 2), (20, 12)])
def test_many_changes_are_folded(count: int, folded: int) -> None:
    shown = text(Changes(made="x", cells=1, counts={Change.REGRESSED: count}, named=changed(count)))
    assert shown.count("- ❌ regressed: ") == count
    below = shown.partition("<details>")[2]
    assert below.count("- ❌ regressed: ") == folded
    assert (f"<summary>{folded} more tests</summary>" in below) == bool(folded)


def test_more_than_are_named_are_counted() -> None:
    changes = Changes(made="x", cells=1, named=changed(1), unnamed={Change.REGRESSED: 3})
    assert text(changes).endswith("- ❌ regressed: 3 more tests")
    assert "<summary>15 more tests</summary>" in text(changes.model_copy(update={"named": changed(20)}))
