"""The race stage of a cell: which tests are raced, and workers until all of them were. The supervisor is the same."""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from runner.execution.journal import Journal, read_events
from runner.execution.ledger import Ledger
from runner.execution.orders import Work, next_work
from runner.execution.race_ledger import RaceLedger
from runner.model.cell import PythonBuild
from runner.model.plan import PlannedCell
from runner.model.race import NotRaced, Races
from runner.model.result import CellResult
from runner.model.words import Outcome, Status

JOURNAL = "races.jsonl"
DOCUMENT = "races.json"
FILES = (JOURNAL, DOCUMENT)


class RunWorker(Protocol):
    """Runs one worker to its end, whatever becomes of it."""

    def __call__(self, work: Work, ledger: RaceLedger, journal: Journal) -> None:
        """Give it this work; its events go into that ledger and journal."""


def run_races(
    cell: PlannedCell,
    ordinary: Ledger,
    *,
    python: PythonBuild | None,
    folder: Path,
    plan_sha: str,
    deadline: float,
    run_worker: RunWorker,
    clock: Callable[[], float] = time.monotonic,
) -> Races:
    """Race every test of a cell that passed in the ordinary run, taking up a stage that was cut short.

    Writes `races.jsonl` while it runs and `races.json` at the end.

    Args:
        cell: as planned; its settings ask for a race.
        ordinary: the ledger of the ordinary run, which is over.
        python: the build that must come up, or None where a named environment says for itself.
        folder: of the cell.
        plan_sha: see `CellResult`.
        deadline: when the time of the cell is over, by `clock`.
        run_worker: effect.
        clock: monotonic seconds.
    """
    race, began = cell.settings.race, clock()
    planned = ordinary.planned or []
    left_out = dict(_left_out(ordinary, race.leave_out))
    eligible = {n: ordinary.attempts[n][0].seconds for n in range(len(planned)) if n not in left_out}
    ledger = RaceLedger(cell.key.gil, python, race, planned, eligible)
    ledger.left_out.update(ordinary.left_out)
    path = folder / JOURNAL
    events = read_events(path)
    resumed = bool(events) and events[0].get("plan_sha") == plan_sha
    with Journal(path, plan_sha, fresh=not resumed) as journal:
        for event in events if resumed else ():
            ledger.take_in(event)
        ledger.apply({"event": "supervisor"})
        journal.write([{"event": "supervisor"}])
        while ordinary.over is None and (work := next_work(ledger)) is not None:
            if clock() >= deadline:
                event = {"event": "over", "reason": "the time of the cell was over"}
                journal.write([event], durable=True)
                ledger.apply(event)
                break
            run_worker(Work("race", work.numbers), ledger, journal)
    races = _read_races(cell, ledger, left_out, ordinary.over, plan_sha, clock() - began)
    races.write(folder / DOCUMENT)
    return races


def with_races(result: CellResult, races: Races) -> CellResult:
    """A cell's result after its races: they make no pass better, and no plain pass of a cell in which one failed."""
    if races.status is Status.PASS:
        return result
    worse = {Status.PASS: races.status, Status.NO_RESULT: races.status}
    reason = "; ".join(filter(None, (result.reason, races.reason)))
    return result.model_copy(update={"status": worse.get(result.status, result.status), "reason": reason})


def _left_out(ordinary: Ledger, globs: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Numbers of the tests that are not even tried, and why."""
    for number, test in enumerate(ordinary.planned or ()):
        attempts = ordinary.attempts.get(number)
        outcome = attempts[0].outcome if attempts else Outcome.NOT_RUN
        if outcome is not Outcome.PASSED:
            yield number, f"it was {outcome.value.replace('_', ' ')} in the ordinary run"
        elif glob := next((one for one in globs if _pattern(one).fullmatch(test.id)), None):
            yield number, f"the matrix leaves out {glob}"


def _pattern(glob: str) -> re.Pattern[str]:
    """Brackets stand for themselves, because node ids are full of them."""
    return re.compile(fnmatch.translate(glob.replace("[", "[[]")))


def _read_races(
    cell: PlannedCell, ledger: RaceLedger, left_out: dict[int, str], over: str | None, plan_sha: str, seconds: float
) -> Races:
    last = ledger.workers[-1].reason if ledger.workers else "no process came up"
    why = over or ledger.over or f"no worker process could get to it; the last one: {last}"
    unfinished = {**ledger.missing, **dict.fromkeys(ledger.remaining(), why)}
    trouble = [attempt for attempts in ledger.entries.values() for attempt in attempts if attempt.outcome.is_bad]
    return Races(
        cell=cell.key,
        threads=cell.settings.race.threads,
        rounds=cell.settings.race.rounds,
        gil=ledger.gil,
        tests=tuple(ledger.raced[number] for number in sorted(ledger.raced)),
        left_out=_with_names(ledger, {**left_out, **ledger.unfit}),
        unfinished=_with_names(ledger, unfinished),
        trouble=(*trouble, *ledger.session),
        workers=tuple(ledger.workers),
        seconds=round(seconds, 3),
        plan_sha=plan_sha,
    )


def _with_names(ledger: RaceLedger, reasons: dict[int, str]) -> tuple[NotRaced, ...]:
    planned = ledger.planned or []
    return tuple(NotRaced(id=planned[number].id, reason=reasons[number]) for number in sorted(reasons))
