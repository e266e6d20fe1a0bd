"""Memory that a worker shares with its supervisor: what is running, noted without a system call, readable after death.

It is a file in the cell's folder, so that it also outlives a supervisor that is killed together with its worker before
it has read everything the worker said.
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path
from typing import Any

SIZE = 4096
_RUNNING = struct.Struct("<I")  # at 4: the number of the test that started last, counted from 1; 0 before the first
_RUNNING_OFFSET = 4  # the layout is that of inside/_triton_compat/plugin.py
_RACE_OFFSET = 8  # and from here that of inside/_triton_compat/race_board.py
_RACE_STATE = struct.Struct("<5I")
_PHASES = {b"s": "setup", b"c": "call", b"t": "teardown", b"y": "synchronize"}


class Board:
    """One worker's board, blank at first.

    Args:
        path: of the file; removed by `close`. None, or a full disk, gives memory without a name.

    Attributes:
        descriptor: to hand to the worker.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.descriptor = _create(path)

    def shut_gate(self) -> None:
        """From now on the worker starts no further test."""
        os.pwrite(self.descriptor, b"1", 0)

    @property
    def phase(self) -> str | None:
        """The phase of the test that runs, as the worker noted it last."""
        return _PHASES.get(os.pread(self.descriptor, 1, 1))

    @property
    def race(self) -> dict[str, Any] | None:
        """The round of a race that runs: its number, `threads`, calls of the rounds before, and threads not done.

        `unfinished` holds pairs of a thread's number, from 1, and its id as faulthandler writes it. None where no
        race runs.
        """
        size = _RACE_STATE.size
        state = os.pread(self.descriptor, size, _RACE_OFFSET)
        number, threads, passed, failed, skipped = _RACE_STATE.unpack(state)
        if number == 0:
            return None
        threads = min(threads, (SIZE - _RACE_OFFSET - size) // 8)
        ids = struct.unpack(f"<{threads}Q", os.pread(self.descriptor, 8 * threads, _RACE_OFFSET + size))
        unfinished = [[thread, f"0x{ident:016x}"] for thread, ident in enumerate(ids, start=1) if ident]
        return {
            "round": number,
            "threads": threads,
            "passed": passed,
            "failed": failed,
            "skipped": skipped,
            "unfinished": unfinished,
        }

    def close(self) -> None:
        """Nothing is asked any more; a file that is left behind says that this was not reached."""
        os.close(self.descriptor)
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def read_running(path: Path) -> int | None:
    """Number of the test that started last before worker and supervisor died together; None where none had."""
    try:
        with path.open("rb") as stream:
            stream.seek(_RUNNING_OFFSET)
            number = int(_RUNNING.unpack(stream.read(_RUNNING.size))[0])
    except (OSError, struct.error):
        return None
    return number - 1 if number else None


def _create(path: Path | None) -> int:
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                # Every byte gets its place on the disk now: writing through memory on a full one would be a SIGBUS.
                os.posix_fallocate(descriptor, 0, SIZE)
            except OSError:
                os.close(descriptor)
                path.unlink(missing_ok=True)
                raise
            return descriptor
    descriptor = os.memfd_create("board", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, SIZE)
    return descriptor
