"""What is known of a cell: the fold over its journal. Live and after a resume the same events give the same state.

Nothing else decides what became of a test; the supervisor only writes events and asks this ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.execution.blame import Activity
from runner.execution.known import Planned
from runner.execution.lives import Lives
from runner.model.result import Attempt

SESSION = "<session>"
"""Name of the entry for what goes wrong outside of every test and file."""


class Ledger(Lives):
    """The state of one cell: beside the lives of its workers, what pytest says in them."""

    def _on_gil(self, event: Mapping[str, Any]) -> None:
        self._gil.switch(event.get("module"), enabled=event["gil"], during=self._during())

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
            self.add_entry(str(event["file"]), _attempt(entry, self._pid))
        elif entry:
            self.session.append(_attempt(entry, self._pid))

    def _on_collected(self, event: Mapping[str, Any]) -> None:
        planned = [_planned(*test) for test in event["tests"]]
        if self.planned is not None and planned != self.planned:
            raise ValueError("the tests were collected before, and were others")
        self.planned = planned
        self.activity = Activity("between")
        self._gil.note(event["gil"], self._during())

    def _on_selected(self, event: Mapping[str, Any]) -> None:
        self.activity = Activity("between")
        if self.worker is not None and self.worker.mode == "rest":
            for number in event["missing"]:
                self.missing[self._known(number)] = (
                    "the test was gone when its file was collected again in a new process"
                )

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
        self.add_attempts(number, attempts, again=self._repeats)
        self.activity = Activity("between")

    def _on_internal_error(self, event: Mapping[str, Any]) -> None:
        self._aborted = {"message": "pytest or a plugin failed (internal error)", "stack": event["stack"]}

    def _on_abort(self, event: Mapping[str, Any]) -> None:
        self._aborted = dict(event)

    def _on_unready(self, event: Mapping[str, Any]) -> None:
        self.unready = str(event["reason"])

    def _on_dead_context(self, event: Mapping[str, Any]) -> None:
        self._dead_context = str(event["error"])

    def _on_finish(self, event: Mapping[str, Any]) -> None:
        self._gil.note(event["gil"], self._during())
        self.activity = Activity("finish")

    def _on_done(self, event: Mapping[str, Any]) -> None:
        self._gil.note(event["gil"], self._during())
        self.last_status = int(event["status"])
        self.activity = Activity("exit")


def _planned(name: Any, file: Any, line: Any) -> Planned:
    if not (isinstance(name, str) and isinstance(file, str | None) and isinstance(line, int | None)):
        raise TypeError("no test is called so")
    return Planned(name, file, line)


def _attempt(item: Mapping[str, Any], pid: int | None) -> Attempt:
    return Attempt.model_validate({**item, "pid": pid})
