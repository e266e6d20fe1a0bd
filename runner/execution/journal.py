"""journal.jsonl: one event a line, appended before it counts. What is not in it did not happen."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from runner.errors import ExecutionError

SCHEMA = "triton-compat/journal/1"


def read_events(path: Path) -> list[dict[str, Any]]:
    """Read all whole events of a journal; a torn last line, and anything else that is not an event, is left out.

    Returns:
        The events in order; empty when there is no journal.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return list(parse_lines(data.split(b"\n")))


def parse_lines(lines: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    """Parse lines that should hold one JSON object each; others are dropped: a crash can tear one, a test write one.

    Numbers that JSON does not know, NaN and infinity, make a line worthless; lone surrogates become question marks, so
    that every text can be written.
    """
    for line in lines:
        if not line:
            continue
        try:
            event = json.loads(line, parse_constant=_refuse, parse_float=_finite)
            if any(mark in line for mark in _SURROGATES):
                event = json.loads(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            yield event


_SURROGATES = (b"\\ud", b"\\uD", b"\xed")
"""Whatever stands for one contains one of these: an escape, or its bytes."""


def _refuse(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


class Journal:
    """Appends events to a journal under a lock, so that two supervisors never write the same cell.

    Args:
        path: of journal.jsonl; its folder exists.
        plan_sha: what the journal is about.
        fresh: start anew although there is a journal.

    Raises:
        ExecutionError: another process holds this journal, or it cannot be written.
    """

    def __init__(self, path: Path, plan_sha: str, *, fresh: bool) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ExecutionError(
                f"{path} cannot be written: {error.strerror}", remedy="Give --out a folder that can be written."
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise ExecutionError(
                f"another triton-compat is running this cell: {path} is locked",
                remedy="Wait for it, or give --out another folder.",
            ) from error
        self.lost: str | None = None
        """Why events could not be written to disk, or None."""
        if fresh:
            os.ftruncate(self._descriptor, 0)
            self.write([{"event": "plan", "schema": SCHEMA, "plan_sha": plan_sha}])
        else:
            self._append(b"\n")  # ends a torn line

    def write(self, events: Iterable[Mapping[str, Any]], *, durable: bool = False) -> None:
        """Append events with the time; with `durable` they survive the loss of the machine as well.

        A full disk does not end the cell: the results are still in memory, and `lost` says what happened.
        """
        now = round(time.time(), 4)
        self._append(b"".join(_line({**event, "t": now}) for event in events))
        if durable:
            with contextlib.suppress(OSError):
                os.fdatasync(self._descriptor)

    def _append(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self.lost = error.strerror or str(error)

    def close(self) -> None:
        """Give the lock back."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _line(event: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(event).encode("ascii") + b"\n"
    except RecursionError:  # a test's own: nothing of ours is nested
        return b""
