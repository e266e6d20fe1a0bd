"""The workers of one cell, one after the other until nothing is left to run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.execution.bulletin import Bulletin
from runner.execution.invocation import Invocation
from runner.execution.journal import Journal
from runner.execution.ledger import Ledger
from runner.execution.log import BoundedLog
from runner.execution.observation import Observation
from runner.execution.orders import Work, give_orders, next_suspect, next_work
from runner.execution.race import run_races
from runner.execution.rules import Rules
from runner.execution.watch import Watch
from runner.execution.worker import STACK_SIGNAL, WorkerProcess
from runner.model.race import Races

MOST_SUSPECTS = 20
SUSPECTS_SHARE = 0.25
"""Of a cell's seconds, for running suspects again."""
BOARD = "board"
"""Name of the file for what is running; there only while something is."""


class Workers:
    """Starts them, and has them watched.

    Args:
        invocation: how.
        rules: see `Rules`.
        ledger, journal, log: take what they say.
        bulletin: told as things go on.
        temporary: their TMPDIR.
        deadline: when the time of the cell is over, on the monotonic clock.
    """

    def __init__(
        self,
        invocation: Invocation,
        rules: Rules,
        ledger: Ledger,
        journal: Journal,
        log: BoundedLog,
        bulletin: Bulletin,
        temporary: Path,
        deadline: float,
    ) -> None:
        self._invocation = invocation
        self._rules = rules
        self._ledger = ledger
        self._journal = journal
        self._log = log
        self._bulletin = bulletin
        self._temporary = temporary
        self._deadline = deadline

    def run_tests(self) -> None:
        """Collect, run every test, run suspects again, and find out what the environment really is meanwhile."""
        invocation, ledger = self._invocation, self._ledger
        variables = invocation.variables(self._temporary)
        limits = invocation.cell.settings.limits
        observation = None
        if not ledger.observed:
            observation = Observation(invocation.python, variables, invocation.workdir)
        try:
            while work := next_work(ledger):
                self._bulletin.stage = "collecting" if ledger.planned is None else "running"
                self._run_one(work, ledger, self._journal, variables, self._deadline)
                self._end_at_deadline()
            if self._rules.retry_suspects:
                self._bulletin.stage = "repeating suspects"
                deadline = min(self._deadline, time.monotonic() + SUSPECTS_SHARE * limits.cell_seconds)
                while time.monotonic() < deadline and (work := next_suspect(ledger, MOST_SUSPECTS)):
                    self._run_one(work, ledger, self._journal, variables, deadline)
            if observation is not None and ledger.hello is not None:
                seen = observation.finish(ledger.hello, invocation.environment.fingerprint)
                observation = None
                self._note({"event": "observed", "environment": seen.model_dump(mode="json")})
        finally:
            if observation is not None:
                observation.abandon()

    def run_races(self, plan_sha: str) -> Races:
        """Every test in several threads at once, with caches of their own."""
        self._bulletin.stage = "racing"
        variables = self._invocation.variables(self._temporary, "-race")
        caches = Path(variables["TRITON_CACHE_DIR"]).parent

        def run_worker(work: Work, ledger: Ledger, journal: Journal) -> None:
            self._run_one(work, ledger, journal, variables, self._deadline)

        shutil.rmtree(caches, ignore_errors=True)
        try:
            return run_races(
                self._invocation.cell,
                self._ledger,
                python=self._invocation.build,
                folder=self._invocation.folder,
                plan_sha=plan_sha,
                deadline=self._deadline,
                run_worker=run_worker,
            )
        finally:
            shutil.rmtree(caches, ignore_errors=True)

    def _run_one(
        self, work: Work, ledger: Ledger, journal: Journal, variables: dict[str, str], deadline: float
    ) -> None:
        invocation, rules = self._invocation, self._rules
        settings = invocation.cell.settings
        orders = give_orders(work, ledger, invocation.arguments, STACK_SIGNAL, rules.only, rules.files)
        if work.mode == "race":
            orders = replace(orders, race=settings.race.model_dump(include={"threads", "rounds"}))
        board = None if work.mode == "race" else invocation.folder / BOARD
        worker = WorkerProcess(invocation.python, orders, variables, invocation.workdir, board)
        with self._bulletin.following(ledger, lambda: _round(worker.board.race, settings.race.rounds)):
            try:
                event = {
                    "event": "worker",
                    "pid": worker.pid,
                    "mode": work.mode,
                    "numbers": list(work.numbers or ())[:1],
                }
                journal.write([event])
                ledger.apply(event)
                self._log.write(f"=== process {worker.pid}: {work.mode} ===\n".encode())
                Watch(worker, ledger, journal, self._log, settings.limits, deadline, self._bulletin).run()
                self._bulletin.tell(force=True)
            finally:
                worker.close()

    def _end_at_deadline(self) -> None:
        ledger = self._ledger
        if time.monotonic() >= self._deadline and ledger.over is None and next_work(ledger) is not None:
            seconds = self._invocation.cell.settings.limits.cell_seconds
            self._note({"event": "over", "reason": f"the time of the cell, {seconds:g} s, was over"}, durable=True)

    def _note(self, event: dict[str, object], *, durable: bool = False) -> None:
        """An event of the supervisor's own."""
        self._journal.write([event], durable=durable)
        self._ledger.apply(event)


def _round(race: Mapping[str, Any] | None, rounds: int) -> str | None:
    return f"round {race['round']} of {rounds}" if race else None
