"""A worker process as the supervisor holds it: its descriptors, its death, its last words."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.execution.orders import Orders
from runner.execution.processes import end_leftovers
from runner.execution.surroundings import TOKEN

INSIDE = Path(__file__).parents[1] / "inside" / "_triton_compat"
STACK_SIGNAL = int(signal.SIGRTMAX) - 3
"""Asks a worker for the stacks of all its threads; a real-time signal that tests hardly use."""
OUTPUT_BYTES = 8_000
BOARD_BYTES = 4096
_RACE_OFFSET = 8  # the layout is that of inside/_triton_compat/race_board.py
_RACE_STATE = struct.Struct("<5I")
_PHASES = {b"s": "setup", b"c": "call", b"t": "teardown", b"y": "synchronize"}


class WorkerProcess:
    """A started worker.

    Attributes:
        pid: its pid; it leads a session and a process group of that number.
        death: descriptor that becomes readable when it has ended.
        channel, output, dump: descriptors to read its events, its output and faulthandler's text from; non-blocking.
    """

    def __init__(self, python: Path, orders: Orders, variables: Mapping[str, str], folder: Path) -> None:
        self.channel, channel_end = os.pipe()
        self.output, output_end = os.pipe()
        self.dump, dump_end = os.pipe()
        orders_end = os.memfd_create("orders", os.MFD_CLOEXEC)
        with os.fdopen(os.dup(orders_end), "wb") as stream:
            stream.write(orders.to_json().encode("ascii"))
        os.lseek(orders_end, 0, os.SEEK_SET)
        self._board = os.memfd_create("board", os.MFD_CLOEXEC)
        os.ftruncate(self._board, BOARD_BYTES)
        board_end = os.dup(self._board)
        ends = (channel_end, orders_end, dump_end, board_end)
        words = [str(python), str(INSIDE / "__main__.py"), *map(str, ends), str(os.getpid())]
        try:
            self._popen = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output_end,
                stderr=output_end,
                cwd=folder,
                env=dict(variables),
                pass_fds=ends,
                start_new_session=True,
            )
        except BaseException:
            self._close(self.channel, self.output, self.dump, self._board)
            raise
        finally:
            self._close(*ends, output_end)
        self.pid = self._popen.pid
        self.death = os.pidfd_open(self.pid)
        for descriptor in (self.channel, self.output, self.dump):
            os.set_blocking(descriptor, False)
        self._captures: list[int] = []
        self._mark = f"{TOKEN}={variables[TOKEN]}".encode()
        self._spare_the_machine()

    def _spare_the_machine(self) -> None:
        """No core files; and where memory runs out, the kernel shall take the worker, not the supervisor."""
        with contextlib.suppress(OSError):
            resource.prlimit(self.pid, resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.pid}/oom_score_adj").write_text("500", encoding="ascii")

    def ask_for_stacks(self) -> None:
        """Make the worker write the stacks of all threads to `dump`; a stopped one goes on first.

        The signal can wake a sleeping test, which would let the worker go on to the next: the gate is shut before.
        """
        os.pwrite(self._board, b"1", 0)
        self._send(signal.SIGCONT)
        self._send(STACK_SIGNAL)

    @property
    def phase(self) -> str | None:
        """The phase of the test that runs, as the worker noted it last."""
        return _PHASES.get(os.pread(self._board, 1, 1))

    @property
    def race(self) -> dict[str, Any] | None:
        """The round of a race that runs: its number, `threads`, calls of the rounds before, and threads not done.

        `unfinished` holds pairs of a thread's number, from 1, and its id as faulthandler writes it. None without a race.
        """
        size = _RACE_STATE.size
        number, threads, passed, failed, skipped = _RACE_STATE.unpack(os.pread(self._board, size, _RACE_OFFSET))
        if number == 0:
            return None
        threads = min(threads, (BOARD_BYTES - _RACE_OFFSET - size) // 8)
        ids = struct.unpack(f"<{threads}Q", os.pread(self._board, 8 * threads, _RACE_OFFSET + size))
        unfinished = [[thread, f"0x{ident:016x}"] for thread, ident in enumerate(ids, start=1) if ident]
        return {
            "round": number,
            "threads": threads,
            "passed": passed,
            "failed": failed,
            "skipped": skipped,
            "unfinished": unfinished,
        }

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.death, number)

    def watch_captures(self, descriptors: list[int]) -> None:
        """Keep hold of the files into which pytest captures the worker's output."""
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                capture = os.open(f"/proc/{self.pid}/fd/{int(descriptor)}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
                if stat.S_ISREG(os.fstat(capture).st_mode):
                    self._captures.append(capture)
                else:
                    os.close(capture)

    def captured(self) -> str | None:
        """The end of what pytest had captured in the phase that was running; None where pytest captures nothing."""
        if not self._captures:
            return None
        texts = []
        for capture in self._captures:
            with contextlib.suppress(OSError):
                size = os.fstat(capture).st_size
                data = os.pread(capture, OUTPUT_BYTES, max(0, size - OUTPUT_BYTES))
                texts.append(data.decode("utf-8", "backslashreplace"))
        return "\n".join(filter(None, texts))

    def wait(self) -> tuple[str | None, int | None]:
        """Clear away what the ended worker left running, then reap it.

        Returns:
            Name of the signal that ended it or None, and its exit code or None.
        """
        end_leftovers(self.pid, self._mark)
        code = self._popen.wait()
        if code >= 0:
            return None, code
        try:
            return signal.Signals(-code).name, None
        except ValueError:
            return f"signal {-code}", None

    def close(self) -> None:
        """Make sure that nothing of it runs, and close every descriptor."""
        if self._popen.returncode is None:
            self._popen.kill()
            os.waitid(os.P_PIDFD, self.death, os.WEXITED | os.WNOWAIT)
            self.wait()
        self._close(self.channel, self.output, self.dump, self._board, self.death, *self._captures)

    @staticmethod
    def _close(*descriptors: int) -> None:
        for descriptor in descriptors:
            os.close(descriptor)
