"""A lock on a folder that readers share and its maker has alone, and that the kernel frees when its holder dies."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import Self

from runner.environment.progress import Progress


class FolderLock:
    """`flock` on a file beside a folder.

    A program that inherits `descriptor` holds the lock too, so a kill of its parent does not free the folder while the
    program still writes into it. For the kernel it is the process that holds it: threads of one process exclude each
    other with `threads`.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.threads = threading.Lock()
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def share(self, progress: Progress, waiting: str) -> None:
        """Hold it together with other readers. Gives up a lock that was held alone only for a moment, if at all."""
        self._take(fcntl.LOCK_SH, progress, waiting)

    def own(self, progress: Progress, waiting: str) -> None:
        """Hold it alone. What was seen under a shared lock must be looked at again: another may have been faster."""
        self._take(fcntl.LOCK_EX, progress, waiting)

    def _take(self, kind: int, progress: Progress, waiting: str) -> None:
        try:
            fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(waiting)
            fcntl.flock(self.descriptor, kind)

    def free(self) -> None:
        """Let it go, and keep the file open for the next time."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let it go for good."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
