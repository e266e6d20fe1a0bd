"""The lives of a cell's workers: what their supervisor writes of them, and on whom a death is blamed.

The half of the ledger that tests have no part in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.execution.blame import (
    Activity,
    describe_end,
    from_abort,
    from_dead_context,
    from_deadline,
    from_death,
)
from runner.execution.cuts import MOST_CUTS, Cuts, may_have_run
from runner.execution.gil import GilRecord
from runner.execution.hello import check_hello, why_another_python
from runner.execution.known import Known
from runner.model.cell import PythonBuild
from runner.model.result import Attempt, GilState, Left, ObservedEnvironment
from runner.model.words import GilMode, Outcome


@dataclass(frozen=True)
class Worker:
    """The worker that is running, as far as it said."""

    pid: int
    mode: str
    brought: int


class Lives(Known):
    """What is known of the workers of one cell, and through them of its tests. `apply` is its only way to change.

    Attributes:
        hello: the first worker's description of itself.
        observed: the environment, or None.
        workers: those that ended.
        activity: of the running worker.
        over: why the cell was ended before its tests were, or None.
        gave_up: why no collection can be had, or None.
        unready: why no test can run in this Python, or None: it has no pytest.
        stalls: workers in a row that brought nothing new.
        last_status, last_output: pytest's exit status and the end of what the last worker printed, for reasons.
    """

    def __init__(self, requested: GilMode, python: PythonBuild | None = None) -> None:
        super().__init__()
        self._python = python
        self.hello: dict[str, Any] | None = None
        self.observed: ObservedEnvironment | None = None
        self.workers: list[Left] = []
        self.activity = Activity("start")
        self.worker: Worker | None = None
        self.over: str | None = None
        self.gave_up: str | None = None
        self.unready: str | None = None
        self.stalls = 0
        self._gil = GilRecord(requested)
        self.last_status: int | None = None
        self.last_output = ""
        self._aborted: dict[str, Any] | None = None
        self._explained = False
        self._dead_context: str | None = None
        self._deadline: dict[str, Any] | None = None
        self._cuts = Cuts()

    # -- questions -----------------------------------------------------------------------------------------------

    @property
    def gil(self) -> GilState:
        """The truth about the GIL so far."""
        return self._gil.state

    def is_dangerous(self, number: int) -> bool:
        """Whether a test may be what ended the supervisor repeatedly, so that it runs with no other beside it."""
        return self._cuts.is_dangerous(number)

    # -- events --------------------------------------------------------------------------------------------------

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take in one event; an unknown one, or one that comes after its worker's deadline, changes nothing."""
        name = str(event.get("event"))
        if self._deadline is not None and name not in _OF_THE_SUPERVISOR:
            return
        step = getattr(self, f"_on_{name}", None)
        if step is not None:
            step(event)

    def take_in(self, event: Mapping[str, Any]) -> bool:
        """Apply an event that anybody may have written: a test has the channel and the journal within its reach.

        Returns:
            False for one that is not as ours are; what it says does not count.
        """
        try:
            self.apply(event)
        except _NOT_OURS:
            return False
        return True

    def _on_supervisor(self, event: Mapping[str, Any]) -> None:
        """A supervisor begins; a worker that is still open here lost the one before."""
        self._deadline = None
        if self.worker is not None:
            self._cut_short(event.get("running"))
            self.worker = None

    def _on_worker(self, event: Mapping[str, Any]) -> None:
        self.worker = Worker(int(event["pid"]), str(event["mode"]), self.brought)
        self.activity = Activity("start")
        self._aborted = None
        self._explained = False
        self._dead_context = None
        self._deadline = None
        self.last_status = None
        if event["mode"] == "alone":
            self.retried.update(event.get("numbers") or ())

    def _cut_short(self, last: int | None) -> None:
        """The supervisor died with this worker; what ran then runs again, unless it seems to be what kills.

        Args:
            last: see `may_have_run`.
        """
        worker = self.worker
        assert worker is not None  # noqa: S101 - the caller looked
        self.workers.append(Left(pid=worker.pid, reason="the supervisor was ended", seconds=0.0))
        if worker.mode == "alone":  # what it repeats has an outcome, and is not repeated twice
            return
        running = may_have_run(self, self.activity, last)
        for activity in running:
            times = self._cuts.add(activity)
            if times >= MOST_CUTS and len(running) == 1:
                attempt = Attempt(
                    outcome=Outcome.CRASHED,
                    phase=activity.phase,
                    message=f"the supervisor was ended {times} times while this ran",
                    pid=worker.pid,
                )
                self._blame(activity, attempt)
                if activity.number is not None:  # not a suspect to run again: it would end the supervisor once more
                    self.retried.add(activity.number)

    def _on_hello(self, event: Mapping[str, Any]) -> None:
        first = self.hello is None
        check_hello(event)
        self._gil.begin(enabled=event["gil"], free_threaded_build=event["free_threaded_build"], first=first)
        if first:
            self.over = why_another_python(event, self._python)
            self.hello = dict(event)

    @property
    def current(self) -> str | None:
        """Name of the test or file that is running, or None."""
        return self._during() if self.worker is not None else None

    def _during(self) -> str | None:
        number = self.activity.number
        if number is not None and self.planned is not None and number < len(self.planned):
            return self.planned[number].id
        return self.activity.name or None

    def _on_observed(self, event: Mapping[str, Any]) -> None:
        self.observed = ObservedEnvironment.model_validate(event["environment"])

    def _on_deadline(self, event: Mapping[str, Any]) -> None:
        self._enter_phase(event)
        self._deadline = dict(event)

    def _enter_phase(self, event: Mapping[str, Any]) -> None:
        if self.activity.kind == "test" and event["phase"]:
            self.activity = replace(self.activity, phase=event["phase"])

    def _on_over(self, event: Mapping[str, Any]) -> None:
        self.over = str(event["reason"])

    def _on_ended(self, event: Mapping[str, Any]) -> None:
        """A worker is gone: put the blame where it belongs."""
        worker = self.worker
        if worker is None:
            raise ValueError("no worker is running")
        self.last_output = str(event["said"])
        self.workers.append(Left(pid=worker.pid, reason=self._why_left(event), seconds=event["seconds"]))
        if self._deadline is None:
            self._enter_phase(event)
        self._gil.end()
        told = self.activity.kind == "exit" or self.unready is not None
        clean = event["signal"] is None and event["exit_code"] == 0 and told
        if self._deadline is not None:
            if self._deadline["limit"] != "cell":
                self._blame(self.activity, from_deadline(event, self._deadline, self.activity, worker.pid))
        elif self._dead_context is not None:
            if self.activity.kind != "between":  # a test has told it in its own result
                self._blame(self.activity, from_dead_context(self._dead_context, event, self.activity, worker.pid))
        elif self._aborted is not None and not self._explained:
            self._blame(self.activity, from_abort(self._aborted, event, self.activity, worker.pid))
        elif not clean:
            self._blame(self.activity, from_death(event, self.activity, worker.pid))
        if self.planned is None and not self.left_out_since(worker):
            self.gave_up = self.unready or "the tests could not be collected"
        self.stalls = 0 if self.brought > worker.brought or worker.mode == "alone" else self.stalls + 1
        self.worker = None
        self._deadline = None
        self._aborted = None
        self.activity = Activity("start")

    def _on_interrupted(self, _event: Mapping[str, Any]) -> None:
        """Somebody stopped the run, and the supervisor ended its worker: no test is to blame; what ran runs again."""
        self._gil.end()
        if self.worker is not None:
            self.workers.append(Left(pid=self.worker.pid, reason="the run was stopped", seconds=0.0))
        self.worker = None
        self._deadline = None
        self._aborted = None
        self.activity = Activity("start")

    def left_out_since(self, worker: Worker) -> bool:
        """Whether this worker's death showed a file to leave out, so that another try makes sense."""
        return self.brought > worker.brought

    @property
    def _pid(self) -> int | None:
        return self.worker.pid if self.worker is not None else None

    def _why_left(self, event: Mapping[str, Any]) -> str:
        if self._deadline is not None:
            return f"stopped: {self._deadline['reason']}"
        if self._dead_context is not None:
            return f"replaced: its CUDA context was dead, {self._dead_context}"
        return "finished" if event["signal"] is None and event["exit_code"] == 0 else describe_end(event)

    def _blame(self, activity: Activity, attempt: Attempt) -> None:
        self.add_blame(activity, attempt, again=self._repeats)

    @property
    def _repeats(self) -> bool:
        """Whether the worker runs a test that has an outcome already."""
        return self.worker is not None and self.worker.mode == "alone"


_NOT_OURS = (KeyError, TypeError, ValueError)
_OF_THE_SUPERVISOR = frozenset({"supervisor", "worker", "ended", "interrupted", "over", "observed", "deadline"})
