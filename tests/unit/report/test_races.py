from __future__ import annotations

import re
from typing import Any

import pytest
from rich.console import Console

from runner.model.cell import CellKey
from runner.model.race import NotRaced, RacedTest, RaceError, Races
from runner.model.result import Attempt, GilState
from runner.model.words import Outcome
from runner.report import html, markdown, terminal
from runner.report.races import HEADS, race_rows, race_sentences


def races(key: CellKey, *tests: RacedTest, left_out: tuple[NotRaced, ...] = ()) -> Races:
    gil = GilState(requested=key.gil)
    return Races(cell=key, threads=8, rounds=8, gil=gil, tests=tests, left_out=left_out)


def raced(name: str, failed: int, message: str = "'NoneType' | <b>x</b>") -> RacedTest:
    error = RaceError(phase="call", type="TypeError", message=message, count=failed or 1, round=1)
    errors = (error,) if failed else ()
    passed = 64 - failed
    return RacedTest(id=name, threads=8, rounds=8, rounds_done=8, passed=passed, failed=failed, errors=errors)


@pytest.fixture
def found(quickstart: Any) -> dict[str, Races]:
    """Races of 3.13t x Triton 3.7.0 with the GIL on and off; one test fails in both, one without the GIL alone."""
    keys = {cell.key.gil.value: cell.key for cell in quickstart.plan.cells if cell.key.id.endswith("-triton3.7.0")}
    crash = Attempt(outcome=Outcome.CRASHED, signal="SIGSEGV", message="died")
    lost = RacedTest(id="t.py::c", threads=8, rounds=8, rounds_done=2, passed=16, failed=1, broken=crash)
    left = (NotRaced(id="t.py::d", reason="it uses capsys"),)
    on = races(
        keys["on"], raced("t.py::a", 50), raced("t.py::b", 0), left_out=(*left, NotRaced(id="t.py::c", reason="x"))
    )
    off = races(keys["off"], raced("t.py::a", 55), raced("t.py::b", 9), lost, left_out=left)
    return {keys["on"].id: on, keys["off"].id: off}


def test_gil_off_stands_beside_gil_on(quickstart: Any, found: dict[str, Races]) -> None:
    rows = {row.test: row.modes for row in race_rows(quickstart.plan, found)}
    assert rows == {
        "t.py::a": ("failed 55 of 64", "failed 50 of 64", "—"),
        "t.py::b": ("failed 9 of 64", "0 of 64", "—"),
        "t.py::c": ("SIGSEGV in round 3 of 8, failed 1 of 64", "not raced: x", "—"),
    }


def test_what_was_left_out_is_said_with_the_reasons(found: dict[str, Races]) -> None:
    assert list(race_sentences(found)) == [
        "5 tests raced in 2 cells (8 threads, 8 rounds; 320 calls): 4 tests failed.",
        "3 tests left out: it uses capsys (2); x (1).",
    ]


def test_every_format_shows_them_and_escapes_them(quickstart: Any, found: dict[str, Races]) -> None:
    arguments = (quickstart.plan, quickstart.results, quickstart.verdict)
    said = markdown.render(*arguments, races=found)
    assert "### Races" in said
    row = next(line for line in said.splitlines() if "t.py::b" in line)
    assert "| failed 9 of 64 | 0 of 64 | — |" in row
    assert len(re.findall(r"(?<!\\)\|", row)) == len(HEADS) + 1, "a pipe in a message is no column"
    page = html.render(*arguments, races=found)
    assert "<h2>Races</h2>" in page
    assert "<td>failed 9 of 64</td><td>0 of 64</td>" in page
    assert "<b>x</b>" not in page
    console = Console(width=160, record=True, file=None)
    with console.capture() as captured:
        console.print(terminal.summary(*arguments, races=found))
    assert "GIL off: failed 9 of 64; GIL on: 0 of 64" in captured.get()


def test_what_the_page_has_no_room_for_is_counted(quickstart: Any) -> None:
    key = quickstart.plan.cells[0].key
    many = {key.id: races(key, *(raced(f"t.py::t{number}", 1) for number in range(503)))}
    page = html.render(quickstart.plan, quickstart.results, quickstart.verdict, races=many)
    assert page.count("<code>t.py::t") == 500
    assert "3 more in cells/*/races.json" in page


def test_without_races_no_format_mentions_them(quickstart: Any) -> None:
    arguments = (quickstart.plan, quickstart.results, quickstart.verdict)
    assert "### Races" not in markdown.render(*arguments)
    assert "<h2>Races</h2>" not in html.render(*arguments)
