"""A dead CUDA context ends its worker: looked for after everything that may have killed one."""

from __future__ import annotations

import os

from . import cuda
from .channel import Channel


class Contexts:
    """The CUDA contexts of this process.

    Args:
        channel: where a death is reported.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._probe = cuda.Probe()

    def look(self) -> str | None:
        """The error of a dead context, or None. Waits for the GPU."""
        if self._channel.is_forked:  # CUDA does not survive a fork
            return None
        return self._probe.look()

    def require_living(self) -> None:
        """End this process when what was just imported killed the context: no test shall be blamed for it."""
        dead = self.look()
        if dead is not None and not cuda.is_reset(dead):
            self.leave(dead)

    def leave(self, dead: str) -> None:
        """Only a new process has a new context. Fixtures are not torn down: they would meet the dead one."""
        self._channel.send("dead_context", error=dead)
        os._exit(cuda.DEAD_CONTEXT_EXIT_CODE)
