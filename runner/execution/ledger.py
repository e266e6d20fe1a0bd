"""What is known of a cell: the fold over its journal. Live and after a resume the same events give the same state.

Nothing else decides what became of a test; the supervisor only writes events and asks this ledger.
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
from runner.execution.gil import GilRecord
from runner.model.cell import PythonBuild
from runner.model.result import Attempt, GilState, Left, ObservedEnvironment
from runner.model.words import GilMode, Outcome

SESSION = "<session>"
"""Name of the entry for what goes wrong outside of every test and file."""
MOST_CUTS = 3
"""A test during which the supervisor itself died so often is taken as the one that kills it."""


@dataclass(frozen=True)
class Planned:
    """A collected test."""

    id: str
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Worker:
    """The worker that is running, as far as it said."""

    pid: int
    mode: str
    brought: int


class Ledger:
    """The state of one cell. `apply` is its only way to change.

    Attributes:
        planned: every collected test in order, or None before a collection came to its end.
        attempts: by number of the test.
        entries: for files that are not tests: what became of their collection.
        session: what went wrong outside of tests and files.
        left_out: files that must not be collected again.
        missing: number of a test to the reason why it cannot be run any more.
        hello: the first worker's description of itself.
        observed: the environment, or None.
        workers: those that ended.
        activity: of the running worker.
        over: why the cell was ended before its tests were, or None.
        gave_up: why no collection can be had, or None.
        stalls: workers in a row that brought nothing new.
        retried: numbers of suspects that ran again.
        warnings: what an internal error or an abort said, for reasons.
    """

    def __init__(self, requested: GilMode, python: PythonBuild | None = None) -> None:
        self._python = python
        self.planned: list[Planned] | None = None
        self.attempts: dict[int, list[Attempt]] = {}
        self.entries: dict[str, list[Attempt]] = {}
        self.session: list[Attempt] = []
        self.left_out: dict[str, None] = {}
        self.missing: dict[int, str] = {}
        self.hello: dict[str, Any] | None = None
        self.observed: ObservedEnvironment | None = None
        self.workers: list[Left] = []
        self.activity = Activity("start")
        self.worker: Worker | None = None
        self.over: str | None = None
        self.gave_up: str | None = None
        self.stalls = 0
        self.retried: set[int] = set()
        self.root: str | None = None
        self._gil = GilRecord(requested)
        self.last_status: int | None = None
        self.last_output = ""
        self._aborted: dict[str, Any] | None = None
        self._explained = False
        self._dead_context: str | None = None
        self._deadline: dict[str, Any] | None = None
        self._cuts: dict[str, int] = {}

    # -- questions -----------------------------------------------------------------------------------------------

    def remaining(self) -> list[int]:
        """Numbers of tests that still have to run."""
        count = len(self.planned or ())
        return [number for number in range(count) if number not in self.attempts and number not in self.missing]

    def suspects(self) -> list[int]:
        """Numbers of tests whose first attempt ended the worker."""
        ended = {Outcome.CRASHED, Outcome.TIMED_OUT}
        return [number for number in sorted(self.attempts) if self.attempts[number][0].outcome in ended]

    @property
    def gil(self) -> GilState:
        """The truth about the GIL so far."""
        return self._gil.state

    @property
    def finished(self) -> int:
        """Number of entries with an outcome."""
        return len(self.attempts) + len(self.entries)

    @property
    def _brought(self) -> int:
        known = self.planned is not None
        return len(self.attempts) + len(self.entries) + len(self.left_out) + len(self.missing) + known

    # -- events --------------------------------------------------------------------------------------------------

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take in one event; an unknown one, or one that comes after its worker's deadline, changes nothing."""
        name = str(event.get("event"))
        if self._deadline is not None and name not in _OF_THE_SUPERVISOR:
            return
        step = getattr(self, f"_on_{name}", None)
        if step is not None:
            step(event)

    def _on_supervisor(self, event: Mapping[str, Any]) -> None:
        """A supervisor begins; a worker that is still open here lost the one before."""
        self._deadline = None
        if self.worker is not None:
            self._cut_short(event.get("running"))
            self.worker = None

    def _on_worker(self, event: Mapping[str, Any]) -> None:
        self.worker = Worker(int(event["pid"]), str(event["mode"]), self._brought)
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
            last: number of the test that started last. The journal may lack the last events, shared memory does not.
        """
        worker = self.worker
        assert worker is not None  # noqa: S101 - the caller looked
        self.workers.append(Left(pid=worker.pid, reason="the supervisor was ended", seconds=0.0))
        if worker.mode == "alone":  # what it repeats has an outcome, and is not repeated twice
            return
        running = self._may_have_run(last)
        for activity in running:
            key = f"{activity.kind}:{activity.name}"
            self._cuts[key] = self._cuts.get(key, 0) + 1
            if self._cuts[key] >= MOST_CUTS and len(running) == 1:
                attempt = Attempt(
                    outcome=Outcome.CRASHED,
                    phase=activity.phase,
                    message=f"the supervisor was ended {self._cuts[key]} times while this ran",
                    pid=worker.pid,
                )
                self._blame(activity, attempt)
                if activity.number is not None:  # not a suspect to run again: it would end the supervisor once more
                    self.retried.add(activity.number)

    def _may_have_run(self, last: int | None) -> list[Activity]:
        """What may have been running when the supervisor died: one test or file, or some tests whose ends are lost."""
        if last is not None:
            # Tests run in the order of their numbers; without a plan the next collection will number them the same.
            unfinished = range(last + 1) if self.planned is None else self.remaining()
            tests = [number for number in unfinished if number <= last]
            if tests:
                known = self.activity if self.activity.number in tests else None
                return (
                    [known] if known and len(tests) == 1 else [Activity("test", str(each), "setup") for each in tests]
                )
        return [self.activity] if self.activity.kind in {"test", "collect", "conftest"} else []

    def is_dangerous(self, number: int) -> bool:
        """Whether a test may be what ended the supervisor repeatedly, so that it runs with no other beside it."""
        return self._cuts.get(f"test:{number}", 0) >= MOST_CUTS - 1

    def _on_hello(self, event: Mapping[str, Any]) -> None:
        first = self.hello is None
        self._gil.begin(enabled=event["gil"], free_threaded_build=event["free_threaded_build"], first=first)
        if first:
            self._check_python(event)
            self.hello = dict(event)

    def _check_python(self, hello: Mapping[str, Any]) -> None:
        """End the cell when another Python came up than was asked for: its results would stand in the wrong row."""
        build = self._python
        if build is None:
            return
        version = ".".join(str(hello["python"]).split(".")[:2])
        if version != build.version or bool(hello["free_threaded_build"]) is not build.free_threaded:
            got = version + ("t" if hello["free_threaded_build"] else "")
            self.over = f"asked for Python {build}, but {hello['executable']} is a {got}"

    def _on_gil(self, event: Mapping[str, Any]) -> None:
        self._gil.switch(event.get("module"), enabled=event["gil"], during=self._during())

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

    def _on_conftest(self, event: Mapping[str, Any]) -> None:
        self.activity = Activity("conftest", str(event["file"]))

    def _on_conftest_done(self, event: Mapping[str, Any]) -> None:
        if event.get("entry"):
            self.left_out[str(event["file"])] = None
        self._on_collect_done(event)

    def _on_collect(self, event: Mapping[str, Any]) -> None:
        self.activity = Activity("collect", str(event["file"]), "collect")

    def _on_collect_done(self, event: Mapping[str, Any]) -> None:
        self.activity = Activity("between")
        entry = event.get("entry")
        if entry and event["file"]:
            self._add_entry(str(event["file"]), _attempt(entry, self._pid))
        elif entry:
            self.session.append(_attempt(entry, self._pid))

    def _on_collected(self, event: Mapping[str, Any]) -> None:
        self.planned = [Planned(str(name), file, line) for name, file, line in event["tests"]]
        self.root = event.get("root")
        self.activity = Activity("between")
        self._gil.note(event["gil"], self._during())

    def _on_selected(self, event: Mapping[str, Any]) -> None:
        self.activity = Activity("between")
        if self.worker is not None and self.worker.mode == "rest":
            for number in event["missing"]:
                self.missing[int(number)] = "the test was gone when its file was collected again in a new process"

    def _on_start(self, event: Mapping[str, Any]) -> None:
        self.activity = Activity("test", str(self._known(event["n"])), "setup")

    def _known(self, number: Any) -> int:
        """A number from a worker, if a test has it: a test can write into the channel as well."""
        if not isinstance(number, int) or not 0 <= number < len(self.planned or ()):
            raise ValueError(f"no test has the number {number!r}")
        return number

    def _on_end(self, event: Mapping[str, Any]) -> None:
        self._gil.note(event["gil"], self._during())
        number = self._known(event["n"])
        if event.get("broke"):
            self._explained = True
        attempts = [_attempt({**item, "gil_enabled": event["gil"]}, self._pid) for item in event["attempts"]]
        self._add_attempts(number, attempts)
        self.activity = Activity("between")

    def _on_internal_error(self, event: Mapping[str, Any]) -> None:
        self._aborted = {"message": "pytest or a plugin failed (internal error)", "stack": event["stack"]}

    def _on_abort(self, event: Mapping[str, Any]) -> None:
        self._aborted = dict(event)

    def _on_dead_context(self, event: Mapping[str, Any]) -> None:
        self._dead_context = str(event["error"])

    def _on_finish(self, event: Mapping[str, Any]) -> None:
        self._gil.note(event["gil"], self._during())
        self.activity = Activity("finish")

    def _on_done(self, event: Mapping[str, Any]) -> None:
        self._gil.note(event["gil"], self._during())
        self.last_status = int(event["status"])
        self.activity = Activity("exit")

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
        assert worker is not None  # noqa: S101 - the supervisor writes `worker` first
        self.last_output = str(event["said"])
        self.workers.append(Left(pid=worker.pid, reason=self._why_left(event), seconds=event["seconds"]))
        if self._deadline is None:
            self._enter_phase(event)
        self._gil.end()
        clean = event["signal"] is None and event["exit_code"] == 0 and self.activity.kind == "exit"
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
            self.gave_up = "the tests could not be collected"
        self.stalls = 0 if self._brought > worker.brought or worker.mode == "alone" else self.stalls + 1
        self.worker = None
        self._deadline = None
        self._aborted = None
        self.activity = Activity("start")

    def left_out_since(self, worker: Worker) -> bool:
        """Whether this worker's death showed a file to leave out, so that another try makes sense."""
        return self._brought > worker.brought

    # -- details -------------------------------------------------------------------------------------------------

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
        number = activity.number
        if number is not None:
            self._add_attempts(number, [attempt])
        elif activity.kind in {"collect", "conftest"}:
            self.left_out[activity.name] = None
            self._add_entry(activity.name, attempt)
        else:
            self.session.append(attempt)

    def _add_attempts(self, number: int, attempts: list[Attempt]) -> None:
        if number in self.attempts and (self.worker is None or self.worker.mode != "alone"):
            return
        self.attempts.setdefault(number, []).extend(attempts)

    def _add_entry(self, file: str, attempt: Attempt) -> None:
        """A file collected again by a later worker tells the same again; the first word counts."""
        self.entries.setdefault(file, [attempt])


_OF_THE_SUPERVISOR = frozenset({"supervisor", "worker", "ended", "over", "observed", "deadline"})


def _attempt(item: Mapping[str, Any], pid: int | None) -> Attempt:
    return Attempt.model_validate({**item, "pid": pid})
