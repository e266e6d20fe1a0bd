"""The matrix as nox sessions, for this repository's noxfile and for anybody's.

In a noxfile: `from runner import sessions; sessions.register("matrices/mine.yml")` gives a session `matrix` (plan, all
cells, experiments, verdict, report) and one session for each planned cell, with tags such as `py3.13t`, `gil-off` and
`triton-3.7.0`. Each stage is a process of its own and talks to the next through files, so a stage that is killed
loses nothing that an earlier one wrote.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nox
from filelock import FileLock, Timeout

from runner.commands.interrupts import run_child
from runner.commands.side_by_side import choose_jobs, jobs_option, run_side_by_side
from runner.errors import DocumentError
from runner.model.plan import Plan, PlannedCell
from runner.model.result import CellResult
from runner.model.words import Status

OUT = Path(".triton-compat")
NO_BUDGET = "0"
VERDICTS = (0, 1, 3)
"""Exit statuses that say PASS, FAIL or CANNOT TELL; every other one is an error of ours."""


def register(matrix: Path | str, *, noxfile: Path, out: Path = OUT) -> None:
    """Define the session `matrix` and one session for each planned cell.

    Args:
        matrix: the matrix file that `nox -s matrix` runs when none is named after `--`.
        noxfile: the noxfile that calls this; started again for the cells once they are known.
        out: the output folder, relative to the noxfile's folder. The cells are those of the plan in it.
    """
    plan = _known_plan(Path(matrix), out, make=_names_cells(sys.argv[1:]))
    for cell in plan.cells if plan else ():
        _register_cell(cell, out)

    @nox.session(name="matrix", venv_backend="none")
    def run_matrix(session: nox.Session) -> None:
        """Plan, every cell, experiments, verdict, report; after --: [MATRIX] and options, which -- --help lists."""
        options = _options(session.posargs, Path(matrix))
        with _alone(session, out):
            status = _run_matrix(session, options, noxfile, out)
        if status:
            session.error({1: "FAIL", 3: "CANNOT TELL"}[status])


def _run_matrix(session: nox.Session, options: argparse.Namespace, noxfile: Path, out: Path) -> int:
    """All stages, one after the other; the exit status of the judge."""
    _stage(session, "plan", str(options.matrix), "--out", str(out), "--begin", *options.switches, may_end_with=(0,))
    plan = Plan.read(out / "plan.json")
    jobs = choose_jobs(options.jobs, plan, os.environ)
    if jobs > 1:
        _run_side_by_side(session, plan, out, jobs, offline=options.offline)
    else:
        # Its own echo of this command would be longer than a screen; a failing cell fails its session there, and
        # what that means is the judge's to say.
        words = (*("--noxfile", str(noxfile)), "--sessions", *(cell.key.id for cell in plan.cells))
        tail = ("--", "--offline") if options.offline else ()
        run_child([sys.executable, "-m", "nox", *words, *tail])
    _look_into_failures(session, options, out)
    status = _stage(session, "judge", "--out", str(out))
    _stage(session, "report", "--out", str(out), may_end_with=(0,))
    return status


def _look_into_failures(session: nox.Session, options: argparse.Namespace, out: Path) -> None:
    """The experiments; without them there is still a verdict, so their failure ends nothing."""
    if options.budget == NO_BUDGET:
        return
    words = ["experiment", "--out", str(out), "--budget", options.budget]
    words += ["--total-budget", options.total_budget] if options.total_budget else []
    words += ["--offline"] if options.offline else []
    status = run_child([sys.executable, "-m", "runner", *words])
    if status:
        session.warn(f"the failures were not looked into: triton-compat experiment ended with exit status {status}")


@contextmanager
def _alone(session: nox.Session, out: Path) -> Iterator[None]:
    """Keep a second run out of the folder: it would replace the plan and the results of the first."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with FileLock(out / "run.lock", timeout=0):
            yield
    except Timeout:
        session.error(f"another run uses {out.absolute()}; wait for it to end, or run in another checkout")
    except OSError as error:
        session.error(f"the output folder {out.absolute()} cannot be used: {error.strerror}")


def _register_cell(cell: PlannedCell, out: Path) -> None:
    key = cell.key
    tags = [f"py{key.python}", f"gil-{key.gil.value}"]
    tags += [f"triton-{key.triton}"] if key.triton else []
    tags += [f"torch-{key.torch}"] if key.torch else []

    @nox.session(name=key.id, venv_backend="none", tags=tags, default=False)
    def run_cell(session: nox.Session) -> None:
        status = _stage(session, "cell", key.id, "--plan", str(out / "plan.json"), "--out", str(out), *session.posargs)
        result = CellResult.read(out / "cells" / key.id / "result.json")
        if result.status is Status.UNAVAILABLE:
            session.skip(result.reason)
        if status:
            session.error(f"{result.status.value}: {result.reason}")

    run_cell.__doc__ = f"Python {key.python}, GIL {key.gil.value}, Triton {key.triton or 'as installed'}."


def _run_side_by_side(session: nox.Session, plan: Plan, out: Path, jobs: int, *, offline: bool) -> None:
    """Run the cells without nox in between: several nox sessions at once would write over each other's lines."""
    session.log(f"{len(plan.cells)} cells, {jobs} at once")
    common = ("--plan", str(out / "plan.json"), "--out", str(out), *(["--offline"] if offline else []))
    ids = [cell.key.id for cell in plan.cells]
    commands = [(name, (sys.executable, "-m", "runner", "cell", name, *common)) for name in ids]
    statuses = run_side_by_side(commands, jobs, _say)
    for name, status in statuses.items():
        if status not in VERDICTS:
            session.warn(f"{name} could not be run: triton-compat cell ended with exit status {status}")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _stage(session: nox.Session, *words: str, may_end_with: Sequence[int] = VERDICTS) -> int:
    """Run one stage and return its exit status if that is expected; any other ends the session."""
    command = (sys.executable, "-m", "runner", *words)
    session.debug(" ".join(command))
    status = run_child(command)  # session.run would not tell 1 from 3
    if status not in may_end_with:
        session.error(f"triton-compat {words[0]} ended with exit status {status}")
    return status


def _options(words: Sequence[str], default: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s matrix --", description="Run a whole compatibility matrix.")
    parser.add_argument("matrix", nargs="?", type=Path, default=default, help="the matrix file")
    parser.add_argument("--offline", action="store_true", help="plan and install from caches alone")
    parser.add_argument("--fresh", action="store_true", help="keep no result of an interrupted run")
    parser.add_argument(
        "--jobs", type=jobs_option, default=1, metavar="N|auto", help="cells at once; auto: one for each usable GPU"
    )
    parser.add_argument(
        "--budget", default="15m", metavar="TIME", help="for experiments, each failing cell; 0: none (default: 15m)"
    )
    parser.add_argument("--total-budget", metavar="TIME", help="for the experiments of all cells together")
    options = parser.parse_args(words)
    options.matrix = _from_where_it_was_called(options.matrix)
    options.switches = [f"--{name}" for name in ("offline", "fresh") if getattr(options, name)]
    return options


def _names_cells(words: Sequence[str]) -> bool:
    """Whether a nox command line needs the cells to be known: it lists sessions, or chooses by tag, keyword or id."""
    wanted = {"-l", "--list", "--list-sessions", "--json", "-t", "--tags", "-k", "--keywords"}
    return any(word in wanted or "-gil-" in word for word in words)


def _from_where_it_was_called(path: Path) -> Path:
    """A path as the user meant it: nox works in the noxfile's folder, but the shell may stand elsewhere."""
    called_from = os.environ.get("PWD")
    if path.is_absolute() or path.exists() or not called_from:
        return path
    return Path(called_from) / path


def _known_plan(matrix: Path, out: Path, *, make: bool) -> Plan | None:
    """The plan in the output folder; when there is none and the cells must be known, one of `matrix` is made."""
    if not (out / "plan.json").exists() and make:
        subprocess.run([sys.executable, "-m", "runner", "plan", str(matrix), "--out", str(out)], check=False)
    try:
        return Plan.read(out / "plan.json")
    except DocumentError as error:  # the session `matrix` makes it anew; until then there are no cells to name
        if make and (out / "plan.json").exists():
            _say(f"triton-compat: no cells are listed. {error}")
        return None
