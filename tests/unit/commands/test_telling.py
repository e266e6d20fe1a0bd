"""What is told of a cell while it runs: each thing that goes wrong once, as it goes wrong."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from runner.commands.telling import Teller
from runner.execution.progress import Progress, Wrong
from runner.model.words import Outcome
from runner.report.terminal import Board

CRASH = Wrong(3, "t.py::test_3", Outcome.CRASHED, "the process died of SIGSEGV")
FAILURE = Wrong(5, "t.py::test_5", Outcome.FAILED, "assert 1 == 2\nand more")


def test_each_failure_is_said_once_and_at_once() -> None:
    stream = StringIO()
    board = Board(["c"], Console(file=stream, width=200), clock=lambda: 0.0)
    teller = Teller(board, "c")
    for wrong in ((), (CRASH,), (CRASH,), (CRASH, FAILURE)):
        teller.progress(Progress("c", "running", planned=6, finished=len(wrong), wrong=wrong))
    said = [line for line in stream.getvalue().splitlines() if "test_" in line]
    assert said == [
        "[00:00] c: 3/6 crashed t.py::test_3: the process died of SIGSEGV",
        "[00:00] c: 5/6 failed t.py::test_5: assert 1 == 2",
    ]


def test_a_stage_after_the_ordinary_run_is_said_when_it_begins() -> None:
    stream = StringIO()
    teller = Teller(Board(["c"], Console(file=stream, width=200), clock=lambda: 0.0), "c")
    for stage, current in (
        ("collecting", "t.py"),
        ("running", "t.py::a"),
        ("racing", "t.py::a"),
        ("racing", "t.py::b"),
    ):
        teller.progress(Progress("c", stage, planned=2, current=current))
    assert stream.getvalue() == "[00:00] c: racing\n"
