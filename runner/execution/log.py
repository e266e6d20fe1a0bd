"""log.txt: what the workers wrote to standard output and error, bounded in size whatever they write."""

from __future__ import annotations

import contextlib
from collections import deque
from pathlib import Path

HEAD_BYTES = 2_000_000
TAIL_BYTES = 1_000_000
LAST_BYTES = 8_000


class BoundedLog:
    """Keeps the beginning on disk at once and the end in memory until `close`.

    Args:
        path: of the file; appended to when it exists (a resumed cell).
        head, tail: bytes to keep of this supervisor's share.
    """

    def __init__(self, path: Path, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._stream = path.open("ab", buffering=0)
        self._room = head
        self._tail_limit = tail
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._left_out = 0
        self._last = b""
        self._since = 0

    def write(self, data: bytes) -> None:
        """Add output. A full disk loses text, never results."""
        self._last = (self._last[-LAST_BYTES:] + data[-LAST_BYTES:])[-LAST_BYTES:]
        self._since += len(data)
        if self._room > 0:
            part, data = data[: self._room], data[self._room :]
            self._room -= len(part)
            self._put(part)
        if data:
            self._tail.append(data)
            self._tail_bytes += len(data)
            while self._tail_bytes - len(self._tail[0]) > self._tail_limit:
                gone = len(self._tail.popleft())
                self._tail_bytes -= gone
                self._left_out += gone

    def forget_recent(self) -> None:
        """Start a new stretch for `recent`: a test begins."""
        self._since = 0

    @property
    def recent(self) -> str:
        """The end of what was written since the last `forget_recent`."""
        return self._last[max(0, len(self._last) - self._since) :].decode("utf-8", "backslashreplace")

    @property
    def last(self) -> str:
        """The end of all that was written."""
        return self._last.decode("utf-8", "backslashreplace")

    def close(self) -> None:
        """Write the end."""
        if self._left_out:
            self._put(f"\n[... {self._left_out} bytes of output left out ...]\n".encode())
        for part in self._tail:
            self._put(part)
        self._tail.clear()
        self._stream.close()

    def _put(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(data)
