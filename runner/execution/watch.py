"""The event loop around one worker: its events, its output, its deadlines, its death. No polling, no threads."""

from __future__ import annotations

import os
import select
import selectors
import time
from collections.abc import Callable, Mapping
from typing import Any

from runner.execution.blame import Activity
from runner.execution.bulletin import Bulletin
from runner.execution.deadlines import Deadline, next_deadline
from runner.execution.journal import Journal, parse_lines
from runner.execution.ledger import Ledger
from runner.execution.log import BoundedLog
from runner.execution.memory import MemoryGauge, count_memory_kills
from runner.execution.stacks import Stacks
from runner.execution.stop import Stop
from runner.execution.worker import WorkerProcess
from runner.model.plan import Limits

BETWEEN_SECONDS = 1.0
"""Without a test or file to blame for memory; then the session is."""
GATHER_SECONDS = 0.004
"""For more events to come, so that short tests do not cost one wake-up each. A pipe keeps them whatever happens."""
MOST_LINE = 1 << 26
"""Bytes of one event. A plan of 100,000 tests is shorter; what is longer is not ours."""
_READ = 262_144
_FULL = 16_384


class Watch:
    """Runs one worker to its end.

    Args:
        worker: just started.
        ledger, journal, log: take what it says.
        limits: the cell's.
        cell_deadline: on the monotonic clock.
        bulletin: told after each batch of events.
    """

    def __init__(
        self,
        worker: WorkerProcess,
        ledger: Ledger,
        journal: Journal,
        log: BoundedLog,
        limits: Limits,
        cell_deadline: float,
        bulletin: Bulletin,
    ) -> None:
        self._worker = worker
        self._ledger = ledger
        self._journal = journal
        self._log = log
        self._limits = limits
        self._cell_deadline = cell_deadline
        self._bulletin = bulletin
        self._started = self._activity_since = time.monotonic()
        self._torn = b""
        self._stacks = Stacks()
        self._stop: Stop | None = None
        self._gauge = MemoryGauge(worker.pid, limits.memory_bytes)
        self._kills = count_memory_kills()

    def run(self) -> None:
        """Watch until the worker is dead and everything it said is in the journal.

        When this is interrupted the worker is ended, and what had finished by then is in the journal as well.
        """
        worker = self._worker
        readers: dict[int, Callable[[], bytes | None]] = {
            worker.channel: self._read_channel,
            worker.output: self._read_output,
            worker.dump: self._read_dump,
        }
        try:
            self._watch(readers)
        except BaseException:
            worker.end()
            _hear_out(readers)
            self._record([{"event": "interrupted"}], durable=True)
            raise
        self._bury(readers)

    def _watch(self, readers: dict[int, Callable[[], bytes | None]]) -> None:
        worker = self._worker
        with selectors.DefaultSelector() as selector:
            for descriptor in (*readers, worker.death):
                selector.register(descriptor, selectors.EVENT_READ)
            death = select.poll()
            death.register(worker.death, select.POLLIN)
            dead = False
            while not dead:
                ready = selector.select(_seconds_until(min(self._due(), self._bulletin.due)))
                # Events first: what was printed belongs to the test that they say is running.
                for key, _ in sorted(ready, key=lambda each: each[0].fd != worker.channel):
                    if key.fd == worker.death:
                        dead = True
                        continue
                    data = readers[key.fd]()
                    if data == b"":
                        selector.unregister(key.fd)
                    elif data and key.fd == worker.channel and self._gathers(data):
                        death.poll(GATHER_SECONDS * 1000)
                if not dead:
                    self._keep_deadlines()
                self._bulletin.tell()

    def _gathers(self, data: bytes) -> bool:
        """Whether more short tests will follow at once."""
        return len(data) < _FULL and self._ledger.planned is not None

    def _bury(self, readers: dict[int, Callable[[], bytes | None]]) -> None:
        """Take in what was said before death, and write down how it ended."""
        worker = self._worker
        seconds = time.monotonic() - self._started
        spent = time.monotonic() - self._activity_since
        died_of, exit_code = worker.wait()
        _hear_out(readers)
        captured = worker.captured()
        event = {
            "event": "ended",
            "pid": worker.pid,
            "signal": died_of,
            "exit_code": exit_code,
            "phase": worker.board.phase,
            "race": worker.board.race,
            "seconds": round(seconds, 3),
            "activity_seconds": round(spent, 3),
            "stack": self._stacks.text,
            "output": (self._log.recent if captured is None else captured) or None,
            "said": self._log.last,
            "memory_kills": (count_memory_kills() or 0) - (self._kills or 0),
        }
        self._record([event], durable=exit_code != 0)

    # -- reading -------------------------------------------------------------------------------------------------

    def _read_channel(self) -> bytes | None:
        data = _read(self._worker.channel)
        if not data:
            return data
        *lines, self._torn = (self._torn + data).split(b"\n")
        if len(self._torn) > MOST_LINE:
            self._torn = b""
        events = [event for event in parse_lines(lines) if event["event"] not in _OURS]
        self._record(events)
        if any(event["event"] == "collected" for event in events):
            self._worker.let_start()
        return data

    def _record(self, events: list[dict[str, Any]], *, durable: bool = False) -> None:
        taken = []
        for event in events:
            before = self._ledger.activity
            if event["event"] in _OURS:
                self._ledger.apply(event)
            elif not self._ledger.take_in(event):
                continue
            if event["event"] == "capture":
                self._worker.watch_captures(event.get("descriptors"))
            taken.append(event)
            if _is_new(before, self._ledger.activity):
                self._activity_since = time.monotonic()
                self._log.forget_recent()
                self._stacks.forget()
        self._journal.write(taken, durable=durable)

    def _read_output(self) -> bytes | None:
        data = _read(self._worker.output)
        self._log.write(data or b"")
        return data

    def _read_dump(self) -> bytes | None:
        data = _read(self._worker.dump)
        if data:
            self._stacks.add(data)
        return data

    # -- deadlines -----------------------------------------------------------------------------------------------

    def _deadline(self) -> Deadline:
        ledger = self._ledger
        return next_deadline(ledger.activity, self._activity_since, self._limits, self._cell_deadline, ledger.over)

    def _due(self) -> float:
        """When a deadline, the memory or the next step of a stop needs care, on the monotonic clock."""
        if self._stop is not None:
            return self._stop.due(self._stacks.arrived)
        return min(self._deadline().at, self._gauge.due)

    def _keep_deadlines(self) -> None:
        if self._due() > time.monotonic():
            return
        if self._stop is None:
            now, deadline = time.monotonic(), self._deadline()
            if (held := self._gauge.look()) is not None and self._has_culprit():
                deadline = Deadline(now, "memory", held)
            elif deadline.at > now:
                return
            self._begin_to_stop(deadline)
        assert self._stop is not None  # noqa: S101 - it has just begun
        self._stop.step()

    def _has_culprit(self) -> bool:
        """Whether a test or a file can be named for the memory that is held; between two tests one soon can."""
        while self._read_channel():  # what runs may have changed since the last event that was read
            pass
        return self._ledger.activity.kind != "between" or time.monotonic() - self._activity_since > BETWEEN_SECONDS

    def _begin_to_stop(self, deadline: Deadline) -> None:
        self._stacks.arrived = None
        words = {"limit": deadline.limit, "reason": deadline.reason, "phase": self._worker.board.phase}
        self._record([{"event": "deadline", **words, "race": self._worker.board.race}])
        self._stop = Stop(self._worker, hurried=deadline.limit == "memory")


_OURS = frozenset({"plan", "supervisor", "worker", "ended", "interrupted", "over", "observed", "deadline"})


def _hear_out(readers: Mapping[int, Callable[[], bytes | None]]) -> None:
    """Read what a dead worker had said."""
    for read in readers.values():
        for _ in range(64):  # a survivor may go on writing into the pipe
            if not read():
                break


def _is_new(before: Activity, now: Activity) -> bool:
    return (before.kind, before.name, before.round) != (now.kind, now.name, now.round)


def _seconds_until(moment: float) -> float | None:
    return None if moment == float("inf") else max(0.0, moment - time.monotonic())


def _read(descriptor: int) -> bytes | None:
    """Read what is there; None when nothing is, empty at the end of the stream."""
    try:
        return os.read(descriptor, _READ)
    except BlockingIOError:
        return None
