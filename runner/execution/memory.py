"""How much memory a worker and its children hold, and whether the kernel ran out of it. Read from /proc.

The limit is kept by looking, not by RLIMIT_AS: a CUDA process reserves far more addresses than it ever uses.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

LEAST_SECONDS = 0.05
"""Between two looks. What a test takes in between is not limited: a core fills about 0.2 GiB in that time."""
SHARE = 0.01
"""Of one core's time that looking may take."""
SHARE_WHEN_NEAR = 0.1
"""The same while the quick count is over the limit."""
MOST_PROCESSES = 1_000
_PAGE = os.sysconf("SC_PAGE_SIZE")
_GIB = 2**30


class MemoryGauge:
    """Looks at one worker as often as is affordable.

    Args:
        pid: of the worker, which is not reaped while this is used.
        limit: bytes that it and its children may hold together, or None for no limit.
    """

    def __init__(self, pid: int, limit: int | None) -> None:
        self._pid = pid
        self._limit = limit
        self._next = 0.0

    @property
    def due(self) -> float:
        """When to look next, on the monotonic clock; infinity without a limit."""
        return float("inf") if self._limit is None else self._next

    def look(self) -> str | None:
        """Why the worker has to be ended, or None; None as well when the next look is not due."""
        began = time.monotonic()
        if self._limit is None or began < self._next:
            return None
        held = held_bytes(self._pid, exact=False)
        pause = max(LEAST_SECONDS, (time.monotonic() - began) / SHARE)
        # What forked processes share counts once for each; only the exact count, which is slow, may end anybody.
        if held > self._limit:
            held = held_bytes(self._pid, exact=True)
            pause = max(pause, (time.monotonic() - began) / SHARE_WHEN_NEAR)
        self._next = time.monotonic() + pause
        if held <= self._limit:
            return None
        return f"used more than the memory limit of {show_bytes(self._limit)}: it held {show_bytes(held)}"


def held_bytes(pid: int, *, exact: bool) -> int:
    """Resident memory of a process and its descendants; 0 for one that is gone.

    Args:
        pid: the eldest.
        exact: count a page that several of them share once (PSS), not once for each (RSS).
    """
    return sum(_proportional(each) if exact else _resident(each) for each in _family(pid))


def show_bytes(count: int) -> str:
    """`8 GiB`, `1.5 GiB`, `300 MiB`."""
    size, unit = (count / _GIB, "GiB") if count >= _GIB else (count / 2**20, "MiB")
    return f"{size:.2f}".rstrip("0").rstrip(".") + f" {unit}"


def count_memory_kills() -> int | None:
    """How often the kernel has ended a process for want of memory since it started; None where it does not say."""
    try:
        match = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) if match else None


def _family(pid: int) -> list[int]:
    family = [pid]
    for each in family:  # grows while it is walked
        if len(family) > MOST_PROCESSES:
            break
        try:
            threads = os.listdir(f"/proc/{each}/task")  # noqa: PTH208 - names alone
        except OSError:
            continue
        for thread in threads:
            family += map(int, _read(f"/proc/{each}/task/{thread}/children").split())
    return family


def _resident(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _proportional(pid: int) -> int:
    match = re.search(rb"^Pss:\s+(\d+) kB", _read(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
    return int(match[1]) * 1024 if match else _resident(pid)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - read many times a second
            return stream.read()
    except OSError:  # it is gone
        return b""
