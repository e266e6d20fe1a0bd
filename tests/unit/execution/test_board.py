"""What is noted in shared memory, and what is left of it."""

from __future__ import annotations

import os
from pathlib import Path

from runner.execution.board import SIZE, Board, read_running


def test_a_blank_board_says_that_nothing_runs(tmp_path: Path) -> None:
    board = Board(tmp_path / "board")
    assert (board.phase, board.race, read_running(tmp_path / "board")) == (None, None, None)
    assert os.fstat(board.descriptor).st_size == SIZE
    board.close()


def test_the_running_test_can_be_read_without_its_owner(tmp_path: Path) -> None:
    board = Board(tmp_path / "board")
    os.pwrite(board.descriptor, b"c", 1)
    os.pwrite(board.descriptor, (8).to_bytes(4, "little"), 4)
    assert board.phase == "call"
    assert read_running(tmp_path / "board") == 7
    board.close()


def test_nothing_is_left_of_a_closed_board(tmp_path: Path) -> None:
    Board(tmp_path / "board").close()
    assert read_running(tmp_path / "board") is None
    assert list(tmp_path.iterdir()) == []


def test_a_new_board_does_not_take_over_an_old_one(tmp_path: Path) -> None:
    (tmp_path / "board").write_bytes(b"xxxxxxxx")
    board = Board(tmp_path / "board")
    assert read_running(tmp_path / "board") is None
    board.close()


def test_where_no_file_can_be_made_memory_will_do(tmp_path: Path) -> None:
    board = Board(tmp_path / "absent" / "board")
    board.shut_gate()
    assert os.pread(board.descriptor, 1, 0) == b"1"
    board.close()
