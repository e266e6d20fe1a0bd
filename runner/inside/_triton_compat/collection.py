"""The half of a worker's pytest plugin that comes before the tests: what is imported, collected and selected."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

import pytest

from . import gil, reports, text
from .capture import Capture
from .channel import Channel
from .contexts import Contexts

# What a user's configuration may ask for, and what it must be here: one process, to the end, without a prompt.
_FORCED_OPTIONS: dict[str, Any] = {
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "maxfail": 0,
    "usepdb": False,
    "trace": False,
}


class Collection:
    """Hooks that report every import of the session, and narrow it to what is asked for.

    Args:
        channel: where events go.
        orders: see `runner.execution.orders.Orders`.
        contexts: looked at after every import.
        capture: shown to the supervisor before the first file is imported.

    Attributes:
        numbers: of the tests that will run, by identity of their items.
    """

    def __init__(self, channel: Channel, orders: dict[str, Any], contexts: Contexts, capture: Capture) -> None:
        self.numbers: dict[int, int] = {}
        self._channel = channel
        self._contexts = contexts
        self._capture = capture
        self._left_out: set[str] = set()
        self._left_out_folders: set[str] = set()
        for name in orders["leave_out"]:
            self._leave_out(name)
        self._files = None if orders["files"] is None else frozenset(orders["files"])
        self._remaining: dict[str, int] | None = orders["remaining"]
        self._only = None if orders["only"] is None else frozenset(orders["only"])
        self._root = os.getcwd()

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
            self._contexts.require_living()
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

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        """Announce the file; leave out what the supervisor said (it would end the process, or is not needed)."""
        if isinstance(collector, (pytest.Session, pytest.Item)):
            return None
        name = text.clean_id(collector.nodeid.split("::")[0])
        if isinstance(collector, pytest.File) and not isinstance(collector, pytest.Package) and self._is_left_out(name):
            return pytest.CollectReport(collector.nodeid, "passed", None, [])
        if isinstance(collector, pytest.File) or "::" in collector.nodeid:
            self._capture.watch()
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
        self._contexts.require_living()
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
            self.numbers.update((id(item), number) for number, (_, item) in enumerate(kept))
            tests = [[name, *self._place(item)] for name, item in kept]
            self._channel.send("collected", tests=tests, root=self._root, gil=gil.is_enabled())
            self._channel.wait_for_start()
        else:
            remaining = self._remaining
            found = sorted(
                ((remaining[name], item) for name, item in zip(ids, session.items, strict=True) if name in remaining),
                key=lambda pair: pair[0],
            )
            kept = [("", item) for _, item in found]
            self.numbers.update((id(item), number) for number, item in found)
            missing = sorted(set(remaining.values()) - set(self.numbers.values()))
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

    def _relative(self, path: str) -> str:
        relative = os.path.relpath(path, self._root)
        return text.clean_id(path if relative.startswith("..") else relative)
