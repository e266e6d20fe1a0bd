"""A worker: one process, one pytest session, one collection; everything that happens is reported as it happens."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import mmap
import os
import signal
import sys
import traceback
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from . import gil, imports, text
from .channel import Channel, keep_private

_PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> int:
    """Run one pytest session as the supervisor orders; arguments as in `__main__`.

    Returns:
        0 when the session came to an end, however its tests went: that is in the events.
    """
    channel_fd, orders_fd, dump_fd, board_fd, start_fd, parent = (int(word) for word in argv)
    _die_with(parent)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job; tests know nothing of that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    channel = Channel(channel_fd, start_fd)
    with os.fdopen(orders_fd, encoding="utf-8") as stream:
        orders = json.load(stream)
    dump = keep_private(dump_fd)
    board = mmap.mmap(board_fd, 0)
    os.close(board_fd)
    # C-level handlers: they show the stacks of a process that is stuck in native code, with the GIL held or not.
    faulthandler.enable(file=dump)
    faulthandler.register(orders["stack_signal"], file=dump, all_threads=True, chain=False)
    channel.send("hello", **observe_self())
    gil.watch_imports(lambda module: channel.send("gil", module=module, gil=gil.is_enabled()))
    _run_session(channel, dump, board, orders)
    faulthandler.enable(file=dump)  # what still comes, threads and atexit, may crash as well
    return 0


def observe_self() -> dict[str, Any]:
    """What this process really is, before any user code ran."""
    suffix = EXTENSION_SUFFIXES[0]
    return {
        "pid": os.getpid(),
        "python": ".".join(map(str, sys.version_info[:3])) + _prerelease(),
        "build": " ".join(sys.version.split()),
        "soabi": suffix[1:].removesuffix(".so") or None,
        "executable": sys.executable,
        "free_threaded_build": gil.FREE_THREADED_BUILD,
        "gil": gil.is_enabled(),
    }


def _prerelease() -> str:
    level = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(sys.version_info.releaselevel)
    return f"{level}{sys.version_info.serial}" if level else ""


def _run_session(channel: Channel, dump: int, board: mmap.mmap, orders: dict[str, Any]) -> None:
    try:
        import pytest  # noqa: PLC0415 - may fail, and that is a finding
    except Exception as error:  # noqa: BLE001 - whatever a broken environment raises is the message
        _refuse(channel, imports.why_no_pytest(error))
        return
    try:
        plugins = _make_plugins(channel, dump, board, orders)
    except Exception as error:  # noqa: BLE001 - a pytest of another time
        _refuse(channel, f"pytest {pytest.__version__} cannot be watched: {type(error).__name__}: {error}")
        return
    sys.argv = [os.path.join(os.path.dirname(sys.executable), "pytest"), *orders["arguments"]]
    imports.name_plugins()
    try:
        status = pytest.main(orders["arguments"], plugins=plugins)
    except BaseException as error:  # noqa: BLE001 - SystemExit in a conftest.py ends here
        message = text.bound(f"{type(error).__name__}: {error}", text.MESSAGE_CHARS)
        channel.send("abort", message=message, stack=text.bound(traceback.format_exc(), text.STACK_CHARS))
        return
    channel.send("done", status=int(status), gil=gil.is_enabled())


def _refuse(channel: Channel, why: str) -> None:
    """Say why no test can run here; the traceback goes to the log."""
    traceback.print_exc()
    channel.send("unready", reason=text.bound(why, text.MESSAGE_CHARS))


def _make_plugins(channel: Channel, dump: int, board: mmap.mmap, orders: dict[str, Any]) -> list[object]:
    """Ours. Their modules need pytest, so they are imported where it is known that there is one."""
    from .capture import Capture  # noqa: PLC0415
    from .collection import Collection  # noqa: PLC0415
    from .contexts import Contexts  # noqa: PLC0415
    from .plugin import Plugin  # noqa: PLC0415

    contexts, capture = Contexts(channel), Capture(channel)
    collection = Collection(channel, orders, contexts, capture)
    more: dict[str, Any] = {
        "channel": channel,
        "dump": dump,
        "board": board,
        "numbers": collection.numbers,
        "contexts": contexts,
        "capture": capture,
    }
    if orders["race"] is None:
        return [collection, Plugin(**more)]
    from .race import RacePlugin  # noqa: PLC0415

    return [collection, RacePlugin(orders["race"], **more)]


def _die_with(parent: int) -> None:
    """Ask the kernel to end this process when its supervisor is gone, and look whether that has happened already."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        os._exit(1)
