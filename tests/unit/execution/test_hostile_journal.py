"""Whatever stands in a journal or comes through a channel: it can be read, and what comes out can be written."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.execution.journal import Journal, parse_lines, read_events
from runner.execution.ledger import Ledger
from runner.execution.lives import Lives
from runner.execution.orders import next_work
from runner.execution.outcome import read_result
from runner.execution.race_ledger import RaceLedger
from runner.model.cell import CellKey
from runner.model.plan import PlannedCell, Race, Settings
from runner.model.result import CellResult
from runner.model.words import GilMode

KEY = CellKey(id="py3.13t-gil-off", python="3.13t", gil=GilMode.OFF, triton=None, torch=None)
CELL = PlannedCell(key=KEY, environment="e", settings=Settings(tests=("tests",)))
NAMES = sorted(name.removeprefix("_on_") for kind in (Ledger, RaceLedger) for name in dir(kind) if "_on_" in name)
# What the real events are made of, beside anything else that JSON can hold.
PLAUSIBLE: dict[str, st.SearchStrategy[Any]] = {
    "tests": st.just([["t.py::a", "t.py", 1], ["t.py::b", None, None]]),
    "attempts": st.just([{"outcome": "passed", "seconds": 0.1}]),
    "entry": st.just({"outcome": "error", "message": "no"}),
    "n": st.integers(-1, 3),
    "missing": st.just([1]),
    "pid": st.just(7),
    "mode": st.sampled_from(["all", "rest", "alone", "race"]),
    "file": st.just("t.py"),
    "gil": st.booleans(),
    "module": st.just("triton._C.libtriton"),
    "free_threaded_build": st.booleans(),
    "rounds": st.integers(0, 9),
    "signal": st.sampled_from([None, "SIGSEGV"]),
    "exit_code": st.sampled_from([None, 0, 1]),
    "seconds": st.floats(0, 9),
    "activity_seconds": st.floats(0, 9),
    "status": st.integers(0, 5),
    "reason": st.just("because"),
    "limit": st.sampled_from(["activity", "cell", "memory"]),
    "phase": st.sampled_from([None, "call"]),
    "race": st.sampled_from(
        [None, {"round": 2, "passed": 1, "failed": 0, "skipped": 0, "threads": 4, "unfinished": []}]
    ),
    "running": st.sampled_from([None, 0, 1]),
    **{
        name: st.just("text") for name in ("python", "build", "executable", "soabi", "stack", "output", "said", "error")
    },
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**30, 10**40)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(alphabet=st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(PLAUSIBLE)), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """An event of ours in which any field may be missing, or be anything."""
    event: dict[str, Any] = {"event": draw(st.sampled_from(NAMES) | st.text(max_size=5))}
    for name, usual in PLAUSIBLE.items():
        kind = draw(st.integers(0, 9))
        if kind < 8:
            event[name] = draw(usual)
        elif kind == 8:
            event[name] = draw(JSON)
    return event


def lines_of(found: list[dict[str, Any]]) -> bytes:
    """As a hostile writer puts them: NaN, infinity, lone surrogates and all."""
    return b"\n".join(json.dumps(event).encode() for event in found)


def check(data: bytes, *ledgers: Lives) -> None:
    """Read a journal with these bytes behind an honest beginning, fold it, and write what comes out."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        with Journal(path, "sha", fresh=True):
            pass
        with path.open("ab") as stream:
            stream.write(data)
        found = read_events(path)
        assert found[0]["plan_sha"] == "sha"
        with Journal(path, "sha", fresh=False) as journal:
            journal.write(found)
        assert [{**event, "t": 0} for event in read_events(path)[len(found) :]] == [
            {**event, "t": 0} for event in found
        ]
    for ledger in ledgers:
        for event in found:
            ledger.take_in(event)
        ledger.apply({"event": "supervisor"})
        if isinstance(ledger, RaceLedger):
            text = json.dumps([test.model_dump(mode="json") for test in ledger.raced.values()], allow_nan=False)
            text.encode()
            continue
        assert isinstance(ledger, Ledger)
        next_work(ledger)
        result = read_result(ledger, CELL, plan_sha="sha", started="", seconds=1.0, journal_lost=None)
        with TemporaryDirectory() as folder:
            result.write(Path(folder) / "result.json")
            assert CellResult.read(Path(folder) / "result.json") == result


def ledgers() -> tuple[Lives, ...]:
    ordinary = Ledger(GilMode.OFF)
    ordinary.apply({"event": "worker", "pid": 1, "mode": "all"})
    ordinary.apply({"event": "collected", "tests": [["t.py::a", "t.py", 1], ["t.py::b", None, None]], "gil": False})
    race = RaceLedger(GilMode.OFF, None, Race(threads=4, rounds=8), ordinary.planned or [], {0: 0.1, 1: 0.1})
    race.apply({"event": "worker", "pid": 1, "mode": "race"})
    return Ledger(GilMode.OFF), ordinary, race


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_any_bytes_are_a_journal(lines: list[bytes]) -> None:
    check(b"\n".join(lines), *ledgers())


@settings(deadline=None, max_examples=150)
@given(st.lists(events(), max_size=12))
def test_events_of_a_liar_are_taken_in_or_left_out(found: list[dict[str, Any]]) -> None:
    check(lines_of(found), *ledgers())


@pytest.mark.parametrize(
    "line",
    [
        b'{"event":"end","n":0,"gil":true,"attempts":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"event":"x","deep":' + b'{"a":' * 900 + b"1" + b"}" * 901,
        b'{"event":"end","n":' + b"9" * 5_000 + b"}",
        b'{"event":"end","n":0,"gil":true,"attempts":[{"outcome":"passed","seconds":NaN}]}',
        b'{"event":"end","n":0,"gil":true,"attempts":[{"outcome":"passed","seconds":1e999}]}',
        b'{"event":"end","n":0,"gil":true,"attempts":[{"outcome":"failed","message":"\\ud800 \xed\xa0\x80"}]}',
        b'{"event":"gil","module":{"a":[1]},"gil":"perhaps"}',
        b'{"event":"gil","module":"\\udfff","gil":true}',
        b'{"event":"collected","tests":[["t.py::z",{"a":1},1]],"gil":true}',
        b'{"event":"collected","tests":[["t.py::z","t.py","x"]],"gil":true}',
        b"\xff\xfe{\x00",
    ],
    ids=[
        "deep",
        "nearly-too-deep",
        "long-number",
        "nan",
        "infinity",
        "surrogate",
        "no-module",
        "module",
        "file",
        "line",
        "utf-16",
    ],
)
def test_what_once_was_worth_a_crash(line: bytes) -> None:
    check(line, *ledgers())


def test_an_honest_neighbour_of_a_hostile_line_is_kept() -> None:
    honest = b'{"event":"start","n":0}'
    lines = [b"[" * 200_000, honest, b'{"event":"x","a":NaN}', b'{"event": "s", "a": "\\ud83d\\ude00 \\ud800"}', honest]
    assert list(parse_lines(lines)) == [
        {"event": "start", "n": 0},
        {"event": "s", "a": "\N{GRINNING FACE} ?"},
        {"event": "start", "n": 0},
    ]
