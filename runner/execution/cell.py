"""One cell, run to its end whatever its tests do, from its journal to its result."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import DocumentError, ExecutionError
from runner.execution.assignment import Assignment, assign_gpu, infra_result, weigh_machine
from runner.execution.board import read_running
from runner.execution.bulletin import Bulletin
from runner.execution.invocation import Invocation
from runner.execution.journal import Journal, read_events
from runner.execution.ledger import Ledger
from runner.execution.log import BoundedLog
from runner.execution.outcome import read_result
from runner.execution.processes import adopting_orphans, end_leftovers
from runner.execution.progress import Progress
from runner.execution.race import FILES as FILES_OF_RACES
from runner.execution.race import with_races
from runner.execution.rules import Rules
from runner.execution.surroundings import TOKEN
from runner.execution.workers import BOARD, Workers
from runner.model.plan import PlannedCell, PlannedEnvironment, plan_sha
from runner.model.result import CellResult
from runner.model.words import Status

PREFIX = "tc-"
"""Of the names of temporary folders."""
_END_OF_TIME = 1e11
__all__ = ["Rules", "finished_result", "run_cell"]


def finished_result(folder: Path, plan_sha: str) -> CellResult | None:
    """The result that an earlier run left, if it belongs to the same plan; None when the cell has to be run."""
    try:
        result = CellResult.read(folder / "result.json")
    except DocumentError:
        return None
    return result if result.plan_sha == plan_sha else None


def run_cell(
    cell: PlannedCell,
    environment: PlannedEnvironment,
    python: Path,
    *,
    root: Path,
    folder: Path,
    progress: Callable[[Progress], None] = lambda _: None,
    rules: Rules | None = None,
) -> CellResult:
    """Run the tests of one cell, taking up a run of the same plan that was cut short.

    Writes `journal.jsonl` and `log.txt` while it runs and `result.json` at the end.

    Args:
        cell: what to run.
        environment: what `python` belongs to.
        python: the tested interpreter, ready to be used.
        root: the project's root, `Plan.root`.
        folder: of the cell, made when it is missing.
        progress: told what happens, at most about ten times a second.
        rules: see `Rules`.

    Raises:
        ExecutionError: the cell could not be run at all: another process runs it, the folder cannot be written, the
            working folder or the interpreter is missing.
    """
    workdir = root / cell.settings.workdir
    if not workdir.is_dir():
        raise ExecutionError(f"the folder of the tests, {workdir}, does not exist", remedy="Correct `workdir`.")
    if not os.access(python, os.X_OK):
        raise ExecutionError(f"{python} cannot be run", remedy="Make the environment again, or correct `environment`.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExecutionError(f"{folder} cannot be made: {error.strerror}") from error
    assignment = assign_gpu(
        cell.settings.gpu,
        cell=cell.key.id,
        variables={**os.environ, **cell.settings.env},
        seconds=cell.settings.limits.cell_seconds,
        tell=lambda note: progress(Progress(cell.key.id, "waiting for a GPU", note=note)),
    )
    with assignment, adopting_orphans():
        if assignment.problem is not None and cell.settings.gpu.required:
            result = infra_result(cell, environment, assignment.problem)
            result.write(folder / "result.json")
            return result
        token = f"{cell.key.id}/{secrets.token_hex(8)}"
        invocation = Invocation(cell, environment, python, root, folder, token, assignment.variables)
        return _Run(invocation, progress, rules or Rules(), assignment).run()


class _Run:
    """The state of one `run_cell`."""

    def __init__(
        self, invocation: Invocation, progress: Callable[[Progress], None], rules: Rules, assignment: Assignment
    ) -> None:
        self._invocation = invocation
        self._cell = invocation.cell
        self._folder = invocation.folder
        self._rules = rules
        self._assignment = assignment
        self._sha = plan_sha(invocation.cell, invocation.environment)
        self._ledger = Ledger(self._cell.key.gil, invocation.build)
        self._bulletin = Bulletin(self._cell.key.id, self._ledger, progress, self._seconds)
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._earlier_seconds = 0.0

    def run(self) -> CellResult:
        path = self._folder / "journal.jsonl"
        events = read_events(path)
        earlier = finished_result(self._folder, self._sha)
        # What ran on a broken machine, or in an environment where nothing could run, is not worth taking up.
        worthless = earlier is not None and (earlier.status is Status.INFRA or not earlier.tests)
        resumed = bool(events) and events[0].get("plan_sha") == self._sha and not worthless
        with Journal(path, self._sha, fresh=not resumed) as journal:
            if resumed:
                self._take_up(events)
            else:
                for name in ("result.json", "log.txt", *FILES_OF_RACES):
                    (self._folder / name).unlink(missing_ok=True)
                shutil.rmtree(self._folder / "caches", ignore_errors=True)
            result = self._run_workers(journal, running=read_running(self._folder / BOARD) if resumed else None)
            self._keep(result)
        self._bulletin.stage = "finished"
        self._bulletin.tell(force=True)
        return result

    def _run_workers(self, journal: Journal, *, running: int | None) -> CellResult:
        """Run everything that is left, and put the result together.

        Args:
            journal: open.
            running: number of the test that ran when an earlier supervisor was ended, or None.
        """
        temporary = Path(tempfile.mkdtemp(prefix=PREFIX))
        token = self._invocation.token
        event = {"event": "supervisor", "token": token, "temporary": str(temporary), "running": running}
        journal.write([event])
        self._ledger.apply(event)
        log = BoundedLog(self._folder / "log.txt")
        deadline = self._began + self._cell.settings.limits.cell_seconds - self._earlier_seconds
        workers = Workers(
            self._invocation, self._rules, self._ledger, journal, log, self._bulletin, temporary, deadline
        )
        races = None
        try:
            workers.run_tests()
            if self._cell.settings.race.rounds and self._ledger.planned:
                races = workers.run_races(self._sha)
        finally:
            log.close()
            shutil.rmtree(temporary, ignore_errors=True)
        result = read_result(
            self._ledger,
            self._cell,
            plan_sha=self._sha,
            started=self._started,
            seconds=self._seconds(),
            journal_lost=journal.lost,
        )
        result = with_races(result, races) if races else result
        return weigh_machine(result, self._cell.settings.gpu, self._assignment)

    def _keep(self, result: CellResult) -> None:
        path = self._folder / "result.json"
        try:
            result.write(path)
        except OSError as error:
            raise ExecutionError(
                f"{path} cannot be written: {error.strerror}",
                remedy="Free some space and run the same command again: what is in the journal is kept.",
            ) from error

    def _take_up(self, events: Sequence[dict[str, object]]) -> None:
        """Fold an earlier run's journal, and clear away what its supervisor could not."""
        for event in events:
            self._ledger.take_in(event)
            if event["event"] == "supervisor":
                self._clear_away(str(event.get("token")), str(event.get("temporary")))
        times = [
            moment for event in events if isinstance(moment := event.get("t"), float) and 0 < moment < _END_OF_TIME
        ]
        if times:
            self._earlier_seconds = max(0.0, times[-1] - times[0])
            self._started = datetime.fromtimestamp(times[0], UTC).isoformat(timespec="seconds")

    def _clear_away(self, token: str, temporary: str) -> None:
        """End and remove what an earlier supervisor left, if it is what supervisors of this cell leave."""
        if re.fullmatch(re.escape(self._cell.key.id) + "/[0-9a-f]{16}", token):
            end_leftovers(None, f"{TOKEN}={token}".encode())
        if re.fullmatch(f"{PREFIX}[a-z0-9_]{{8}}", Path(temporary).name):
            shutil.rmtree(temporary, ignore_errors=True)

    def _seconds(self) -> float:
        return self._earlier_seconds + time.monotonic() - self._began
