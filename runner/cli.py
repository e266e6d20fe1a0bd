"""The front door: `triton-compat`, one subcommand for each stage and each question."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO, TypeAlias

from runner import __version__, commands
from runner.commands.interrupts import TerminatedError, interruptible
from runner.errors import (
    FileRefusedError,
    HungUpRunError,
    InterruptedRunError,
    TerminatedRunError,
    TritonCompatError,
    UsageError,
)

OUT = Path(".triton-compat")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors have the exit code of ours; argparse's own is 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(UsageError.exit_code, f"{self.prog}: {message}\n")


_Subparsers: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001 - argparse has no public name for it


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: the words after the program's name; the process's own when None.

    Returns:
        0 PASS or done, 1 FAIL, 3 CANNOT TELL, or the exit code of the error (10 and above).
    """
    options = build_parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test's name may hold what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        with interruptible():
            return commands.run(options)
    except TritonCompatError as error:
        if options.debug:
            raise
        return _say(error)
    except KeyboardInterrupt as stop:
        return _say(_interrupted(stop))
    except OSError as error:
        earlier = _find_interruption(error)
        if earlier is None and isinstance(error, BrokenPipeError):  # the reader went away (`| head`)
            _turn_away(sys.stdout)
            return 141
        if earlier is None and options.debug:
            raise
        refused = FileRefusedError(f"{error.filename or 'A file'}: {error.strerror or error}")
        return _say(_interrupted(earlier) if earlier else refused)
    except Exception:  # noqa: BLE001 - Python's own exit status would be 1, and that says FAIL
        traceback.print_exc()
        return _say(TritonCompatError("This is a mistake in triton-compat, not in your project."))


def build_parser() -> argparse.ArgumentParser:
    """The whole command line, so that tests and documents can read it."""
    parser = _Parser(
        prog="triton-compat",
        description="A project's Triton tests over Python, GIL mode and Triton, and why a cell fails.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_stages(subparsers)
    _add_questions(subparsers)
    _add_github(subparsers)
    return parser


def _add_stages(subparsers: _Subparsers) -> None:
    """The stages of a run, in their order."""
    plan = _command(subparsers, "plan", "Expand a matrix file, pin every version, decide what is available.")
    plan.add_argument("matrix", type=Path, help="the matrix file")
    plan.add_argument("--offline", action="store_true", help="use what the caches hold and ask no network")
    plan.add_argument("--refresh", action="store_true", help="ask the index again even for pages fetched minutes ago")
    plan.add_argument("--explain", action="store_true", help="print each cell with the source of each of its settings")
    plan.add_argument(
        "--begin", action="store_true", help="begin a run: keep results of an interrupted run, drop others"
    )
    plan.add_argument("--fresh", action="store_true", help="with --begin: keep no earlier result")
    plan.add_argument("--github", action="store_true", help="also write the outputs of a step of GitHub Actions")
    plan.add_argument(
        "--runner", action="append", default=[], metavar="LABEL", help="with --github: for cells that name no machine"
    )
    plan.add_argument("--fork-approved", action="store_true", help="with --github: a person has read this fork's code")

    cell = _command(subparsers, "cell", "Run one cell on this machine.")
    cell.add_argument("id", help="the cell's id, as in plan.json")
    cell.add_argument("--plan", type=Path, help="the plan (default: plan.json in the output folder)")
    cell.add_argument("--root", type=Path, help="the project's root here, when the plan was made on another machine")
    cell.add_argument("--offline", action="store_true", help="install from caches alone")

    experiment = _command(subparsers, "experiment", "Find out why cells failed: one factor changed at a time.")
    experiment.add_argument("--root", type=Path, help="the project's root here, when the plan is another machine's")
    experiment.add_argument("--budget", default="15m", help="time for each cell (default: %(default)s)")
    experiment.add_argument("--total-budget", metavar="TIME", help="time for all cells together (default: no limit)")
    experiment.add_argument("--cell", action="append", default=[], metavar="ID", help="only this cell; may be repeated")
    experiment.add_argument("--base", metavar="REV", help="a commit to compare with, such as origin/main")
    experiment.add_argument("--cache", type=Path, metavar="DIR", help="also look at what fails with this Triton cache")
    experiment.add_argument("--offline", action="store_true", help="install from caches alone")

    _add_rules(experiment)

    judge = _command(subparsers, "judge", "Results to verdict.json; exit 0 PASS, 1 FAIL, 3 CANNOT TELL.")
    judge.add_argument("--baseline", type=Path, metavar="DIR", help="output folder of an earlier run to compare with")
    _add_rules(judge)
    _command(subparsers, "report", "Render report.md, report.html, matrix.svg and junit.xml, and print the table.")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rules",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="signatures of your own; may be repeated",
    )


def _add_questions(subparsers: _Subparsers) -> None:
    """What a person asks of a finding, of an environment, of a machine."""
    repro = _command(subparsers, "repro", "The commands that show a finding again, and a report that is ready to file.")
    repro.add_argument("finding", help="its id in verdict.json, or the beginning of it")
    repro.add_argument("--cell", metavar="ID", help="show it in this cell (default: the first that was looked into)")
    bisect = _command(
        subparsers, "bisect", "Over the Triton releases with wheels for a cell's Python, the first bad one."
    )
    bisect.add_argument("cell", help="id of a cell that failed")
    bisect.add_argument("test", nargs="?", help="id of a test that failed there (default: one of the commonest root)")
    bisect.add_argument("--offline", action="store_true", help="plan and install from caches alone")
    _add_rules(bisect)
    audit = _command(subparsers, "audit", "Every extension module of an environment, and what it does to the GIL.")
    audit.add_argument(
        "python", nargs="?", help="a Python, a folder, or the id of an environment made here (default: this Python)"
    )
    audit.add_argument("--cache", type=Path, action="append", default=[], help="also modules compiled into this folder")
    audit.add_argument("--json", action="store_true", help="print JSON")
    audit.add_argument("--strict", action="store_true", help="exit 1 when a module switches the GIL on")
    _command(subparsers, "schema", "Print the JSON Schema of matrix files, for editors.")
    _command(subparsers, "doctor", "What this machine has and lacks, and what to do about it.")


def _add_github(subparsers: _Subparsers) -> None:
    """What a job on GitHub needs."""
    gather = _command(subparsers, "gather", "Bring results that other machines uploaded into the output folder.")
    gather.add_argument("downloads", type=Path, help="the folder with one folder for each downloaded artifact")
    baseline = _command(subparsers, "baseline", "Find an earlier result of the base branch for judge to compare with.")
    baseline.add_argument(
        "wanted",
        nargs="?",
        default="auto",
        metavar="auto|none|DIR",
        help="DIR: an output folder (default: %(default)s)",
    )
    baseline.add_argument("--into", type=Path, required=True, metavar="DIR", help="a folder of its own for the results")
    publish = _command(subparsers, "publish", "Write comment, job summary and outputs on GitHub; exits as judge does.")
    publish.add_argument(
        "--comment",
        choices=["always", "changes", "problems", "off"],
        default="always",
        help="when a pull request gets a comment (default: %(default)s)",
    )
    publish.add_argument(
        "--author", default="github-actions[bot]", help="login under which the token writes (default: %(default)s)"
    )
    publish.add_argument("--check", action="store_true", help="also write a check run")
    publish.add_argument("--no-annotations", dest="annotations", action="store_false", help="no marks at failing lines")
    publish.add_argument("--strict", action="store_true", help="exit 20 when a PASS could not be published")


def _command(subparsers: _Subparsers, name: str, summary: str) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=OUT, help="the output folder (default: %(default)s)")
    return parser


def _find_interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """What really ended the run, when something else broke on the way out: a closed terminal takes no last line."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error


def _interrupted(stop: KeyboardInterrupt) -> InterruptedRunError:
    if not isinstance(stop, TerminatedError):
        return InterruptedRunError("Stopped.")
    kind = HungUpRunError if stop.how is signal.SIGHUP else TerminatedRunError
    return kind(f"Stopped by {stop.how.name}.")


def _say(error: TritonCompatError) -> int:
    """Tell what happened, should anybody still read it, and return the exit status, which is the error's anyway."""
    try:
        print(f"triton-compat: {error}", file=sys.stderr, flush=True)
    except OSError:
        _turn_away(sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        _turn_away(sys.stdout)
    return error.exit_code


def _turn_away(stream: TextIO) -> None:
    """Let the rest go nowhere: the interpreter flushes at exit, and what fails there changes the exit status."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
