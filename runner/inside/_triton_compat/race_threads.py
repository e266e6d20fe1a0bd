"""Threads that are released together and each run one test function once."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

START_SECONDS = 60.0
"""For all threads to come up; nothing but starting threads happens in this time."""
_LIBRARY = "libcuda.so.1"


def run_together(
    tests: list[Any], enter: Callable[[int], None], leave: Callable[[int], None]
) -> list[pytest.CallInfo[None]]:
    """Run each test in a thread of its own, all released at once, and wait for all of them, however long it takes.

    Args:
        tests: set-up copies of a test; their numbers are the threads'.
        enter: called in each thread before its test, with its number from 0.
        leave: the same after it.

    Returns:
        What became of each; every exception counts, `SystemExit` and `KeyboardInterrupt` among them. Where a test
        interrupted the process, which reaches the main thread alone, that is what became of one that had passed.
    """
    calls: list[pytest.CallInfo[None] | None] = [None] * len(tests)
    gate = threading.Barrier(len(tests), timeout=START_SECONDS)
    context = current_context()

    def run(thread: int) -> None:
        enter(thread)
        try:
            calls[thread] = pytest.CallInfo.from_call(lambda: _pass(gate, context), "setup")
            if calls[thread].excinfo is None:  # type: ignore[union-attr]
                calls[thread] = pytest.CallInfo.from_call(tests[thread].runtest, "call")
        finally:
            leave(thread)

    threads = [threading.Thread(target=run, args=(n,), name=f"race-{n + 1}", daemon=True) for n in range(len(tests))]
    started = []
    with _interrupts_noted() as interrupts:
        try:
            for thread in threads:
                thread.start()
                started.append(thread)
        except (RuntimeError, MemoryError):  # no more threads: the others must not wait for it
            gate.abort()
        for thread in started:
            thread.join()
    done = [call or pytest.CallInfo.from_call(_never_ran, "setup") for call in calls]
    if interrupts:
        blamed = next((n for n, call in enumerate(done) if call.excinfo is None), 0)
        done[blamed] = pytest.CallInfo.from_call(_interrupt, "call")
    return done


@contextlib.contextmanager
def _interrupts_noted() -> Iterator[list[int]]:
    """While this lasts SIGINT, or `_thread.interrupt_main`, is noted and raises nothing.

    Raised, it would leave the threads to themselves; up to Python 3.12 `Thread.join` then takes them for ended. Where
    somebody handles the signal otherwise, that stays so.
    """
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield noted
        return
    signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)  # handles what has arrived before it changes anything


def _interrupt() -> None:
    raise KeyboardInterrupt("KeyboardInterrupt in the main thread: one of the threads interrupted the process")


def _pass(gate: threading.Barrier, context: int | None) -> None:
    if context is not None:
        make_current(context)
    try:
        gate.wait()
    except threading.BrokenBarrierError:
        raise RuntimeError("the threads could not all be started") from None


def _never_ran() -> None:
    raise RuntimeError("this thread ended without running the test")


def current_context() -> int | None:
    """The CUDA context that is current in this thread; None without one, or without a driver that is loaded already."""
    with contextlib.suppress(OSError, AttributeError):
        cuda = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        context = ctypes.c_void_p()
        if cuda.cuCtxGetCurrent(ctypes.byref(context)) == 0:
            return context.value
    return None


def make_current(context: int) -> None:
    """Make a CUDA context current in this thread."""
    cuda = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    code = cuda.cuCtxSetCurrent(ctypes.c_void_p(context))
    if code != 0:
        raise RuntimeError(f"the CUDA context could not be made current in this thread: error {code}")
