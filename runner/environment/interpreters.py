"""Exactly the Python that was asked for: found, else downloaded, else built; or a full account of why not."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runner.environment.debian import build_from_debian
from runner.environment.places import Places, candidates
from runner.environment.probe import Interpreter, check, probe
from runner.environment.process import Finished
from runner.environment.progress import Progress, silent
from runner.environment.refusals import recall, remember
from runner.environment.uv import run_uv
from runner.errors import InterpreterError
from runner.model.cell import PythonBuild

__all__ = ["Interpreter", "Places", "find_interpreter", "find_on_machine"]

_DOWNLOAD_SECONDS = 300.0


@dataclass(frozen=True)
class Tried:
    """One thing that was tried, and why it did not do."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


def find_interpreter(
    build: PythonBuild, *, progress: Progress = silent, places: Places | None = None, offline: bool = False
) -> Interpreter:
    """Find or make the interpreter.

    Args:
        build: what is asked for, exactly: release line (or release) and GIL build.
        progress: told what takes long.
        places: where to look; this machine's when None.
        offline: neither download nor build.

    Raises:
        InterpreterError: there is none; the message lists everything that was tried and why each did not do.
    """
    places = places or Places.of_this_machine()
    found, tried = find_on_machine(build, places)
    if found is not None:
        return found
    if offline:
        tried += (Tried("download and build", "not tried, offline"),)
    else:
        sources: tuple[tuple[str, Callable[[PythonBuild, Path, Progress], Interpreter]], ...] = (
            ("uv's download", download_with_uv),
            ("a build of Debian's source package", build_from_debian),
        )
        for what, obtain in sources:
            try:
                return obtain(build, places.made, progress)
            except InterpreterError as error:
                tried += (Tried(what, error.message),)
    rows = "\n".join(f"  - {row}" for row in tried)
    raise InterpreterError(f"There is no Python {build} on this machine, and none could be made. Tried:\n{rows}")


def find_on_machine(build: PythonBuild, places: Places) -> tuple[Interpreter | None, tuple[Tried, ...]]:
    """Look where Pythons stand; every candidate is run. The first that fits, and what was looked at before it."""
    tried: list[Tried] = []
    for executable, origin in candidates(build, places):
        try:
            interpreter = probe(executable, origin)
            check(interpreter, build)
        except InterpreterError as error:
            tried.append(Tried(f"{executable} ({origin})", error.message))
        else:
            return interpreter, tuple(tried)
    return None, tuple(tried)


def download_with_uv(build: PythonBuild, folder: Path, progress: Progress) -> Interpreter:
    """Have uv download its build of that Python into this tool's own folder.

    Raises:
        InterpreterError: it did not come, with uv's reason; or it is not what was asked for.
    """
    note = folder / "refused" / f"download-{build}"
    if reason := recall(note):
        raise InterpreterError(reason)
    progress(f"Python {build}: asking uv to download it")
    try:
        finished = run_uv(
            *("python", "install", build.request, "--install-dir", folder, "--no-bin"),
            timeout=_DOWNLOAD_SECONDS,
            # Where the download's host is not reached, more tries cost time for each cell and change nothing.
            more={"UV_HTTP_RETRIES": os.environ.get("UV_HTTP_RETRIES", "1")},
        )
    except OSError as error:
        raise InterpreterError(f"uv could not be started: {error}") from error
    if finished.code != 0:
        reason = _first_and_last(finished)
        remember(note, reason, finished.seconds)
        raise InterpreterError(reason)
    here = Places(path=(), versions=(), made=folder, prefixes=())
    found, tried = find_on_machine(build, here)
    if found is None:
        raise InterpreterError("uv installed it, but: " + "; ".join(map(str, tried)))
    return found


def _first_and_last(finished: Finished) -> str:
    """What uv could not do, and the root of its chain of causes."""
    lines = [line.strip() for line in finished.last_lines(30).splitlines()]
    first = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), finished.end)
    causes = [line.removeprefix("cause: ") for line in lines if line.startswith("cause: ")]
    return f"{first}: {causes[-1]}" if causes else first
