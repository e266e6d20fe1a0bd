"""GPUs leased to one cell at a time, across processes and users of a machine, by locks that die with their holder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import getpass
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

LOCKS_VARIABLE = "TRITON_COMPAT_LOCKS"
"""Names the folder of the locks: for containers that share GPUs, but neither /run/lock nor /tmp."""
_SHARED = Path("/run/lock")
_LAST_RESORT = Path("/tmp")  # noqa: S108 - every user of the machine has to find the same folder
_STICKY_FOR_ALL = 0o1777
_MOST_TEXT = 2_000


def lock_folder(variables: Mapping[str, str]) -> Path:
    """The folder that every user of this machine takes: never one that only some of them can write to."""
    if chosen := variables.get(LOCKS_VARIABLE):
        return Path(chosen)
    with contextlib.suppress(OSError):
        if stat.S_IMODE(_SHARED.stat().st_mode) == _STICKY_FOR_ALL:
            return _SHARED
    return _LAST_RESORT


@dataclass(frozen=True)
class Holder:
    """Who holds a lease, as it wrote itself: for people, never for decisions."""

    pid: int = 0
    user: str = "?"
    cell: str = "?"
    since: str = "?"

    def __str__(self) -> str:
        return f"{self.cell} (process {self.pid} of {self.user}, since {self.since})"


class GpuLock:
    """The lease of one GPU or MIG instance: a lock on a file that is never removed, with the holder's name in it.

    Args:
        folder: see `lock_folder`.
        uuid: of the GPU.

    Raises:
        OSError: the file cannot be opened, whoever made it.
    """

    def __init__(self, folder: Path, uuid: str) -> None:
        self._path = folder / f"triton-compat-{re.sub(r'[^A-Za-z0-9-]', '_', uuid)}.lock"
        self._descriptor = _open(self._path)
        self._is_mine = False
        self.was_abandoned = False
        """Whether the holder before was killed: what it ran on the GPU may still be ending."""

    def take(self, cell: str) -> bool:
        """Take the lease unless somebody has it; True when it is ours."""
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            if self._is_current():
                break
            os.close(self._descriptor)  # somebody cleared the folder: the others lock another file
            self._descriptor = _open(self._path)
        self._is_mine = True
        self.was_abandoned = bool(os.pread(self._descriptor, 1, 0))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write(json.dumps(asdict(Holder(os.getpid(), _user(), cell, now))))
        return True

    def holder(self) -> Holder:
        """Who has it, as far as that can be read."""
        try:
            found = json.loads(os.pread(self._descriptor, _MOST_TEXT, 0))
            texts = {name: str(found[name]).encode("unicode_escape").decode()[:200] for name in found}
            return Holder(int(texts["pid"]), texts["user"], texts["cell"], texts["since"])
        except (OSError, ValueError, KeyError, TypeError):
            return Holder()

    def close(self) -> None:
        """Give the lease back, if it is ours, and close the file."""
        if self._is_mine:
            self._write("")
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._is_mine, self._descriptor = False, -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_current(self) -> bool:
        try:
            there = self._path.lstat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # opened for reading alone, or a full disk: the lock holds all the same
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode("ascii"), 0)


def _open(path: Path) -> int:
    """Open a lock file for all users, made when it is missing.

    Never with O_CREAT on a file that is there: Linux refuses that for files of others in a sticky folder
    (fs.protected_regular). A lock needs no right to write.
    """
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for _ in range(10):
        for mode in (os.O_RDWR, os.O_RDONLY):
            try:
                descriptor = os.open(path, mode | flags)
            except FileNotFoundError:
                break
            except PermissionError:
                if mode == os.O_RDONLY:
                    raise
                continue
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise OSError(errno.EINVAL, "it is no regular file", str(path))
            return descriptor
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666)
            os.fchmod(descriptor, 0o666)  # whatever the umask: other users lead their cells here too
            return descriptor
    raise OSError(errno.EAGAIN, "it appears and vanishes", str(path))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"user {os.getuid()}"
