"""The vocabulary: every enumerated word that appears in code, JSON, table and documents."""

from __future__ import annotations

from enum import StrEnum


class GilMode(StrEnum):
    """How a cell asks for the GIL."""

    ON = "on"
    """`PYTHON_GIL=1` on a free-threaded build; on other builds the only mode, and the variable must not be set."""
    OFF = "off"
    """`PYTHON_GIL=0`, free-threaded builds alone. A cell that did not end with the GIL off is never a pass."""
    DEFAULT = "default"
    """Unset on a free-threaded build: what a user gets, and which module switches the GIL back on."""


class Outcome(StrEnum):
    """What became of one attempt of one test, or of a test after all its attempts."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    NOT_RUN = "not_run"

    @property
    def is_good(self) -> bool:
        """Whether a cell with only such outcomes may pass (a strict xpass is reported by pytest as failed)."""
        return self in _GOOD

    @property
    def is_bad(self) -> bool:
        """Whether the test itself went wrong; `not_run` is neither good nor bad."""
        return self in _BAD


_GOOD = frozenset({Outcome.PASSED, Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED})
_BAD = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED, Outcome.TIMED_OUT})


class Status(StrEnum):
    """What became of one cell."""

    PASS = "pass"  # noqa: S105 - a status, not a password
    FAIL = "fail"
    UNAVAILABLE = "unavailable"
    """No wheel, no interpreter, or excluded by Requires-Python."""
    INFRA = "infra"
    """Positive evidence that the machine is at fault."""
    NO_RESULT = "no_result"
    """The cell did not come to an end, or nothing of it arrived."""


class VerdictWord(StrEnum):
    """The one word for a whole matrix."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    CANNOT_TELL = "CANNOT TELL"

    @property
    def exit_code(self) -> int:
        """The exit status of `triton-compat judge`."""
        return {VerdictWord.PASS: 0, VerdictWord.FAIL: 1, VerdictWord.CANNOT_TELL: 3}[self]


class Confidence(StrEnum):
    """How sure a finding is; computed from counts, never felt."""

    PROVEN = "proven"
    LIKELY = "likely"
    CANNOT_TELL = "cannot tell"


class Cause(StrEnum):
    """Why like failures failed."""

    STALE_CACHE = "stale-cache"
    THREAD_SAFETY = "thread-safety"
    TRITON_VERSION = "triton-version"
    PYTHON_ABI = "python-abi"
    COMPILER = "compiler"
    TOOLCHAIN = "toolchain"
    DRIVER = "driver"
    RESOURCE = "resource"
    ENVIRONMENT = "environment"
    PROJECT = "project"
    REGRESSION = "regression"
    PRE_EXISTING = "pre-existing"
    FLAKY = "flaky"
    INFRA = "infra"
    UNEXPLAINED = "unexplained"


class Change(StrEnum):
    """What became of a test or a cell between two result sets."""

    REGRESSED = "regressed"
    FIXED = "fixed"
    SAME = "same"
    FLAKY = "flaky"
    NEW = "new"
    GONE = "gone"
    CANNOT_TELL = "cannot tell"


class Factor(StrEnum):
    """The one thing that a contrast changes."""

    REPEAT = "repeat"
    ALONE = "alone"
    FRESH_CACHE = "fresh-cache"
    CACHE_AS_FOUND = "cache-as-found"
    GIL = "gil"
    BUILD = "build"
    PYTHON = "python"
    """Another Python version of the same kind of build (3.12 instead of 3.13)."""
    TRITON = "triton"
    BASE_COMMIT = "base-commit"
    CONTROL = "control"
    THREADS = "threads"
    """As many calls from one thread instead of several at once."""
