"""Runs that are stopped from outside, by a signal: a sentence, nothing left running, what finished is kept."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runner.execution.journal import read_events
from runner.model.plan import Plan
from runner.model.result import CellResult
from runner.model.words import Outcome

pytestmark = pytest.mark.interpreters

WAITS = """
    import os, signal, subprocess, sys

    def test_before():
        open("ran", "a").write("before\\n")

    def test_waits():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        children = [subprocess.Popen(["sleep", "600"], start_new_session=detached) for detached in (False, True)]
        if not os.path.exists("free"):
            with open("arrived", "w") as arrived:
                arrived.write(" ".join(str(pid) for pid in (os.getpid(), *(child.pid for child in children))))
            signal.pause()

    def test_after():
        pass
"""
NOXFILE = """
    from pathlib import Path
    from runner import sessions
    sessions.register(Path("matrix.yml"), noxfile=Path(__file__))
"""
MATRIX = """
    name: one
    gil: [on]
    environment: [{{name: one, python: {python}}}]
    project: {{tests: test_waits.py}}
    limits: {{test: 1m}}
"""


@contextmanager
def deaths(pids: list[int]) -> Iterator[Callable[[], bool]]:
    """Whether all of these processes have ended, however long that takes within a minute."""
    descriptors = [os.pidfd_open(pid) for pid in pids]
    try:
        yield lambda: all(select.select([one], [], [], 60)[0] for one in descriptors)
    finally:
        for one in descriptors:
            os.close(one)


def run(words: list[str], folder: Path, **more: Any) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=folder, stdout=pipe, stderr=subprocess.STDOUT, text=True, **more)


@pytest.fixture
def place(plain_project: Any) -> Path:
    """The folder of a project whose second test waits, with children, until it is killed."""
    plain_project.write("test_waits.py", WAITS)
    os.mkfifo(plain_project.root / "arrived")
    cell, environment = plain_project.cell, plain_project.environment
    environment = environment.model_copy(update={"executable": str(plain_project.python)})
    Plan(
        matrix="m",
        matrix_file="m.yml",
        matrix_sha256="0" * 64,
        root=str(plain_project.root),
        created="2026-11-30T12:00:00+00:00",
        tool="0",
        gil_modes=(cell.key.gil,),
        environments=(environment,),
        cells=(cell,),
    ).write(plain_project.root / "out" / "plan.json")
    return Path(plain_project.root)


def words_of(place: Path) -> list[str]:
    cell = Plan.read(place / "out" / "plan.json").cells[0].key.id
    return [sys.executable, "-m", "runner", "cell", cell, "--out", "out"]


def finish(place: Path, words: list[str], out: str) -> CellResult:
    """Run again, to the end."""
    (place / "free").touch()
    with run(words, place) as again:
        output, _ = again.communicate(timeout=300)
    assert again.returncode == 0, output
    (path,) = (place / out / "cells").glob("*/result.json")
    return CellResult.read(path)


@pytest.mark.parametrize(
    ("signals", "status", "sentence"),
    [
        ((signal.SIGINT,), 130, "triton-compat: Stopped.\n"),
        ((signal.SIGTERM,), 143, "triton-compat: Stopped by SIGTERM.\n"),
        ((signal.SIGHUP,), 129, "triton-compat: Stopped by SIGHUP.\n"),
        ((signal.SIGINT, signal.SIGTERM), 130, "triton-compat: Stopped.\n"),
    ],
    ids=["ctrl-c", "sigterm", "sighup", "one-right-after-the-other"],
)
def test_a_stopped_cell_ends_what_it_started_and_goes_on_later(
    place: Path, signals: tuple[signal.Signals, ...], status: int, sentence: str
) -> None:
    with run(words_of(place), place) as process, deaths(read_pids(place)) as are_dead:
        for number in signals:
            process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == status, output
        assert sentence in output
        assert "Run the same command again: finished cells are kept" in output
        assert "Traceback" not in output
        assert are_dead()
    (journal,) = (place / "out" / "cells").glob("*/journal.jsonl")
    for event in read_events(journal):
        assert not Path(event.get("temporary", "/absent")).exists()
    result = finish(place, words_of(place), "out")
    assert [test.outcome for test in result.tests] == [Outcome.PASSED] * 3
    assert (place / "ran").read_text(encoding="ascii") == "before\n", "a test that had finished ran again"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_matrix_ends_what_its_sessions_started(
    place: Path, plain_project: Any, number: signal.Signals
) -> None:
    for name, text in (("noxfile.py", NOXFILE), ("matrix.yml", MATRIX.format(python=plain_project.python))):
        (place / name).write_text(textwrap.dedent(text), encoding="utf-8")
    words = [sys.executable, "-m", "nox", "-f", "noxfile.py", "-s", "matrix"]
    with run(words, place) as process, deaths(read_pids(place)) as are_dead:
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 130, output
        assert "Stopped" in output
        assert are_dead()
    result = finish(place, words, ".triton-compat")
    assert [test.outcome for test in result.tests] == [Outcome.PASSED] * 3
    assert (place / "ran").read_text(encoding="ascii") == "before\n", "a test that had finished ran again"


def test_ctrl_c_in_a_terminal_reaches_all_of_them_and_interrupts_each_once(place: Path, plain_project: Any) -> None:
    """The terminal tells every process of its foreground group, and each passes it on to its child as well."""
    for name, text in (("noxfile.py", NOXFILE), ("matrix.yml", MATRIX.format(python=plain_project.python))):
        (place / name).write_text(textwrap.dedent(text), encoding="utf-8")
    words = [sys.executable, "-m", "nox", "-f", "noxfile.py", "-s", "matrix"]
    process, master = run_in_terminal(words, place)
    said: list[bytes] = []
    reader = threading.Thread(
        target=lambda: said.extend(read_all(master))
    )  # the terminal holds little that is not read
    reader.start()
    with deaths(read_pids(place)) as are_dead:
        os.write(master, b"\x03")
        assert process.wait(60) == 130
        assert are_dead()
    reader.join(60)
    os.close(master)
    output = b"".join(said).decode()
    assert output.count("triton-compat: Stopped.") == 1
    assert "Traceback" not in output
    result = finish(place, words, ".triton-compat")
    assert [test.outcome for test in result.tests] == [Outcome.PASSED] * 3
    assert (place / "ran").read_text(encoding="ascii") == "before\n", "a test that had finished ran again"


def test_a_closed_terminal_ends_a_run_as_other_interruptions_do(place: Path) -> None:
    """Nothing that is said arrives any more; neither that nor what the interpreter flushes changes the exit status."""
    process, master = run_in_terminal(words_of(place), place)
    with deaths(read_pids(place)) as are_dead:
        os.close(master)
        assert process.wait(60) == 129
        assert are_dead()
    result = finish(place, words_of(place), "out")
    assert [test.outcome for test in result.tests] == [Outcome.PASSED] * 3
    assert (place / "ran").read_text(encoding="ascii") == "before\n", "a test that had finished ran again"


def test_a_closed_terminal_ends_what_the_sessions_of_a_matrix_started(place: Path, plain_project: Any) -> None:
    for name, text in (("noxfile.py", NOXFILE), ("matrix.yml", MATRIX.format(python=plain_project.python))):
        (place / name).write_text(textwrap.dedent(text), encoding="utf-8")
    process, master = run_in_terminal([sys.executable, "-m", "nox", "-f", "noxfile.py", "-s", "matrix"], place)
    with deaths(read_pids(place)) as are_dead:
        os.close(master)
        assert process.wait(60) == 130
        assert are_dead()


def run_in_terminal(words: list[str], folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command in a terminal of its own. Returns the terminal's other end as well."""
    master, slave = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        words,
        cwd=folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=take_terminal,  # noqa: PLW1509 - nothing else runs here
    )
    os.close(slave)
    return process, master


def read_all(terminal: int) -> Iterator[bytes]:
    """What is written to a terminal, until nobody holds its other end."""
    while True:
        try:
            yield os.read(terminal, 65_536)
        except OSError:
            return


def read_pids(place: Path) -> list[int]:
    """Pids of the worker and of its children, once the second test waits."""
    return [int(pid) for pid in (place / "arrived").read_text(encoding="ascii").split()]
