"""The private line from a worker to its supervisor: one JSON object a line, over an inherited pipe.

The descriptor is high and close-on-exec, so that tests which close or replace the standard streams, or start
programs, do not touch it. A forked child shares it and must not be mistaken for the worker: it stays silent.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from typing import Any

LOWEST_DESCRIPTOR = 200
LOST_EXIT_CODE = 113
"""Exit code of a worker whose channel was closed by a test: the supervisor must learn of it in another way."""


def keep_private(descriptor: int) -> int:
    """Move an inherited descriptor out of the way of tests; returns the new number."""
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR)
    except OSError:  # a very low limit on open files
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return high


class Channel:
    """Writes events. Every event is on its way to the supervisor when `send` returns.

    Args:
        descriptor: to write to.
        start: from which one byte can be read when the first test may start.
    """

    def __init__(self, descriptor: int, start: int) -> None:
        self._descriptor = keep_private(descriptor)
        self._start = keep_private(start)
        self._inode = os.fstat(self._descriptor).st_ino
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self.is_forked = False
        """Whether this is a forked child of the worker; a cheap look for what is done often."""
        os.register_at_fork(after_in_child=self._be_silent)

    def _be_silent(self) -> None:
        self.is_forked = True

    def send(self, event: str, **fields: Any) -> None:
        """Write one event as a line of JSON (ASCII, so that any text survives)."""
        self.send_line(json.dumps({"event": event, **fields}).encode("ascii"))

    def send_line(self, line: bytes) -> None:
        """Write one ready-made line. Ends the process when the channel is gone: unheard tests must not run."""
        if os.getpid() != self._pid:  # also true after a fork by native code
            return
        # The line break in front heals a line that an exception in a signal handler tore.
        data = b"\n" + line + b"\n"
        with self._lock:
            try:
                if os.fstat(self._descriptor).st_ino != self._inode:
                    os._exit(LOST_EXIT_CODE)
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                os._exit(LOST_EXIT_CODE)

    def wait_for_start(self) -> None:
        """Return when the supervisor has written down which tests there are: the first of them may kill it."""
        if os.getpid() == self._pid and not os.read(self._start, 1):
            os._exit(LOST_EXIT_CODE)
