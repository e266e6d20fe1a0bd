"""The half of a worker's pytest plugin that is about tests: says what happens as it happens."""

from __future__ import annotations

import faulthandler
import mmap
import os
import struct
import traceback
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from . import gil, reports, text
from .capture import Capture
from .channel import Channel
from .contexts import Contexts

_RUNNING, _RUNNING_OFFSET = struct.Struct("<I"), 4  # as in runner/execution/board.py
_SETUP, _CALL, _TEARDOWN, _SYNCHRONIZE = b"s", b"c", b"t", b"y"
# The commonest event, written without the detour over a dictionary.
_PASSED = b'{"event":"end","n":%d,"gil":%s,"attempts":[{"outcome":"passed","seconds":%.6f}]}'


class Plugin:
    """Hooks that report to the supervisor.

    Args:
        channel: where events go.
        dump: descriptor for faulthandler's output.
        board: memory shared with the supervisor. Once the first byte is not zero no further test may start; the second
            is the phase of the running test, and from the fifth its number, which costs no system call this way.
        numbers: of the tests, by identity of their items; filled before the first of them starts.
        contexts: looked at after every test.
        capture: shown to the supervisor by the first test.
    """

    def __init__(
        self,
        channel: Channel,
        dump: int,
        board: mmap.mmap,
        numbers: Mapping[int, int],
        contexts: Contexts,
        capture: Capture,
    ) -> None:
        self._channel = channel
        self._dump = dump
        self._board = board
        self._numbers = numbers
        self._contexts = contexts
        self._capture = capture
        self._current: int | None = None
        self._reports: list[Any] = []

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Take faulthandler back from pytest's plugin, which points it at standard error."""
        self._keep_faulthandler()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_unconfigure(self) -> Generator[None, Any, None]:
        """The same at the end: pytest's plugin switches faulthandler off, and the exit of the process comes after."""
        yield
        self._keep_faulthandler()

    def _keep_faulthandler(self) -> None:
        faulthandler.enable(file=self._dump)

    # -- tests ---------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """Say that a test starts and, when all of it is over, what became of it."""
        if self._board[0]:  # a deadline has passed: this process is about to be ended
            os._exit(0)
        number = self._numbers.get(id(item))
        self._current = number
        self._reports = []
        if number is not None:
            self._note_running(number + 1)
            self._board[1:2] = _SETUP
            self._channel.send_line(b'{"event":"start","n":%d}' % number)
            faulthandler.enable(file=self._dump)  # the test before may have pointed it elsewhere
        outcome = yield
        if number is None or self._current is None:
            return
        self._current = None
        dead = self._look_at_contexts()
        if dead is None and not outcome.excinfo and (seconds := reports.plain_pass(self._reports)) is not None:
            self._channel.send_line(_PASSED % (number, b"true" if gil.is_enabled() else b"false", seconds))
            return
        if outcome.excinfo:
            attempts = [_interrupted(outcome.excinfo[1], self._reports)]
        else:
            attempts = reports.read_attempts(self._reports)
        if dead is not None:
            reports.blame_for_dead_context(attempts[-1], dead)
        self._channel.send("end", n=number, attempts=attempts, broke=bool(outcome.excinfo), **self._gil())
        if dead is not None:
            self._contexts.leave(dead)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Note the phase."""
        self._enter(_SETUP)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        """Note the phase."""
        self._enter(_CALL)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        """Note the phase."""
        self._enter(_TEARDOWN)

    def _note_running(self, number: int) -> None:
        """Note the test that started last, counted from 1, where it can be read after a sudden death."""
        if not self._channel.is_forked:
            _RUNNING.pack_into(self._board, _RUNNING_OFFSET, number)

    def _enter(self, phase: bytes) -> None:
        if not self._channel.is_forked:
            self._board[1:2] = phase
            if not self._capture.is_watched:
                self._capture.watch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the reports of the running test; first, for the terminal's writing fails where a test closed it."""
        if self._current is not None:
            self._reports.append(report)

    def _look_at_contexts(self) -> str | None:
        """The error of a dead CUDA context. Waits for the GPU in a phase of its own: a kernel may hang here."""
        if not self._channel.is_forked:
            self._board[1:2] = _SYNCHRONIZE
        return self._contexts.look()

    # -- end -----------------------------------------------------------------------------------------------------

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Pass on an error of pytest itself or of a plugin."""
        self._channel.send("internal_error", stack=text.bound(str(excrepr), text.STACK_CHARS))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, None]:
        """Tell a death in the session's end from one in a test."""
        self._channel.send("finish", **self._gil())
        yield

    def _gil(self) -> dict[str, bool]:
        return {"gil": gil.is_enabled()}


def _interrupted(error: BaseException, before: list[Any]) -> reports.Attempt:
    """A test out of which an exception broke that ends the session: `pytest.exit`, an interrupt, a bug of a plugin."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    name = "pytest.exit" if type(error).__name__ == "Exit" else type(error).__name__
    return {
        "outcome": "failed" if name in {"pytest.exit", "KeyboardInterrupt"} else "error",
        "seconds": 0.0,
        "phase": ("setup", "call", "teardown")[min(2, sum(report.passed for report in before))],
        "message": text.bound(f"the test ended the session: {name}: {error}", text.MESSAGE_CHARS),
        "stack": text.bound("".join(lines), text.STACK_CHARS),
    }
