"""What pytest captures of a test's output is shown to the supervisor: it outlives a crash."""

from __future__ import annotations

import fcntl

from .channel import Channel

LOWEST_DESCRIPTOR = 220


class Capture:
    """The files into which pytest captures output, the same for the whole session.

    Args:
        channel: where they are named.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.is_watched = False

    def watch(self) -> None:
        """Hand the files to the supervisor, once. Called where pytest's capturing is active."""
        if self.is_watched:
            return
        self.is_watched = True
        try:
            copies = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR) for stream in (1, 2)]
        except OSError:
            return
        self._channel.send("capture", descriptors=copies)
