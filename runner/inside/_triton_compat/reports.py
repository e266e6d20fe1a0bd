"""From pytest's reports of one test to its attempts, as plain data."""

from __future__ import annotations

import traceback
from typing import Any

from . import cuda, text

Attempt = dict[str, Any]
_PHASES = ["setup", "call", "teardown"]
_OUTPUT = ("Captured stdout", "Captured stderr", "Captured log")


def read_attempts(reports: list[Any]) -> list[Attempt]:
    """Group the reports of one test by attempt (a rerun starts with another setup) and judge each.

    Returns:
        At least one attempt; a test that gave no report at all is an error that says so.
    """
    groups: list[list[Any]] = []
    for report in reports:
        if not groups or (report.when == "setup" and any(earlier.when == "setup" for earlier in groups[-1])):
            groups.append([])
        groups[-1].append(report)
    return [_read_attempt(group) for group in groups] or [_without_report()]


def plain_pass(reports: list[Any]) -> float | None:
    """Seconds of a test that passed its three phases and has nothing else to tell; None for every other test."""
    seconds = 0.0
    for report in reports:
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            return None
        seconds += report.duration
    return seconds if [report.when for report in reports] == _PHASES else None


def _read_attempt(reports: list[Any]) -> Attempt:
    attempt: Attempt = {"outcome": "error", "seconds": round(sum(float(r.duration or 0) for r in reports), 6)}
    bad = [report for report in reports if report.outcome not in {"passed", "skipped"}]
    if bad:
        # A failed call outranks a failed teardown after it; of several failed subtests the first is shown.
        report = bad[0]
        attempt["outcome"] = "failed" if report.when == "call" else "error"
        attempt["phase"] = report.when
        attempt["message"], attempt["stack"] = describe(report)
        if len(bad) > 1:
            others = "\n\n".join(f"[{other.when}]\n{describe(other)[1]}" for other in bad[1:4])
            attempt["stack"] = text.bound(f"{attempt['stack']}\n\n{others}", text.STACK_CHARS)
        attempt["output"] = captured(reports)
        return attempt
    # Reports of subtests are calls as well; the test's own comes last and decides.
    decisive = next((r for r in reversed(reports) if r.when == "call"), None)
    decisive = decisive or next((r for r in reports if r.outcome == "skipped"), None)
    if decisive is None:
        attempt.update(
            phase="setup", message="pytest set this test up but did not call it (an option such as --setup-only)"
        )
        return attempt
    xfail_reason = getattr(decisive, "wasxfail", None)
    if xfail_reason is not None:
        attempt["outcome"] = "xpassed" if decisive.outcome == "passed" else "xfailed"
        attempt["message"] = text.bound(str(xfail_reason), text.MESSAGE_CHARS) or None
    elif decisive.outcome == "skipped":
        attempt["outcome"] = "skipped"
        attempt["message"] = skip_reason(decisive)
    else:
        attempt["outcome"] = "passed"
    return attempt


def _without_report() -> Attempt:
    return {"outcome": "error", "seconds": 0.0, "message": "pytest gave no report for this test; a plugin swallowed it"}


def blame_for_dead_context(attempt: Attempt, error: str) -> None:
    """Say in an attempt that the CUDA context was dead after it, which is an error unless the test had reset it itself.

    Work on a GPU fails later than the call that asked for it, so a test may well have passed; and a test that expects
    such an error breaks every test after it in the same process.

    Args:
        attempt: changed in place.
        error: name and number.
    """
    note = f"the CUDA context was dead after this test: {error}"
    if cuda.is_reset(error):
        note = f"the CUDA context was reset in this test, {error}; the tests after it run in a new process"
    elif attempt["outcome"] in {"passed", "skipped", "xpassed"}:
        attempt.update(outcome="error", phase="synchronize", message=note)
        return
    said = text.bound(str(attempt.get("message") or ""), text.MESSAGE_CHARS - len(note) - 1)
    attempt["message"] = f"{said}\n{note}".strip()


def describe(report: Any) -> tuple[str, str]:
    """Message and traceback of a report, both bounded. A representation that raises is itself described."""
    longrepr = report.longrepr
    try:
        crash = getattr(longrepr, "reprcrash", None)
        stack = str(longrepr)
        message = str(crash.message) if crash is not None else _last_error(stack)
    except Exception as error:  # noqa: BLE001 - text made by the user's code
        message = stack = f"the failure cannot be shown: {type(error).__name__}"
    return text.bound(message, text.MESSAGE_CHARS), text.bound(stack, text.STACK_CHARS)


def broken_import(error: BaseException) -> Attempt:
    """The entry for a conftest.py that raised."""
    cause = error.__cause__ or error
    lines = traceback.format_exception(type(cause), cause, cause.__traceback__)
    return {
        "outcome": "error",
        "phase": "collect",
        "message": text.bound(f"{type(cause).__name__}: {cause}", text.MESSAGE_CHARS),
        "stack": text.bound("".join(lines), text.STACK_CHARS),
    }


def _last_error(stack: str) -> str:
    """The sentence at the end of a traceback as pytest writes it, or all of a text that is none."""
    errors = [line[1:].strip() for line in stack.splitlines() if line.startswith("E  ")]
    return errors[-1] if errors else stack.strip()


def skip_reason(report: Any) -> str:
    """Why a report says skipped."""
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) and len(longrepr) == 3 else longrepr  # noqa: PLR2004
    return text.bound(str(reason or "").removeprefix("Skipped: "), text.MESSAGE_CHARS)


def captured(reports: list[Any]) -> str | None:
    """The end of what pytest captured during an attempt, or None for nothing."""
    parts: dict[str, str] = {}
    for report in reports:
        for title, content in getattr(report, "sections", ()):
            if str(title).startswith(_OUTPUT) and content:
                parts[str(title)] = str(content)
    if not parts:
        return None
    each = text.OUTPUT_CHARS // len(parts)
    return "\n".join(f"[{title}]\n{text.bound(content, each)}" for title, content in parts.items())
