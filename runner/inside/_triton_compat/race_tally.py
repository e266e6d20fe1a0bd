"""Counts of calls and kinds of failures of one test's race."""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable
from typing import Any

import pytest

from . import reports, text

MOST_KINDS = 20
_MESSAGE_CHARS = 1_000
_CHANGING = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")
# Classes of pytest's outcomes are private in name only: `pytest.skip.Exception` is how users catch them.
_SKIPPED = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)


class Tally:
    """What became of the calls so far."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self.rounds = 0
        self.has_news = False
        """Whether a kind of failure was met since the tally was last told."""
        self._kinds: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._others = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        """Passed, failed, skipped calls."""
        return self.passed, self.failed, self.skipped

    def add(self, call: Any, phases: list[tuple[str, Any, Callable[[], Any]]]) -> None:
        """Count one call of one thread.

        Args:
            call: of the test function, or None when its setup failed.
            phases: every phase that raised: its name, the pytest.ExceptionInfo, and a function that makes its report.
        """
        bad = [phase for phase in phases if not isinstance(phase[1].value, _SKIPPED)]
        if bad:
            self.failed += 1
            self._note(*bad[0])
        elif phases or call is None:
            self.skipped += 1
        else:
            self.passed += 1

    def add_failure(self, phase: str, kind: str, message: str) -> None:
        """Count a failure that no exception stands for."""
        self.failed += 1
        self._count((phase, kind, message), message, lambda: None)

    def _note(self, phase: str, info: Any, make_report: Callable[[], Any]) -> None:
        kind = type(info.value)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        try:
            message = str(info.value)
        except Exception as error:  # noqa: BLE001 - text made by the user's code
            message = f"the message cannot be shown: {type(error).__name__}"
        message = text.bound(message, _MESSAGE_CHARS)
        key = (phase, name, _CHANGING.sub("#", message.split("\n", 1)[0]))
        self._count(key, message, make_report)

    def _count(self, key: tuple[str, str, str], message: str, make_report: Callable[[], Any]) -> None:
        known = self._kinds.get(key)
        if known is not None:
            known["count"] += 1
        elif len(self._kinds) < MOST_KINDS:
            report = make_report()
            self._kinds[key] = {
                "phase": key[0],
                "type": text.bound(key[1], _MESSAGE_CHARS),
                "message": message,
                "count": 1,
                "round": self.rounds + 1,
                "stack": None if report is None else reports.describe(report)[1],
            }
            self.has_news = True
        else:
            self._others += 1

    def tell(self) -> dict[str, Any]:
        """All of it, for an event."""
        self.has_news = False
        return {
            "rounds": self.rounds,
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "errors": sorted(self._kinds.values(), key=lambda kind: -kind["count"]),
            "other_errors": self._others,
        }
