"""Run a helper program to its end: bounded in time and output, in a process group that never outlives the call."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_TAIL_BYTES = 65_536
_DRAIN_SECONDS = 5.0

# What would make a Python other than the one that was asked for, or make it start differently: PYTHON_GIL=0 kills a
# build with the GIL before it says a word.
_MISLEADING = ("PYTHON", "VIRTUAL_ENV", "CONDA_", "PIP_", "UV_", "__PYVENV")


@dataclass(frozen=True)
class Finished:
    """A program that has ended.

    Attributes:
        code: exit status, negative for a signal; None when it ran past its time and was killed.
        output: the end of its standard output and error, together.
        seconds: wall time.
    """

    code: int | None
    output: str
    seconds: float

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self.code is None:
            return f"did not end within {self.seconds:.0f} s"
        if self.code < 0:
            with contextlib.suppress(ValueError):
                return f"was killed by {signal.Signals(-self.code).name}"
        return f"ended with exit status {self.code}"

    def last_lines(self, count: int, width: int = 400) -> str:
        """The last lines that hold anything, each cut to a width: fit for an error message."""
        lines = [line.rstrip() for line in self.output.splitlines() if line.strip()]
        return "\n".join(line if len(line) <= width else line[:width] + "..." for line in lines[-count:])


def clean_environ(*, keep: Sequence[str] = ()) -> dict[str, str]:
    """The caller's environment variables without those that mislead Python, pip or uv, except the ones in `keep`."""
    return {
        name: value for name, value in os.environ.items() if name in keep or not name.upper().startswith(_MISLEADING)
    }


def run(
    command: Sequence[str | Path],
    *,
    timeout: float,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
    inherit: Sequence[int] = (),
    every: float = 30.0,
    tick: Callable[[float], None] | None = None,
) -> Finished:
    """Run a program; whatever happens, nothing of its process group is left.

    Args:
        command: program and arguments.
        timeout: seconds.
        environ: its environment variables; `clean_environ()` when None.
        cwd: where it starts.
        log: a file that gets the whole output, appended.
        inherit: file descriptors that stay open in it (a lock that must live as long as it does).
        every: seconds between two calls of `tick`.
        tick: told the seconds so far, for programs that run long.

    Raises:
        OSError: it could not be started.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(clean_environ() if environ is None else environ),
        cwd=cwd,
        start_new_session=True,
        pass_fds=tuple(inherit),
    )
    tail = bytearray()
    with contextlib.ExitStack() as stack:
        copy = stack.enter_context(log.open("ab")) if log is not None else None
        reader = threading.Thread(target=_drain, args=(process.stdout, tail, copy), daemon=True)
        reader.start()
        try:
            in_time = _wait(process, started, timeout, every, tick)
        finally:
            _end_group(process)
            # A grandchild in a session of its own may hold the pipe for ever; its output is not waited for.
            reader.join(_DRAIN_SECONDS)
    code = process.returncode if in_time else None
    return Finished(code, bytes(tail).decode(errors="replace"), time.monotonic() - started)


def _wait(
    process: subprocess.Popen[bytes],
    started: float,
    timeout: float,
    every: float,
    tick: Callable[[float], None] | None,
) -> bool:
    """Whether it ended in time. It is not reaped yet: until then the kernel gives its group's number to nobody else."""
    descriptor = os.pidfd_open(process.pid)
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    try:
        while (left := started + timeout - time.monotonic()) > 0:
            if ended.poll(1000 * min(left, every)):
                return True
            if tick is not None:
                tick(time.monotonic() - started)
    finally:
        os.close(descriptor)
    return False


def _drain(stream: IO[bytes] | None, tail: bytearray, copy: IO[bytes] | None) -> None:
    if stream is None:
        return
    with stream:
        while chunk := os.read(stream.fileno(), _TAIL_BYTES):
            tail += chunk
            del tail[:-_TAIL_BYTES]
            if copy is not None:
                with contextlib.suppress(OSError, ValueError):  # a full disk loses log lines, not the run
                    copy.write(chunk)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
