"""One cell, run to its end whatever its tests do: workers one after the other until nothing is left to run."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import DocumentError, ExecutionError
from runner.execution.assignment import Assignment, assign_gpu, infra_result, weigh_machine
from runner.execution.board import read_running
from runner.execution.journal import Journal, read_events
from runner.execution.ledger import Ledger
from runner.execution.log import BoundedLog
from runner.execution.observation import Observation
from runner.execution.orders import Work, give_orders, next_suspect, next_work
from runner.execution.outcome import read_result
from runner.execution.processes import adopting_orphans, end_leftovers
from runner.execution.progress import Progress, Wrong
from runner.execution.race import FILES as FILES_OF_RACES
from runner.execution.race import run_races, with_races
from runner.execution.surroundings import TOKEN, variables_for_tests
from runner.execution.watch import Watch
from runner.execution.worker import STACK_SIGNAL, WorkerProcess
from runner.model.cell import PythonBuild
from runner.model.plan import PlannedCell, PlannedEnvironment, plan_sha
from runner.model.race import Races
from runner.model.result import CellResult, count_outcomes
from runner.model.words import Status

MOST_SUSPECTS = 20
SUSPECTS_SHARE = 0.25
"""Of a cell's seconds, for running suspects again."""
PROGRESS_SECONDS = 0.1
BOARD = "board"
"""Name of the file for what is running; there only while something is."""


@dataclass(frozen=True)
class Rules:
    """What a caller may change about the way a cell is run.

    Attributes:
        retry_suspects: run tests that crashed or hung once more, alone in a fresh process, as evidence.
        only: ids (as in results) of the tests to run, or None for all.
        files: files (as ids in results begin) that are collected, or None for all that the settings name.
    """

    retry_suspects: bool = True
    only: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None


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
        return _Run(cell, environment, python, root, folder, progress, rules or Rules(), assignment).run()


class _Run:
    """The state of one `run_cell`."""

    def __init__(
        self,
        cell: PlannedCell,
        environment: PlannedEnvironment,
        python: Path,
        root: Path,
        folder: Path,
        progress: Callable[[Progress], None],
        rules: Rules,
        assignment: Assignment,
    ) -> None:
        self._cell = cell
        self._environment = environment
        self._python = python
        self._root = root
        self._folder = folder
        self._progress = progress
        self._rules = rules
        self._assignment = assignment
        self._workdir = root / cell.settings.workdir
        self._sha = plan_sha(cell, environment)
        self._build = None if environment.python == "?" else PythonBuild.parse(environment.python)
        self._ledger = Ledger(cell.key.gil, self._build)
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._earlier_seconds = 0.0
        self._told = 0.0
        self._asked: bool | None = None
        self._stage = "collecting"
        self._token = f"{cell.key.id}/{secrets.token_hex(8)}"

    def run(self) -> CellResult:
        path = self._folder / "journal.jsonl"
        events = read_events(path)
        earlier = finished_result(self._folder, self._sha)
        # What ran on a broken machine is not worth taking up.
        is_infra = earlier is not None and earlier.status is Status.INFRA and bool(earlier.tests)
        resumed = bool(events) and events[0].get("plan_sha") == self._sha and not is_infra
        with Journal(path, self._sha, fresh=not resumed) as journal:
            if resumed:
                self._take_up(events)
            else:
                for name in ("result.json", "log.txt", *FILES_OF_RACES):
                    (self._folder / name).unlink(missing_ok=True)
                shutil.rmtree(self._folder / "caches", ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix="tc-"))
            running = read_running(self._folder / BOARD) if resumed else None
            event = {"event": "supervisor", "token": self._token, "temporary": str(temporary), "running": running}
            journal.write([event])
            self._ledger.apply(event)
            log = BoundedLog(self._folder / "log.txt")
            races = None
            try:
                self._run_workers(journal, log, temporary)
                if self._cell.settings.race.rounds and self._ledger.planned and self._rules.only is None:
                    races = self._run_races(log, temporary)
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
            result = weigh_machine(result, self._cell.settings.gpu, self._assignment)
            self._keep(result)
        self._stage = "finished"
        self._tell(force=True)
        return result

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
        leaders: list[int] = []
        for event in events:
            self._ledger.apply(event)
            if event["event"] == "worker":
                leaders.append(int(str(event["pid"])))
            elif event["event"] == "supervisor":
                mark = f"{TOKEN}={event['token']}".encode()
                shutil.rmtree(str(event["temporary"]), ignore_errors=True)
                end_leftovers(None, mark)
        first, last = float(str(events[0]["t"])), float(str(events[-1]["t"]))
        self._earlier_seconds = max(0.0, last - first)
        self._started = datetime.fromtimestamp(first, UTC).isoformat(timespec="seconds")

    # -- workers -------------------------------------------------------------------------------------------------

    def _run_workers(self, journal: Journal, log: BoundedLog, temporary: Path) -> None:
        variables = self._variables(temporary)
        limits = self._cell.settings.limits
        deadline = self._began + limits.cell_seconds - self._earlier_seconds
        observation = None if self._ledger.observed else Observation(self._python, variables, self._workdir)
        try:
            while work := next_work(self._ledger):
                self._stage = "collecting" if self._ledger.planned is None else "running"
                self._run_worker(work, journal, log, variables, deadline)
                self._end_at(deadline, journal)
            if self._rules.retry_suspects:
                self._stage = "repeating suspects"
                deadline = min(deadline, time.monotonic() + SUSPECTS_SHARE * limits.cell_seconds)
                while time.monotonic() < deadline and (work := next_suspect(self._ledger, MOST_SUSPECTS)):
                    self._run_worker(work, journal, log, variables, deadline)
            if observation is not None and self._ledger.hello is not None:
                seen = observation.finish(self._ledger.hello, self._environment.fingerprint)
                observation = None
                event = {"event": "observed", "environment": seen.model_dump(mode="json")}
                journal.write([event])
                self._ledger.apply(event)
        finally:
            if observation is not None:
                observation.abandon()

    def _run_races(self, log: BoundedLog, temporary: Path) -> Races:
        """Every test in several threads at once, with caches of their own."""
        self._stage = "racing"
        variables = self._variables(temporary, "-race")
        caches = Path(variables["TRITON_CACHE_DIR"]).parent
        deadline = self._began + self._cell.settings.limits.cell_seconds - self._earlier_seconds

        def run_worker(work: Work, ledger: Ledger, journal: Journal) -> None:
            self._run_worker(work, journal, log, variables, deadline, ledger)

        shutil.rmtree(caches, ignore_errors=True)
        try:
            return run_races(
                self._cell,
                self._ledger,
                python=self._build,
                folder=self._folder,
                plan_sha=self._sha,
                deadline=deadline,
                run_worker=run_worker,
            )
        finally:
            shutil.rmtree(caches, ignore_errors=True)

    def _run_worker(
        self,
        work: Work,
        journal: Journal,
        log: BoundedLog,
        variables: dict[str, str],
        deadline: float,
        ledger: Ledger | None = None,
    ) -> None:
        ledger = ledger or self._ledger
        orders = give_orders(work, ledger, self._arguments(), STACK_SIGNAL, self._rules.only, self._rules.files)
        if work.mode == "race":
            orders = replace(orders, race=self._cell.settings.race.model_dump(include={"threads", "rounds"}))
        board = None if work.mode == "race" else self._folder / BOARD
        worker = WorkerProcess(self._python, orders, variables, self._workdir, board)
        try:
            event = {"event": "worker", "pid": worker.pid, "mode": work.mode, "numbers": list(work.numbers or ())[:1]}
            journal.write([event])
            ledger.apply(event)
            log.write(f"=== process {worker.pid}: {work.mode} ===\n".encode())
            limits = self._cell.settings.limits
            Watch(worker, ledger, journal, log, limits, deadline, self._tell).run()
        finally:
            worker.close()
        self._tell(force=True)

    def _end_at(self, deadline: float, journal: Journal) -> None:
        if time.monotonic() >= deadline and self._ledger.over is None and next_work(self._ledger) is not None:
            seconds = self._cell.settings.limits.cell_seconds
            event = {"event": "over", "reason": f"the time of the cell, {seconds:g} s, was over"}
            journal.write([event], durable=True)
            self._ledger.apply(event)

    def _arguments(self) -> tuple[str, ...]:
        """For pytest: the user's, then the tests, then what keeps every test and leaves the user's folder alone."""
        settings = self._cell.settings
        forced = (
            "--continue-on-collection-errors",
            "--maxfail=0",
            "-o",
            f"cache_dir={self._folder / 'caches' / 'pytest'}",
        )
        return (*settings.pytest_args, *(self._test_argument(test) for test in settings.tests), *forced)

    def _test_argument(self, test: str) -> str:
        """A test path, relative to the working folder; something that is not a path stays as it is."""
        file, separator, rest = test.partition("::")
        path = self._root / file
        return os.path.relpath(path, self._workdir) + separator + rest if path.exists() else test

    def _variables(self, temporary: Path, stage: str = "") -> dict[str, str]:
        fingerprint = self._environment.fingerprint[:12]
        return variables_for_tests(
            os.environ,
            python=self._python,
            gil=self._cell.key.gil,
            free_threaded=self._is_free_threaded(),
            caches=self._folder.absolute() / "caches" / f"{fingerprint}-{self._cell.key.gil.value}{stage}",
            temporary=temporary,
            token=self._token,
            user={**self._cell.settings.env, **self._assignment.variables},
        )

    def _is_free_threaded(self) -> bool:
        if self._build is not None:
            return self._build.free_threaded
        if self._asked is None:  # a named environment says for itself
            question = "import sys; print('t' in getattr(sys, 'abiflags', ''))"
            try:
                answer = subprocess.run(
                    [str(self._python), "-I", "-c", question], stdout=subprocess.PIPE, timeout=60, check=True
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise ExecutionError(f"{self._python} did not say which build it is: {error}") from error
            self._asked = answer.stdout.strip() == b"True"
        return self._asked

    # -- progress ------------------------------------------------------------------------------------------------

    def _seconds(self) -> float:
        return self._earlier_seconds + time.monotonic() - self._began

    def _tell(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._told < PROGRESS_SECONDS:
            return
        self._told = now
        ledger = self._ledger
        first = (attempts[0].outcome for attempts in (*ledger.entries.values(), *ledger.attempts.values()))
        self._progress(
            Progress(
                cell=self._cell.key.id,
                stage=self._stage,
                planned=len(ledger.planned or ()) + len(ledger.entries),
                finished=ledger.finished,
                counts=count_outcomes(first),
                current=ledger.current,
                worker=len(ledger.workers) + (ledger.worker is not None),
                seconds=round(self._seconds(), 3),
                wrong=tuple(self._wrong()),
            )
        )

    def _wrong(self) -> Iterator[Wrong]:
        """Every entry and test whose first attempt went wrong."""
        planned = self._ledger.planned or ()
        named = ((planned[number].id, attempts) for number, attempts in self._ledger.attempts.items())
        for number, (name, attempts) in enumerate((*self._ledger.entries.items(), *named), 1):
            if attempts[0].outcome.is_bad:
                yield Wrong(number, name, attempts[0].outcome, attempts[0].message)
