"""How often a cell is told of, and that the last word is never left unsaid."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from runner.execution import bulletin
from runner.execution.bulletin import PART_SECONDS, PROGRESS_SECONDS, Bulletin
from runner.execution.ledger import Ledger
from runner.execution.progress import Progress
from runner.model.words import GilMode


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    found = SimpleNamespace(now=100.0)
    found.monotonic = lambda: found.now
    monkeypatch.setattr(bulletin, "time", found)
    return found


def test_what_comes_too_soon_is_due_later(clock: SimpleNamespace) -> None:
    told: list[Progress] = []
    found = Bulletin("c", Ledger(GilMode.ON), told.append, lambda: 1.0)
    found.tell()
    assert (len(told), found.due) == (1, float("inf"))
    clock.now += PROGRESS_SECONDS / 2
    found.stage = "running"
    found.tell()
    assert (len(told), found.due) == (1, 100.0 + PROGRESS_SECONDS)
    clock.now = found.due
    found.tell()
    assert ([one.stage for one in told], found.due) == (["collecting", "running"], float("inf"))
    found.tell(force=True)
    assert len(told) == 3


def test_a_test_with_parts_is_looked_at_again_and_again(clock: SimpleNamespace) -> None:
    told: list[Progress] = []
    ordinary, other = Ledger(GilMode.ON), Ledger(GilMode.ON)
    found = Bulletin("c", ordinary, told.append, lambda: 1.0)
    with found.following(other, lambda: "round 2 of 9"):
        assert found.ledger is other
        found.tell()
        assert (told[-1].part, found.due) == ("round 2 of 9", clock.now + PART_SECONDS)
    assert found.ledger is ordinary
    found.tell(force=True)
    assert (told[-1].part, found.due) == (None, float("inf"))
