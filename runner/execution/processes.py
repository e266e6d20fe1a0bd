"""The processes that a worker leaves behind: found by descent and mark, and ended. Never one that is not ours."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

SHORTEST_MARK = 16
REAP_SECONDS = 5.0
_STARTED = 19  # index of the start time in /proc/PID/stat, counted after the name
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """While this lasts, orphaned descendants become children of this process, so that they can be found and reaped."""
    libc = ctypes.CDLL(None)
    before = ctypes.c_int(0)
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def end_group(leader: int, how: signal.Signals) -> None:
    """Send a signal to a worker's process group, if it still has members."""
    if leader <= 1:
        raise ValueError(f"no worker leads the process group {leader}")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, how)


def end_leftovers(leader: int | None, mark: bytes) -> list[int]:
    """Kill and reap what is left of an ended worker: its group, its session, and what carries the mark.

    A daemon that left the session is known by the mark in its initial environment. One that cleaned its environment
    too is known by having been adopted: it is a child of this process, younger than the worker, in a session that
    neither we nor a living other process leads. What this process starts itself is in its own session.

    Args:
        leader: pid of the ended worker, which led its own session and group and has not been reaped yet: until then
            the number cannot belong to anybody else. None where the mark alone is known.
        mark: `NAME=value` as it stands in the environment of everything the worker started.

    Returns:
        Pids that were killed.

    Raises:
        ValueError: see `require_one_worker`.
    """
    require_one_worker(leader, mark)
    killed: list[int] = []
    # A process can fork between the look and the kill; every round kills what it sees until none is left.
    for _ in range(20):
        found = [pid for pid in _all_pids() if pid not in {os.getpid(), leader} and _is_left_over(pid, leader, mark)]
        alive = [pid for pid in found if not _is_zombie(pid)]
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        for pid in found:
            _reap(pid)
        if not alive:
            break
    return killed


def require_one_worker(leader: int | None, mark: bytes) -> None:
    """Refuse what could fit processes of others, before anything is killed.

    Raises:
        ValueError: a leader such as 0, which is the session of everything that began outside of a container; or a
            mark without a long value, which processes of others may carry.
    """
    if leader is not None and leader <= 1:
        raise ValueError(f"no worker has the pid {leader}")
    if len(mark.partition(b"=")[2]) < SHORTEST_MARK:
        raise ValueError(f"the mark {mark!r} does not tell one worker's processes from others")


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - thousands of entries, names alone


def _is_left_over(pid: int, leader: int | None, mark: bytes) -> bool:
    fields = _stat(pid)
    if fields is None:
        return False
    group, session = int(fields[2]), int(fields[3])
    if leader is not None and leader in (group, session):
        return True
    if group <= 0 or session <= 0:  # from outside of this container: never a descendant of ours
        return False
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # a zombie, or a process of another user
        variables = []
    if mark in variables:
        return True
    name = mark.partition(b"=")[0] + b"="
    return leader is not None and not any(v.startswith(name) for v in variables) and _is_adopted(pid, fields, leader)


def _is_adopted(pid: int, fields: list[str], leader: int) -> bool:
    """Whether a process came to us by the death of its parent, while the worker (not yet reaped) was there."""
    parent, session, began = int(fields[1]), int(fields[3]), int(fields[_STARTED])
    worker = _stat(leader)
    if parent != os.getpid() or session == os.getsid(0) or worker is None or began < int(worker[_STARTED]):
        return False
    return session == pid or _is_zombie(session)


def _is_zombie(pid: int) -> bool:
    fields = _stat(pid)
    return fields is None or fields[0] == "Z"


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat after the name: state, ppid, pgrp, session, ..."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _reap(pid: int) -> None:
    """Wait, bounded, for a killed process if it is our child (adopted or not); its own parent does so otherwise."""
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        death = os.pidfd_open(pid)
        try:
            select.select([death], [], [], REAP_SECONDS)
            os.waitpid(pid, os.WNOHANG)
        finally:
            os.close(death)
