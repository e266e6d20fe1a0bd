"""`triton-compat cell ID`: one cell on this machine, from its environment to its result.json."""

from __future__ import annotations

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from runner.commands.results import audit_file, read_summaries, summary_file
from runner.commands.telling import Teller, finished
from runner.environment.audit import audit
from runner.environment.environments import make_environment
from runner.errors import EnvironmentFailedError, InterpreterError, UsageError
from runner.execution.cell import finished_result, run_cell
from runner.model.document import write_whole
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment, plan_sha
from runner.model.result import CellResult, GilState
from runner.model.summary import CellSummary
from runner.model.words import Status
from runner.report.events import CellStarted, EnvironmentFinished, EnvironmentStarted
from runner.report.terminal import Board

STATUSES = {Status.PASS: 0, Status.FAIL: 1}
"""Exit statuses; whatever is not here cannot tell."""
CANNOT_TELL = 3


def run(options: argparse.Namespace) -> int:
    """Run one cell unless it is finished; exit 0 pass, 1 fail, 3 when it cannot tell (unavailable among them)."""
    plan = Plan.read(options.plan or options.out / "plan.json")
    if options.root is not None:
        plan = plan.model_copy(update={"root": str(options.root.resolve())})
    cell = plan.cell(options.id)
    if cell is None:
        known = ", ".join(cell.key.id for cell in plan.cells)
        raise UsageError(f"The plan has no cell {options.id}.", remedy=f"Its cells are {known}.")
    folder = options.out / "cells" / cell.key.id
    sha = plan_sha(cell, plan.environment(cell.environment))
    others = [one for one in read_summaries(plan, options.out) if one.cell != cell.key.id]
    board = Board(
        (one.key.id for one in plan.cells),
        Console(stderr=True, highlight=False),
        time.monotonic,
        earlier=((finished(one, kept=True), one.seconds) for one in others),
    )
    with board:
        teller = Teller(board, cell.key.id)
        result = finished_result(folder, sha)
        if result is not None and _may_differ_now(result, plan.environment(cell.environment)):
            result = None
        kept = result is not None
        if result is None:
            result = _run(plan, cell, options, folder, teller)
            CellSummary.of(result).write(summary_file(options.out, cell.key.id))
        teller.finish(result, kept=kept)
    return STATUSES.get(result.status, CANNOT_TELL)


def _may_differ_now(result: CellResult, environment: PlannedEnvironment) -> bool:
    """Whether a result tells of the machine rather than of the tests: it, or another one, may be well now."""
    if result.status is Status.INFRA:
        return True
    nothing_ran = result.status in {Status.UNAVAILABLE, Status.NO_RESULT} and not result.tests
    return nothing_ran and environment.unavailable is None


def _run(plan: Plan, cell: PlannedCell, options: argparse.Namespace, folder: Path, teller: Teller) -> CellResult:
    environment = plan.environment(cell.environment)
    if environment.unavailable is not None:
        return _without_tests(cell, folder, Status.UNAVAILABLE, environment.unavailable, plan_sha(cell, environment))
    if not Path(plan.root).is_dir():
        raise UsageError(
            f"The project's root {plan.root} is not a folder here.",
            remedy="Name the project's folder with --root: the plan was made on another machine, or the folder moved.",
        )
    teller.say(EnvironmentStarted(environment.id))
    try:
        ready = make_environment(
            environment,
            root=Path(plan.root),
            store=options.out / "environments",
            progress=teller.note,
            offline=options.offline,
        )
    except InterpreterError as error:
        reason, status = f"no interpreter: {_in_one_line(error.message)}", Status.UNAVAILABLE
    except EnvironmentFailedError as error:
        reason, status = f"no environment: {_in_one_line(error.message)}", Status.NO_RESULT
    else:
        teller.say(EnvironmentFinished(environment.id, reused=ready.reused))
        teller.say(CellStarted(cell.key.id))
        _keep_for_this_environment(folder, ready.identity)
        result = run_cell(
            cell, environment, ready.python, root=Path(plan.root), folder=folder, progress=teller.progress
        )
        if not ready.reused:
            result = result.model_copy(update={"environment_seconds": round(ready.seconds, 3)})
            result.write(folder / "result.json")
        if result.gil.free_threaded_build:
            _audit(ready.python, environment.id, options.out, caches=folder / "caches", teller=teller)
        return result
    teller.say(EnvironmentFinished(environment.id, problem=reason))
    return _without_tests(cell, folder, status, reason, plan_sha(cell, environment))


def _in_one_line(message: str) -> str:
    """A message with a list below it, as a reason that fits a row."""
    first, *rows = (line.strip().removeprefix("- ") for line in message.splitlines() if line.strip())
    return " ".join([first, "; ".join(rows)]).strip()


def _keep_for_this_environment(folder: Path, identity: str) -> None:
    """Let an interrupted run of this cell go on only in the very environment in which it began."""
    mark, journal = folder / "environment.txt", folder / "journal.jsonl"
    if journal.exists() and not (mark.exists() and mark.read_text(encoding="utf-8") == identity):
        journal.unlink()
    write_whole(mark, identity)


def _audit(python: Path, environment: str, out: Path, *, caches: Path, teller: Teller) -> None:
    """Ask the environment's extension modules about the GIL, once a run; what the cell compiled is among them."""
    path = audit_file(out, environment)
    if path.exists():
        return
    teller.note(f"{environment}: asking its extension modules about the GIL")
    try:
        answer = audit(python, environ=os.environ, caches=[caches.resolve()], side_by_side=os.cpu_count() or 2)
    except (
        UsageError
    ) as error:  # the tests ran; that the environment then answers no more is worth a line, not the cell
        teller.note(error.message)
        return
    answer.write(path)


def _without_tests(cell: PlannedCell, folder: Path, status: Status, reason: str, sha: str) -> CellResult:
    """The result of a cell whose tests could not be started: still a file and a row."""
    result = CellResult(
        cell=cell.key,
        gil=GilState(requested=cell.key.gil),
        status=status,
        reason=reason,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        plan_sha=sha,
    )
    result.write(folder / "result.json")
    return result
