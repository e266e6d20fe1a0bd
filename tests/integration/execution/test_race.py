"""Tests in several threads at once: what each thread did is kept, whatever it did."""

from __future__ import annotations

from typing import Any

import pytest

from runner.model.plan import Race
from runner.model.race import RacedTest, Races
from runner.model.words import Outcome, Status

pytestmark = pytest.mark.interpreters


def run(project: Any, text: str, *, threads: int = 4, rounds: int = 5, **more: Any) -> tuple[Any, Races]:
    project.write("test_it.py", text)
    project.race = Race(threads=threads, rounds=rounds, **more)
    result = project.run()
    return result, Races.read(project.folder / "races.json")


def raced(races: Races, name: str) -> RacedTest:
    return next(test for test in races.tests if test.id.split("::")[-1] == name)


def test_a_clean_test_is_clean_over_a_thousand_rounds(project: Any) -> None:
    result, races = run(project, "def test_clean(): assert sum(range(10)) == 45\n", threads=8, rounds=1000)
    test = raced(races, "test_clean")
    assert (test.passed, test.failed, test.skipped, test.rounds_done) == (8000, 0, 0, 1000)
    assert test.gil_enabled is not project.build.endswith("t")
    assert result.status is Status.PASS
    assert races.reason is None
