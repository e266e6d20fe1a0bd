"""What the supervisor can read of a race after this process is dead: round, counts, and which threads were not done."""

from __future__ import annotations

import mmap
import struct
import threading

OFFSET = 8  # what stands before is the plugin's
_STATE = struct.Struct("<5I")  # round, threads, passed, failed, skipped; as in runner/execution/worker.py
_THREAD = struct.Struct("<Q")


class RaceBoard:
    """Writes into memory that is shared with the supervisor; no call costs a system call.

    Args:
        board: the worker's.
    """

    def __init__(self, board: mmap.mmap) -> None:
        self._board = board

    def begin_round(self, number: int, threads: int, counts: tuple[int, int, int]) -> None:
        """Note a round.

        Args:
            number: 1-based.
            threads: that will run in it; none has started yet.
            counts: passed, failed, skipped calls of the rounds before.
        """
        _STATE.pack_into(self._board, OFFSET, number, threads, *counts)

    def enter(self, thread: int) -> None:
        """Note that this thread is the one with that number, from 0, and is running."""
        _THREAD.pack_into(self._board, OFFSET + _STATE.size + _THREAD.size * thread, threading.get_ident())

    def leave(self, thread: int) -> None:
        """Note that it is done."""
        _THREAD.pack_into(self._board, OFFSET + _STATE.size + _THREAD.size * thread, 0)

    def end(self) -> None:
        """No race is running any more."""
        _STATE.pack_into(self._board, OFFSET, 0, 0, 0, 0, 0)
