"""What faulthandler writes in a worker: the stacks of a crash, or those that were asked for."""

from __future__ import annotations

import time

STACK_CHARS = 20_000


class Stacks:
    """The text so far, bounded.

    Attributes:
        arrived: when the last piece came, on the monotonic clock; None when none has since somebody reset this.
    """

    def __init__(self) -> None:
        self.arrived: float | None = None
        self._data = b""

    def add(self, data: bytes) -> None:
        """Take a piece."""
        self._data = (self._data + data)[: 4 * STACK_CHARS]
        self.arrived = time.monotonic()

    def forget(self) -> None:
        """Start anew: something else runs, to which the text would not belong."""
        self._data = b""

    @property
    def text(self) -> str | None:
        """All of it, with head and tail of a long one; None when there is none."""
        text = self._data.decode("utf-8", "backslashreplace")
        if len(text) > STACK_CHARS:
            half = STACK_CHARS // 2
            text = f"{text[:half]}\n[... {len(text) - STACK_CHARS} characters left out ...]\n{text[-half:]}"
        return text or None
