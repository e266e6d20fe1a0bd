from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from runner.model.words import Outcome, Status
from runner.report import events
from runner.report.board import event_line, render
from runner.report.board_state import BoardState, advance, seconds_left
from runner.report.terminal import Board

CELLS = tuple(f"py3.13t-gil-{gil}-triton{triton}" for gil in ("on", "off", "default") for triton in ("3.3.1", "3.7.0"))
HOSTILE = "tests/test_x.py::test[\x1b[2J ::error::x ##[error]y \n::warning::z]"

STORY: list[tuple[float, events.Event]] = [
    (0.0, events.EnvironmentStarted("py3.13t-triton3.3.1")),
    (1.5, events.Note("building Python 3.13t from source: compiling, 2 min")),
    (12.0, events.EnvironmentFinished("py3.13t-triton3.3.1")),
    (12.0, events.EnvironmentStarted("py3.13t-triton3.7.0")),
    (12.5, events.EnvironmentFinished("py3.13t-triton3.7.0", reused=True)),
    (12.5, events.CellFinished(CELLS[0], Status.PASS, passed=16, skipped=8, kept=True)),
    (12.5, events.CellStarted(CELLS[1])),
    (13.0, events.TestStarted(CELLS[1], "tests/test_softmax.py::test_compiles[fp32]", 1, 24)),
    (14.0, events.TestFinished(CELLS[1], "tests/test_softmax.py::test_compiles[fp32]", Outcome.PASSED, 1, 24)),
    (14.0, events.TestStarted(CELLS[1], HOSTILE, 2, 24)),
    (74.0, events.TestFinished(CELLS[1], HOSTILE, Outcome.TIMED_OUT, 2, 24, "no end after 60 s\nstack")),
    (92.5, events.CellFinished(CELLS[1], Status.FAIL, passed=15, skipped=8, bad=1, reason="1 timed out of 24 tests")),
    (93.0, events.CellFinished(CELLS[2], Status.UNAVAILABLE, reason="no wheel for cp313t")),
    (93.0, events.EnvironmentFinished("py3.13t-triton9", problem="the installer failed")),
    (94.0, events.CellStarted(CELLS[3])),
    (95.0, events.TestStarted(CELLS[3], "tests/test_matmul.py::test_uses_wgmma", 1, 24)),
    (96.0, events.TestFinished(CELLS[3], "tests/test_matmul.py::test_uses_wgmma", Outcome.PASSED, 24, 24)),
    (97.0, events.TestStarted(CELLS[3], "tests/test_add.py::test_add", 5, 16, "racing", "round 3 of 50")),
    (98.0, events.TestStarted(CELLS[3], "tests/test_add.py::test_add", 5, 16, "racing", "round 4 of 50")),
]


def states() -> Iterator[tuple[float, events.Event, BoardState]]:
    state = BoardState(CELLS, 0.0)
    for now, event in STORY:
        state = advance(state, event, now)
        yield now, event, state


@pytest.mark.parametrize("width", [40, 80, 120])
def test_golden_pictures(width: int, golden: Callable[[str, str], None]) -> None:
    pictures = []
    for now, event, state in states():
        lines = render(state, now + 1, width)
        assert all(line.cell_len <= width for line in lines)
        pictures.append("\n".join([f"--- {type(event).__name__}", *(line.plain for line in lines)]))
    golden(f"board-{width}.txt", "\n".join(pictures) + "\n")


def test_golden_lines(golden: Callable[[str, str], None]) -> None:
    lines = [line for now, event, state in states() if (line := event_line(event, state, now)) is not None]
    assert all("\n" not in line and not line.lstrip().startswith("::") and "##[" not in line for line in lines)
    golden("board-lines.txt", "\n".join(lines) + "\n")


def test_there_is_no_estimate_before_a_cell_has_finished() -> None:
    state = advance(BoardState(("a", "b"), 0.0), events.CellStarted("a"), 0.0)
    assert seconds_left(state, 5.0) is None
    state = advance(state, events.CellFinished("a", Status.PASS), 10.0)
    assert seconds_left(state, 10.0) == 10.0


def test_the_estimate_counts_running_and_waiting_cells_side_by_side() -> None:
    state = BoardState(tuple("abcde"), 0.0)
    story: list[tuple[float, events.Event]] = [
        (0.0, events.CellStarted("a")),
        (20.0, events.CellFinished("a", Status.PASS)),
        (20.0, events.CellStarted("b")),
        (20.0, events.CellStarted("c")),
    ]
    for now, event in story:
        state = advance(state, event, now)
    # 2 wait (40 s), b and c have 15 s each: 70 s of work for two at a time
    assert seconds_left(state, 25.0) == 35.0
    assert seconds_left(state, 400.0) == 20.0


def test_a_kept_or_unavailable_cell_teaches_nothing_about_time() -> None:
    state = BoardState(("a", "b", "c"), 0.0)
    state = advance(state, events.CellFinished("a", Status.PASS, kept=True), 0.0)
    state = advance(state, events.CellFinished("b", Status.UNAVAILABLE), 0.0)
    assert seconds_left(state, 0.0) is None


def test_without_a_terminal_each_event_is_a_line_without_cursor_tricks() -> None:
    out = io.StringIO()
    clock = iter([0.0, *(now for now, _ in STORY)])
    with Board(CELLS, Console(file=out, width=80), lambda: next(clock)) as board:
        for _, event in STORY:
            board(event)
    lines = [line for now, event, state in states() if (line := event_line(event, state, now)) is not None]
    assert out.getvalue() == "\n".join(lines) + "\n"
    assert "\x1b" not in out.getvalue()


def test_on_a_terminal_the_board_is_drawn_and_taken_away() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    with Board(CELLS, console, lambda: 95.0) as board:
        for now, event in STORY:
            if now <= 95:
                board(event)
        drawn = Console(file=io.StringIO(), width=80)
        drawn.print(board._picture())
        assert isinstance(drawn.file, io.StringIO)
        assert "tests/test_matmul.py::test_uses_wgmma" in drawn.file.getvalue()
    assert "cells" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")


def test_the_count_of_a_race_is_its_own_and_a_test_that_goes_on_is_as_old_as_it_is() -> None:
    state = BoardState(("a",), 0.0)
    story: list[tuple[float, events.Event]] = [
        (0.0, events.CellStarted("a")),
        (1.0, events.TestFinished("a", "t.py::x", Outcome.PASSED, 24, 24)),
        (2.0, events.TestStarted("a", "t.py::x", 1, 16, "racing", "round 1 of 8")),
        (9.0, events.TestStarted("a", "t.py::x", 1, 16, "racing", "round 7 of 8")),
    ]
    for now, event in story:
        state = advance(state, event, now)
    _, cell, test = (row.plain for row in render(state, 12.0, 80))
    assert cell == "  ▶ a  racing 0/16 tests  12.0 s"
    assert test == "      10.0 s  t.py::x, round 7 of 8"
