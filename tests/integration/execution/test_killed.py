"""Supervisors that are killed from outside, at random points: nothing is lost or doubled, nothing left running."""

from __future__ import annotations

import itertools
import os
import pickle
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.execution.journal import read_events
from runner.execution.surroundings import TOKEN
from runner.model.plan import Race
from runner.model.race import Races
from runner.model.result import CellResult

pytestmark = pytest.mark.interpreters

RUN = """
import pickle, sys
from runner.execution import Rules, run_cell
arguments = pickle.loads(sys.stdin.buffer.read())
run_cell(*arguments[:3], root=arguments[3], folder=arguments[4], rules=Rules(retry_suspects=False))
"""
KILLS = 20
RACE_KILLS = 12


def start(project: Any) -> subprocess.Popen[bytes]:
    """A supervisor in a process of its own."""
    supervisor = subprocess.Popen([sys.executable, "-c", RUN], stdin=subprocess.PIPE)
    assert supervisor.stdin is not None
    data = (project.cell, project.environment, project.python, project.root, project.folder)
    supervisor.stdin.write(pickle.dumps(data))
    supervisor.stdin.close()
    return supervisor


def ours(tokens: set[str]) -> list[int]:
    """Pids of living processes that carry a mark of these runs."""
    marks = {f"{TOKEN}={token}".encode() for token in tokens}
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            if marks & set(Path("/proc", pid, "environ").read_bytes().split(b"\0")):
                found.append(int(pid))
        except OSError:
            continue
    return found


def read_tokens(project: Any) -> set[str]:
    events = read_events(project.folder / "journal.jsonl")
    return {event["token"] for event in events if event["event"] == "supervisor"}


def test_children_of_a_worker_that_lost_its_supervisor_are_ended_by_the_next(
    plain_project: Any, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    plain_project.write(
        "test_children.py",
        f"""
    import os, signal, subprocess
    def test_children():
        if not os.path.exists({str(pipe)!r}):
            return
        children = [subprocess.Popen(["sleep", "600"]), subprocess.Popen(["sleep", "600"], start_new_session=True)]
        with open({str(pipe)!r}, "w") as stream:
            stream.write(" ".join(str(child.pid) for child in children))
        signal.pause()
    """,
    )
    with start(plain_project) as supervisor:
        children = [int(pid) for pid in pipe.read_text(encoding="ascii").split()]
        supervisor.kill()
    pipe.unlink()
    tokens = read_tokens(plain_project)
    assert len(children) == 2
    assert set(children) <= set(ours(tokens)), "the children outlive their supervisor"
    result = plain_project.run()
    assert [test.outcome.value for test in result.tests] == ["passed"]
    assert ours(read_tokens(plain_project)) == []
    assert {file.name for file in plain_project.folder.iterdir()} <= {
        "caches",
        "journal.jsonl",
        "log.txt",
        "result.json",
    }
    for event in read_events(plain_project.folder / "journal.jsonl"):
        assert not Path(event.get("temporary", "/absent")).exists()


def test_twenty_random_kills_lose_and_double_nothing(plain_project: Any, tmp_path: Path) -> None:
    count, bad = 300, {40: "failed", 130: "crashed", 131: "crashed", 260: "crashed"}
    ran = tmp_path / "ran"
    plain_project.write(
        "test_many.py",
        f"""
    import os, pytest
    @pytest.mark.parametrize("n", range({count}))
    def test_n(n):
        with open({str(ran)!r}, "a") as stream:
            stream.write(f"{{n}}\\n")
        for _ in range(20_000):
            pass
        assert n != 40
        if n in (130, 131, 260):
            os._exit(n - 130)
    """,
    )
    began = time.monotonic()
    whole = plain_project.run()
    seconds = time.monotonic() - began
    expected = {test.id: test.outcome.value for test in whole.tests}
    assert {n: expected[f"test_many.py::test_n[{n}]"] for n in bad} == bad
    assert sum(outcome == "passed" for outcome in expected.values()) == count - len(bad)

    chance = random.Random(20)  # noqa: S311 - the same points every time
    kills = 0
    while kills < KILLS:
        plain_project.folder = tmp_path / f"killed-{kills}"
        journal = plain_project.folder / "journal.jsonl"
        finished: set[int] = set()
        was_killed = True
        while was_killed:
            ran.unlink(missing_ok=True)
            with start(plain_project) as supervisor:
                try:
                    assert supervisor.wait(chance.uniform(0.1, 1.3) * seconds) == 0
                    was_killed = False
                except subprocess.TimeoutExpired:
                    supervisor.kill()
                    kills += 1
            again = [int(line) for line in ran.read_text(encoding="ascii").split()] if ran.exists() else []
            assert not finished & set(again), "a test whose end was in the journal ran again"
            finished = {event["n"] for event in read_events(journal) if event["event"] == "end"}
        result = CellResult.read(plain_project.folder / "result.json")
        assert {test.id: test.outcome.value for test in result.tests} == expected
        assert len(result.tests) == result.planned == count
        assert all(len(test.attempts) == 1 for test in result.tests)
        ends = [event["n"] for event in read_events(journal) if event["event"] == "end"]
        assert len(ends) == len(set(ends))
        assert ours(read_tokens(plain_project)) == []


RACED = """
    import os, pytest, threading
    def in_a_race():
        return threading.current_thread() is not threading.main_thread()
    def note(name):
        with open({ran!r}, "a") as stream:
            stream.write(f"{{name}}\\n")
    @pytest.mark.parametrize("n", range(12))
    def test_clean(n):
        note(f"test_clean[{{n}}]")
        for _ in range(2_000):
            pass
    def test_fails():
        note("test_fails")
        assert not in_a_race()
    def test_dies():
        note("test_dies")
        if in_a_race():
            os._exit(5)
    def test_skips():
        note("test_skips")
        if in_a_race():
            pytest.skip("in a race")
    def test_prints(capsys):
        note("test_prints")
"""


def test_kills_in_the_middle_of_races_lose_and_double_nothing(plain_project: Any, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    plain_project.write("test_races.py", RACED.format(ran=str(ran)))
    plain_project.race = Race(threads=4, rounds=25)
    began = time.monotonic()
    whole = plain_project.run()
    seconds = time.monotonic() - began
    expected = read_races(plain_project)
    outcomes = {name.removeprefix("test_races.py::"): outcome for name, outcome in expected.items()}
    assert outcomes == {
        **{f"test_clean[{n}]": ("passed", 100, 0) for n in range(12)},
        "test_fails": ("failed", 0, 100),
        "test_dies": ("crashed", 0, 1),
        "test_skips": ("skipped", 0, 0),
        "test_prints": "left out",
    }
    chance = random.Random(21)  # noqa: S311 - the same points every time
    kills = 0
    for attempt in itertools.count():
        plain_project.folder = tmp_path / f"killed-{attempt}"
        journal = plain_project.folder / "races.jsonl"
        finished: set[str] = set()
        was_killed = True
        while was_killed:
            ran.unlink(missing_ok=True)
            with start(plain_project) as supervisor:
                try:
                    assert supervisor.wait(chance.uniform(0.3, 1.2) * seconds) == 0
                    was_killed = False
                except subprocess.TimeoutExpired:
                    supervisor.kill()
                    kills += journal.exists()
            again = set(ran.read_text(encoding="ascii").split()) if ran.exists() else set()
            assert not finished & again, "a test whose race had ended was raced again"
            ends = [event["n"] for event in read_events(journal) if event["event"] == "race_end"]
            assert len(ends) == len(set(ends)), "a race has two ends"
            finished = {test.id.removeprefix("test_races.py::") for test in (whole.tests[n] for n in ends)}
        result = CellResult.read(plain_project.folder / "result.json")
        assert [(test.id, test.outcome) for test in result.tests] == [(test.id, test.outcome) for test in whole.tests]
        assert (result.status, result.reason) == (whole.status, whole.reason)
        assert read_races(plain_project) == expected
        assert ours(read_tokens(plain_project)) == []
        if kills >= RACE_KILLS:
            break


def read_races(project: Any) -> dict[str, Any]:
    """What became of each test: outcome with calls that passed and failed, or that it was left out or not raced."""
    races = Races.read(project.folder / "races.json")
    found: list[tuple[str, Any]] = [(one.id, (one.outcome.value, one.passed, one.failed)) for one in races.tests]
    found += [(one.id, "left out") for one in races.left_out] + [(one.id, "not raced") for one in races.unfinished]
    assert len(found) == len(dict(found)), "a test has two outcomes"
    return dict(found)
