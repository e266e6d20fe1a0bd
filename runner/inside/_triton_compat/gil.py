"""Which import switched the GIL on: every extension module's import is watched in free-threaded builds.

A module that does not declare `Py_mod_gil` makes CPython switch the GIL on for good. CPython says so with a
RuntimeWarning at best, so the state is compared before and after each of the two steps that run a module's C code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from types import CodeType, FunctionType
from typing import Any

FREE_THREADED_BUILD = "t" in getattr(sys, "abiflags", "")
_IMPORTLIB = "<frozen importlib._bootstrap_external>"


def is_enabled() -> bool:
    """Whether the GIL is on right now; always true for builds that cannot switch it off."""
    probe: Callable[[], bool] | None = getattr(sys, "_is_gil_enabled", None)
    return True if probe is None else probe()


def watch_imports(report: Callable[[str | None], None]) -> None:
    """Call `report(module)` when an extension module's import switched the GIL on, `report(None)` when that was undone.

    The second happens when another thread's import had the GIL on for a moment only. Builds with a GIL are left alone.
    """
    if not FREE_THREADED_BUILD:
        return
    suspect: list[str] = []

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def run_step(self: Any, argument: Any) -> Any:
            before = is_enabled()
            if not before and suspect:
                suspect.clear()
                report(None)
            try:
                return step(self, argument)
            finally:
                if not before and not suspect and is_enabled():
                    suspect.append(str(self.name))
                    report(suspect[0])

        return _in_importlib(run_step, step.__name__)

    ExtensionFileLoader.create_module = watched(ExtensionFileLoader.create_module)  # type: ignore[method-assign]
    ExtensionFileLoader.exec_module = watched(ExtensionFileLoader.exec_module)  # type: ignore[method-assign]


def _in_importlib(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Make a function look like importlib's own, so that CPython trims it from the tracebacks of failed imports."""
    assert isinstance(function, FunctionType)  # noqa: S101 - a closure of ours
    code: CodeType = function.__code__.replace(co_filename=_IMPORTLIB, co_name=name)
    function.__code__ = code
    function.__name__ = name
    return function
