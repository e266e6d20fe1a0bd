"""A planned environment made ready: reused when it is exactly what is wanted, made anew when not."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.environment.contents import STAMP, contents_of, difference
from runner.environment.installation import install
from runner.environment.interpreters import find_interpreter
from runner.environment.lock import FolderLock
from runner.environment.places import Places
from runner.environment.probe import Interpreter, probe
from runner.environment.progress import Progress, silent
from runner.environment.projects import sources_of
from runner.environment.stamp import Stamp, UsedInterpreter, read_stamp
from runner.errors import EnvironmentFailedError, InterpreterError
from runner.model.cell import PythonBuild
from runner.model.document import hide_from_git
from runner.model.plan import PlannedEnvironment

_OLDEST = (3, 9)
"""What the worker in the tested environment runs on; Tritons for older Pythons are not made any more."""

_locks: dict[Path, FolderLock] = {}
"""Shared locks of the environments that this process uses; they end with it, however it ends."""
_locks_guard = threading.Lock()


@dataclass(frozen=True)
class ReadyEnvironment:
    """An environment that can be used now, and that no other process replaces while this one lives.

    Attributes:
        python: its interpreter.
        folder: its own folder, or the prefix of a named Python.
        reused: nothing was made.
        reason: why it was made anew although a folder was there, or None.
        seconds: wall time of making or checking it.
        fingerprint: of the `PlannedEnvironment`.
        identity: of what is really there: another one once it was made anew, or the named Python was replaced.
    """

    python: Path
    folder: Path
    reused: bool
    reason: str | None
    seconds: float
    fingerprint: str
    identity: str


def make_environment(
    environment: PlannedEnvironment,
    *,
    root: Path,
    store: Path,
    progress: Progress = silent,
    offline: bool = False,
    places: Places | None = None,
) -> ReadyEnvironment:
    """Make a planned environment ready.

    Args:
        environment: what is wanted.
        root: what its local folders are relative to.
        store: folder that holds the environments; each has a folder of its own there, named by its id.
        progress: told what takes long.
        offline: no network: everything must be on this machine and in uv's cache.
        places: where to look for Pythons; this machine's when None.

    Raises:
        InterpreterError: there is no such Python and none could be made.
        EnvironmentFailedError: it cannot be made, with the end of the installer's output.
    """
    started = time.monotonic()
    if environment.unavailable is not None:
        raise EnvironmentFailedError(f"{environment.id} is unavailable: {environment.unavailable}")
    if environment.executable is not None:
        return _named(environment, environment.executable, root, started)
    folder = store.absolute() / environment.id
    hide_from_git(store)
    local = {str(root / name): sources_of(root / name) for name in environment.local}
    with _shared_at_the_end(folder, progress) as lock:
        there = folder.exists()
        reason = _why_not_reused(folder, environment, local)
        if reason is not None:
            lock.own(progress, f"{environment.id}: another run uses it; waiting for that to end")
            there = folder.exists()
            reason = _why_not_reused(folder, environment, local)  # while we waited another may have made it
        if reason is not None:
            progress(f"{environment.id}: making it" + (f" anew: {reason}" if there else ""))
            _make(folder, environment, local, lock, progress=progress, offline=offline, places=places)
    return ReadyEnvironment(
        python=folder / "bin" / "python",
        folder=folder,
        reused=reason is None,
        reason=reason if there else None,
        seconds=time.monotonic() - started,
        fingerprint=environment.fingerprint,
        identity=hashlib.sha256((folder / STAMP).read_bytes()).hexdigest(),
    )


@contextmanager
def _shared_at_the_end(folder: Path, progress: Progress) -> Iterator[FolderLock]:
    """The lock on a folder: shared at first and kept shared, or freed when the folder did not become ready."""
    with _locks_guard:
        if folder not in _locks:
            _locks[folder] = FolderLock(folder.with_name(f".{folder.name}.lock"))
        lock = _locks[folder]
    waiting = f"{folder.name}: another run makes it; waiting for that"
    with lock.threads:
        try:
            lock.share(progress, waiting)
            yield lock
            lock.share(progress, waiting)
        except BaseException:
            lock.free()
            raise


def changes_since_made(folder: Path) -> str | None:
    """What was changed in an environment since it was made (by a test, as a rule), in one clause; None for nothing."""
    stamp = read_stamp(folder)
    return "it has no stamp of completion" if stamp is None else difference(stamp.contents, contents_of(folder))


def _why_not_reused(folder: Path, environment: PlannedEnvironment, local: dict[str, dict[str, str]]) -> str | None:
    if not folder.exists():
        return "it is not there"
    stamp = read_stamp(folder)
    if stamp is None:
        return "it was not completed"
    if stamp.fingerprint != environment.fingerprint:
        return "the plan wants other packages"
    if not stamp.interpreter.is_unchanged:
        return f"its Python {stamp.interpreter.executable} was changed or removed"
    return _changed_source(stamp, local) or difference(stamp.contents, contents_of(folder))


def _changed_source(stamp: Stamp, local: dict[str, dict[str, str]]) -> str | None:
    if stamp.local.keys() != local.keys():
        return "the plan wants other local folders"
    changes = ((name, difference(stamp.local[name], sources)) for name, sources in local.items())
    return next((f"in {name} {change}" for name, change in changes if change), None)


def _make(
    folder: Path,
    environment: PlannedEnvironment,
    local: dict[str, dict[str, str]],
    lock: FolderLock,
    *,
    progress: Progress,
    offline: bool,
    places: Places | None,
) -> None:
    interpreter = find_interpreter(
        PythonBuild.parse(environment.python), progress=progress, places=places, offline=offline
    )
    if folder.exists():
        # The stamp goes first: a removal that is interrupted leaves a folder that is not complete.
        (folder / STAMP).unlink(missing_ok=True)
        shutil.rmtree(folder)
    used = UsedInterpreter.of(interpreter)
    install(
        folder,
        interpreter,
        environment.pins,
        [Path(name) for name in local],
        progress=progress,
        offline=offline,
        inherit=lock.descriptor,
    )
    stamp = Stamp(fingerprint=environment.fingerprint, interpreter=used, local=local, contents=contents_of(folder))
    stamp.write(folder / STAMP)


def _refuse_old(interpreter: Interpreter) -> None:
    if tuple(map(int, interpreter.version.split(".")[:2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise InterpreterError(f"is Python {interpreter.version}, and tests run on {oldest} or later")


def _named(environment: PlannedEnvironment, executable: str, root: Path, started: float) -> ReadyEnvironment:
    """A Python that the matrix file names: run to see that it works, and otherwise used as it is."""
    python = Path(shutil.which(executable) or root / executable)
    try:
        _refuse_old(probe(python, "named in the matrix file"))
    except InterpreterError as error:
        raise InterpreterError(
            f"{python}, which the environment {environment.id} names, cannot be used: it {error.message}",
            remedy="Correct its path under environment: in the matrix file.",
        ) from error
    file = python.stat()
    return ReadyEnvironment(
        python=python,
        folder=python.parent.parent,
        reused=True,
        reason=None,
        seconds=time.monotonic() - started,
        fingerprint=environment.fingerprint,
        identity=f"{python.resolve()} {file.st_size} {file.st_mtime_ns}",
    )
