"""What stops a run from outside: Ctrl-C, and SIGTERM and SIGHUP, which interrupt too and are no death on the spot.

GitHub cancels a job with SIGINT, after 7.5 seconds SIGTERM, after 2.5 more SIGKILL; batch systems begin with SIGTERM;
a terminal that is closed, or an ssh connection that is lost, sends SIGHUP.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

STOP_SECONDS = 6.0
"""For a stage to end what it started: less than GitHub waits after its first signal."""
SAME_SECONDS = 1.0
"""A second signal within this time tells the same once more: Ctrl-C comes from the terminal and from our parent."""
_PR_SET_PDEATHSIG = 1


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived.

    Args:
        how: which of them.
    """

    def __init__(self, how: signal.Signals) -> None:
        super().__init__(how.name)
        self.how = how


@contextmanager
def interruptible() -> Iterator[None]:
    """While this lasts SIGTERM and SIGHUP interrupt as Ctrl-C does, and what is told twice interrupts once.

    Signals that are ignored, as `nohup` and shells for their background jobs have it, stay so. Threads other than the
    first one cannot change how signals are taken; there nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last: list[float] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if last and now - last[0] < SAME_SECONDS:
            return
        last[:] = [now]
        raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError(signal.Signals(number))

    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.getsignal(number) for number in usual}
    ours = [number for number, handler in before.items() if handler == usual[number]]
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def run_child(words: Sequence[str]) -> int:
    """Run a command to its end and return its exit status; negative for a signal.

    What interrupts us is passed on to it, and it has `STOP_SECONDS` to end what it started. Should this process be
    killed, the kernel tells it so. Call it from the first thread: for the kernel, that one is the parent.
    """
    with interruptible():
        child = subprocess.Popen(
            words,
            preexec_fn=dying_with_parent(signal.SIGTERM),  # noqa: PLW1509 - between fork and exec it takes no lock
        )
        try:
            return child.wait()
        except BaseException as error:
            child.send_signal(error.how if isinstance(error, TerminatedError) else signal.SIGINT)
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            finally:
                child.kill()
                child.wait()
            raise


def dying_with_parent(how: signal.Signals) -> Callable[[], None]:
    """For `preexec_fn`: the child gets a signal when this process dies, and interrupts it takes as usual."""
    parent, libc = os.getpid(), ctypes.CDLL(None)

    def prepare() -> None:
        # A shell's background jobs ignore interrupts, and would hand that on.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        libc.prctl(_PR_SET_PDEATHSIG, int(how), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare
