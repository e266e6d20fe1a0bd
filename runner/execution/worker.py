"""A worker process as the supervisor holds it: its descriptors, its death, its last words."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from runner.execution.board import Board
from runner.execution.orders import Orders
from runner.execution.processes import end_leftovers
from runner.execution.surroundings import TOKEN

INSIDE = Path(__file__).parents[1] / "inside" / "_triton_compat"
STACK_SIGNAL = int(signal.SIGRTMAX) - 3
"""Asks a worker for the stacks of all its threads; a real-time signal that tests hardly use."""
OUTPUT_BYTES = 8_000


class WorkerProcess:
    """A started worker.

    Args:
        python: the tested interpreter.
        orders: what it has to do.
        variables: its environment.
        folder: where it starts.
        board: see `Board`.

    Attributes:
        pid: its pid; it leads a session and a process group of that number.
        death: descriptor that becomes readable when it has ended.
        board: what it notes of the running test.
        channel, output, dump: descriptors to read its events, its output and faulthandler's text from; non-blocking.
    """

    def __init__(
        self, python: Path, orders: Orders, variables: Mapping[str, str], folder: Path, board: Path | None = None
    ) -> None:
        self.channel, channel_end = os.pipe()
        self.output, output_end = os.pipe()
        self.dump, dump_end = os.pipe()
        start_end, self._start = os.pipe()
        os.set_blocking(self._start, False)
        orders_end = os.memfd_create("orders", os.MFD_CLOEXEC)
        with os.fdopen(os.dup(orders_end), "wb") as stream:
            stream.write(orders.to_json().encode("ascii"))
        os.lseek(orders_end, 0, os.SEEK_SET)
        self.board = Board(board)
        board_end = os.dup(self.board.descriptor)
        ends = (channel_end, orders_end, dump_end, board_end, start_end)
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
            self._close(self.channel, self.output, self.dump, self._start)
            self.board.close()
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

    def let_start(self) -> None:
        """The plan is in the journal: the first test may start, and do what it wants with this supervisor."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._start, b"1")

    def ask_for_stacks(self) -> None:
        """Make the worker write the stacks of all threads to `dump`, and let a stopped one go on.

        A stopped process keeps the signal until it goes on, and answers it before anything else. Sent the other way
        round, the test could go on and the process end before it was asked. The signal can wake a sleeping test, which
        would let the worker go on to the next: the gate is shut before.
        """
        self.board.shut_gate()
        self._send(STACK_SIGNAL)
        self._send(signal.SIGCONT)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.death, number)

    def watch_captures(self, descriptors: object) -> None:
        """Keep hold of the files into which pytest captures the worker's output, once."""
        if self._captures or not isinstance(descriptors, list):
            return
        for descriptor in descriptors[:2]:
            with contextlib.suppress(OSError):
                capture = os.open(f"/proc/{self.pid}/fd/{descriptor:d}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
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

    def end(self) -> None:
        """Make sure that nothing of it runs. What it said can still be read."""
        if self._popen.returncode is None:
            self._popen.kill()
            os.waitid(os.P_PIDFD, self.death, os.WEXITED | os.WNOWAIT)
            self.wait()

    def close(self) -> None:
        """Make sure that nothing of it runs, and close every descriptor."""
        self.end()
        self._close(self.channel, self.output, self.dump, self._start, self.death, *self._captures)
        self.board.close()

    @staticmethod
    def _close(*descriptors: int) -> None:
        for descriptor in descriptors:
            os.close(descriptor)
