"""Whom a dead worker is blamed on: from what was running and how the process ended to an attempt. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.model.result import Attempt
from runner.model.words import Outcome

LOST_EXIT_CODE = 113  # as in inside/_triton_compat/channel.py, which imports nothing of ours


@dataclass(frozen=True)
class Activity:
    """What a worker is doing right now.

    Attributes:
        kind: `start`, `conftest`, `collect`, `between`, `test`, `finish`, `exit`.
        name: the file, or the number of the test; empty otherwise.
        phase: of a test.
        round: of a race, from 1, so that each round has a deadline of its own; else 0.
        allowance: seconds that it may take beyond the limit of a test.
    """

    kind: str
    name: str = ""
    phase: str | None = None
    round: int = 0
    allowance: float = 0.0

    @property
    def number(self) -> int | None:
        """The test's number, or None when no test runs."""
        return int(self.name) if self.kind == "test" else None


def describe_end(event: Mapping[str, Any]) -> str:
    """How a process ended, as the rest of a sentence: `died of SIGSEGV`."""
    if event["signal"]:
        return f"died of {event['signal']}"
    return f"ended with exit code {event['exit_code']}"


def _where(activity: Activity) -> str:
    if activity.phase == "synchronize":
        return "while it waited for what this test had left running on the GPU"
    return {
        "start": "before its first test file",
        "conftest": "while it loaded this file",
        "collect": "while it collected this file",
        "between": "between two tests",
        "test": f"in the {activity.phase} of this test",
        "finish": "at the end of its session, after its last test",
        "exit": "at its exit, after its last test",
    }[activity.kind]


def _phase(activity: Activity) -> str | None:
    return {"conftest": "collect", "finish": "session finish", "between": "session"}.get(
        activity.kind, activity.phase or activity.kind
    )


def from_death(event: Mapping[str, Any], activity: Activity, pid: int) -> Attempt:
    """The attempt of what was running when the process ended by itself."""
    message = f"the process {describe_end(event)} {_where(activity)}"
    if event["exit_code"] == LOST_EXIT_CODE:
        message += "; a test had closed the descriptor through which it reports"
    if event["signal"] == "SIGKILL" and event.get("memory_kills"):
        message += "; the machine had run out of memory, and the kernel ended a process"
    if event["exit_code"] == 0 and activity.kind != "exit":
        message += "; nothing had asked it to end"
    return Attempt(
        outcome=Outcome.CRASHED,
        seconds=event["activity_seconds"],
        phase=_phase(activity),
        signal=event["signal"],
        exit_code=event["exit_code"],
        message=message,
        stack=event["stack"],
        output=event["output"],
        pid=pid,
    )


def from_deadline(event: Mapping[str, Any], deadline: Mapping[str, Any], activity: Activity, pid: int) -> Attempt:
    """The attempt of what was running when the supervisor stopped the process."""
    hard = "; SIGTERM did not end it, SIGKILL did" if event["signal"] == "SIGKILL" else ""
    attempt = Attempt(
        outcome=Outcome.TIMED_OUT,
        seconds=event["activity_seconds"],
        phase=_phase(activity),
        message=f"{deadline['reason']}; the process was stopped {_where(activity)}{hard}",
        stack=event["stack"],
        output=event["output"],
        pid=pid,
    )
    if deadline["limit"] != "memory":
        return attempt
    message = f"{deadline['reason']}; the process was ended {_where(activity)}"
    return attempt.model_copy(
        update={"outcome": Outcome.CRASHED, "message": message, "signal": event["signal"]},
    )


def from_dead_context(error: str, event: Mapping[str, Any], activity: Activity, pid: int) -> Attempt:
    """The attempt of a file whose import left a dead CUDA context."""
    return Attempt(
        outcome=Outcome.ERROR,
        seconds=event["activity_seconds"],
        phase=_phase(activity),
        message=f"the CUDA context was dead after the import of this file: {error}",
        output=event["output"],
        pid=pid,
    )


def from_abort(aborted: Mapping[str, Any], event: Mapping[str, Any], activity: Activity, pid: int) -> Attempt:
    """The attempt of what was running when pytest itself, or a plugin, gave up."""
    return Attempt(
        outcome=Outcome.ERROR,
        seconds=event["activity_seconds"],
        phase=_phase(activity),
        message=str(aborted["message"]),
        stack=aborted.get("stack"),
        output=event["output"],
        pid=pid,
    )
