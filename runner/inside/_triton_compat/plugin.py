"""The pytest plugin of a worker: says what happens as it happens, and narrows the session to what is asked for."""

from __future__ import annotations

import faulthandler
import fcntl
import mmap
import os
import struct
import traceback
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

import pytest

from . import cuda, gil, reports, text
from .channel import Channel

_RUNNING, _RUNNING_OFFSET = struct.Struct("<I"), 4  # as in runner/execution/board.py
_SETUP, _CALL, _TEARDOWN, _SYNCHRONIZE = b"s", b"c", b"t", b"y"
# The commonest event, written without the detour over a dictionary.
_PASSED = b'{"event":"end","n":%d,"gil":%s,"attempts":[{"outcome":"passed","seconds":%.6f}]}'
# What a user's configuration may ask for, and what it must be here: one process, to the end, without a prompt.
_FORCED_OPTIONS: dict[str, Any] = {
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "maxfail": 0,
    "usepdb": False,
    "trace": False,
}


class Plugin:
    """Hooks that report to the supervisor.

    Args:
        channel: where events go.
        dump: descriptor for faulthandler's output.
        board: memory shared with the supervisor. Once the first byte is not zero no further test may start; the second
            is the phase of the running test, and from the fifth its number, which costs no system call this way.
        orders: see `runner.execution.orders.Orders`.
    """

    def __init__(self, channel: Channel, dump: int, board: mmap.mmap, orders: dict[str, Any]) -> None:
        self._channel = channel
        self._dump = dump
        self._board = board
        self._left_out: set[str] = set()
        self._left_out_folders: set[str] = set()
        for name in orders["leave_out"]:
            self._leave_out(name)
        self._files = None if orders["files"] is None else frozenset(orders["files"])
        self._remaining: dict[str, int] | None = orders["remaining"]
        self._only = None if orders["only"] is None else frozenset(orders["only"])
        self._root = os.getcwd()
        self._numbers: dict[int, int] = {}
        self._current: int | None = None
        self._reports: list[Any] = []
        self._watched_capture = False
        self._probe = cuda.Probe()

    # -- start ---------------------------------------------------------------------------------------------------

    def pytest_addoption(self, pluginmanager: Any) -> None:
        """Earliest moment with a plugin manager: from here on every conftest.py is announced before it runs."""
        original: Callable[..., ModuleType] | None = getattr(pluginmanager, "_importconftest", None)
        if original is not None:
            pluginmanager._importconftest = self._announcing(original)  # noqa: SLF001 - pytest has no hook for it

    def _announcing(self, original: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
        def import_conftest(path: Any, *args: Any, **kwargs: Any) -> ModuleType:
            """Import a conftest.py; one that fails costs the tests below it, and nothing else."""
            name = self._relative(str(path))
            if name in self._left_out:
                return ModuleType("conftest")
            self._channel.send("conftest", file=name)
            try:
                module = original(path, *args, **kwargs)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's file raises
                self._leave_out(name)
                self._channel.send("conftest_done", file=name, entry=reports.broken_import(error))
                return ModuleType("conftest")
            self._require_living_context()
            self._channel.send("conftest_done", file=name)
            return module

        return import_conftest

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Generator[None, Any, None]:
        """Learn the root folder, to which names are relative."""
        self._root = str(early_config.rootpath)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Generator[None, Any, None]:
        """Overrule options of the user's configuration that would lose tests or move them to other processes."""
        for option, value in _FORCED_OPTIONS.items():
            if hasattr(config.option, option):
                setattr(config.option, option, value)
        yield

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

    # -- collection ----------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        """Announce the file; leave out what the supervisor said (it would end the process, or is not needed)."""
        if isinstance(collector, (pytest.Session, pytest.Item)):
            return None
        name = text.clean_id(collector.nodeid.split("::")[0])
        if isinstance(collector, pytest.File) and not isinstance(collector, pytest.Package) and self._is_left_out(name):
            return pytest.CollectReport(collector.nodeid, "passed", None, [])
        if isinstance(collector, pytest.File) or "::" in collector.nodeid:
            self._watch_capture()
            self._channel.send("collect", file=name)
        return None

    def _leave_out(self, name: str) -> None:
        """Without its conftest.py a folder's tests would be other tests: they are left out with it."""
        self._left_out.add(name)
        if os.path.basename(name) == "conftest.py":
            self._left_out_folders.add(os.path.dirname(name))

    def _is_left_out(self, name: str) -> bool:
        if name in self._left_out or (self._files is not None and name not in self._files):
            return True
        return any(not folder or name.startswith(folder + "/") for folder in self._left_out_folders)

    def pytest_collectreport(self, report: Any) -> None:
        """Say how the collection of a file ended; one that failed or was skipped as a whole is an entry of its own."""
        if not report.nodeid and not report.failed:
            return
        self._require_living_context()
        fields: dict[str, Any] = {"file": text.clean_id(report.nodeid.split("::")[0])}
        if report.failed:
            message, stack = reports.describe(report)
            fields["entry"] = {"outcome": "error", "phase": "collect", "message": message, "stack": stack}
            fields["entry"]["output"] = reports.captured([report])
        elif report.skipped:
            fields["entry"] = {"outcome": "skipped", "phase": "collect", "message": reports.skip_reason(report)}
        self._channel.send("collect_done", **fields)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Generator[None, Any, None]:
        """The last moment before tests run: what stands in `session.items` now is what will be run."""
        ids = text.number_duplicates([text.clean_id(item.nodeid) for item in session.items])
        if self._remaining is None:
            kept = [
                (name, item)
                for name, item in zip(ids, session.items, strict=True)
                if self._only is None or name in self._only
            ]
            self._numbers = {id(item): number for number, (_, item) in enumerate(kept)}
            tests = [[name, *self._place(item)] for name, item in kept]
            self._channel.send("collected", tests=tests, root=self._root, **self._gil())
        else:
            remaining = self._remaining
            found = sorted(
                ((remaining[name], item) for name, item in zip(ids, session.items, strict=True) if name in remaining),
                key=lambda pair: pair[0],
            )
            kept = [("", item) for _, item in found]
            self._numbers = {id(item): number for number, item in found}
            missing = sorted(set(remaining.values()) - set(self._numbers.values()))
            self._channel.send("selected", missing=missing)
        session.items[:] = [item for _, item in kept]
        yield

    @staticmethod
    def _place(item: Any) -> tuple[str | None, int | None]:
        try:
            file, line, _ = item.location
        except Exception:  # noqa: BLE001 - items of the user's plugins
            return None, None
        return text.clean_id(str(file)), None if line is None else int(line) + 1

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
            self._leave(dead)

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
            if not self._watched_capture:
                self._watch_capture()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the reports of the running test; first, for the terminal's writing fails where a test closed it."""
        if self._current is not None:
            self._reports.append(report)

    def _look_at_contexts(self) -> str | None:
        """The error of a dead CUDA context. Waits for the GPU in a phase of its own: a kernel may hang here."""
        if self._channel.is_forked:  # CUDA does not survive a fork
            return None
        self._board[1:2] = _SYNCHRONIZE
        return self._probe.look()

    def _require_living_context(self) -> None:
        """End this process when what was just imported killed the CUDA context: no test shall be blamed for it."""
        dead = None if self._channel.is_forked else self._probe.look()
        if dead is not None and not cuda.is_reset(dead):
            self._leave(dead)

    def _leave(self, dead: str) -> None:
        """Only a new process has a new context. Fixtures are not torn down: they would meet the dead one."""
        self._channel.send("dead_context", error=dead)
        os._exit(cuda.DEAD_CONTEXT_EXIT_CODE)

    # -- end -----------------------------------------------------------------------------------------------------

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Pass on an error of pytest itself or of a plugin."""
        self._channel.send("internal_error", stack=text.bound(str(excrepr), text.STACK_CHARS))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, None]:
        """Tell a death in the session's end from one in a test."""
        self._channel.send("finish", **self._gil())
        yield

    # -- details -------------------------------------------------------------------------------------------------

    def _gil(self) -> dict[str, bool]:
        return {"gil": gil.is_enabled()}

    def _relative(self, path: str) -> str:
        relative = os.path.relpath(path, self._root)
        return text.clean_id(path if relative.startswith("..") else relative)

    def _watch_capture(self) -> None:
        """Hand the files into which pytest captures output to the supervisor: they outlive a crash.

        Called where pytest's capturing is active; the files stay the same for the whole session.
        """
        if not self._watched_capture:
            self._watched_capture = True
            try:
                copies = [_private_copy(stream) for stream in (1, 2)]
            except OSError:
                return
            self._channel.send("capture", descriptors=copies)


def _private_copy(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 220)


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
