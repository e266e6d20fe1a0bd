"""Which tests cannot run in several threads at once: pytest, or the test itself, changes what all threads share."""

from __future__ import annotations

import inspect
import sys
import unittest
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest

_MARKERS = ("thread_unsafe", "single_thread")
_FIXTURES = {
    "capsys": "captures the output of the whole process",
    "capsysbinary": "captures the output of the whole process",
    "capfd": "captures the output of the whole process",
    "capfdbinary": "captures the output of the whole process",
    "capteesys": "captures the output of the whole process",
    "caplog": "captures the log of the whole process",
    "monkeypatch": "changes what all threads share",
    "recwarn": "changes the warning filters of the whole process",
    "pytester": "changes the folder of the whole process",
    "testdir": "changes the folder of the whole process",
    "benchmark": "measures time, which means nothing among other threads",
    "mocker": "changes what all threads share",
}
_WARNING_NAMES = frozenset({"catch_warnings", "warns", "deprecated_call"})
_SHARED_NAMES = frozenset({"chdir", "MonkeyPatch", "redirect_stdout", "redirect_stderr", "setrecursionlimit"})
_DEEPEST = 8


def why_not(item: Any) -> str | None:  # noqa: PLR0911 - one return for each rule
    """Why this test cannot run in threads, as words that follow its name and a colon; None when it can."""
    if not isinstance(item, pytest.Function):
        return f"it is no plain test function but a {type(item).__name__}"
    if isinstance(getattr(item, "cls", None), type) and issubclass(item.cls, unittest.TestCase):
        return "it is a unittest test, which pytest runs in one thread only"
    for marker in _MARKERS:
        if (mark := item.get_closest_marker(marker)) is not None:
            reason = mark.kwargs.get("reason") or next(iter(mark.args), None)
            return f"it is marked {marker}" + (f": {reason}" if reason else "")
    function = inspect.unwrap(item.obj)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "it is asynchronous: an event loop runs in one thread"
    if hasattr(function, "hypothesis") or getattr(item.obj, "is_hypothesis_test", False):
        return "it is a Hypothesis test, whose engine runs one test function in one thread"
    if getattr(item.obj, "patchings", None):
        return "it is patched by unittest.mock, which changes what all threads share"
    return _why_fixtures_forbid(item) or _why_code_forbids(function)


def _why_fixtures_forbid(item: Any) -> str | None:
    for name in item.fixturenames:
        if name in _FIXTURES:
            return f"it uses {name}, which {_FIXTURES[name]}"
        if "xunit_setup_function_fixture" in name:
            return "its module has setup_function or teardown_function, whose state all threads would share"
    return None


def _why_code_forbids(function: Any) -> str | None:
    """Look for names that the test's own code uses; what it calls is not followed."""
    names = set(_names(getattr(function, "__code__", None)))
    if not getattr(sys.flags, "context_aware_warnings", 0):
        for name in sorted(names & _WARNING_NAMES):
            return f"it uses {name}, which changes the warning filters of the whole process"
    for name in sorted(names & _SHARED_NAMES):
        return f"it uses {name}, which changes what all threads share"
    if {"mock", "patch"} <= names or ("patch" in names and "patch" in getattr(function, "__globals__", ())):
        return "it uses unittest.mock.patch, which changes what all threads share"
    return None


def _names(code: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(code, CodeType) and depth < _DEEPEST:
        yield from code.co_names
        for constant in code.co_consts:
            yield from _names(constant, depth + 1)
