"""From a source archive of CPython to an installed Python: complete in its place, or not there at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.environment.probe import check, probe
from runner.environment.process import clean_environ, run
from runner.environment.progress import Progress
from runner.errors import InterpreterError
from runner.model.cell import PythonBuild

_STEP_SECONDS = 3600.0
_MOST_JOBS = 16  # more gain nothing, and a container may see more cores than it may use
_CPU_SECONDS = 240.0  # of 3.13.5 on a server CPU of 2023, all stages; only for the estimate that is shown


def executable_in(prefix: Path, build: PythonBuild) -> Path:
    """Where an installed build has its executable: `bin/python3.13t`."""
    return prefix / "bin" / (f"python{build.version}" + ("t" if build.free_threaded else ""))


def build_archive(archive: Path, final: Path, build: PythonBuild, progress: Progress) -> None:
    """Build and install an archive of CPython's sources. The caller holds a lock on `final`.

    It is made in a folder of its own and the complete result renamed into place. What a killed build leaves is removed
    by the next.

    Args:
        archive: `*.tar.*` with one source tree.
        final: the prefix; what is there is replaced. Beside it, `logs/` gets the build's log.
        build: what it must be when it runs.
        progress: told each stage, the time so far and an estimate.

    Raises:
        InterpreterError: a stage failed, or the result is not that build; the log is kept and named.
    """
    jobs = min(len(os.sched_getaffinity(0)), _MOST_JOBS)
    minutes = max(1, round(_CPU_SECONDS / jobs / 60))
    logs = final.parent / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{final.name}.log"
    log.unlink(missing_ok=True)
    configure = ["./configure", "--quiet", f"--prefix={final}", "--disable-test-modules", "--without-ensurepip"]
    if build.free_threaded:
        configure.append("--disable-gil")
    with _scratch(final) as scratch:
        stages = _Stages(f"Python {build}", log, progress)
        stages.say(
            f"building {archive.name} with {jobs} jobs, about {minutes} minutes if the machine is idle; log: {log}"
        )
        source = _unpack(archive, scratch / "source")
        aside = scratch / "installed"
        stages.run("configuring", configure, source)
        stages.run("compiling", ["make", "--silent", f"-j{jobs}"], source)
        stages.run("installing", ["make", "--silent", "install", f"DESTDIR={aside}"], source)
        shutil.rmtree(final, ignore_errors=True)
        (aside / final.relative_to("/")).rename(final)
        try:
            check(probe(executable_in(final, build), "built"), build)
        except InterpreterError as error:
            shutil.rmtree(final, ignore_errors=True)
            raise InterpreterError(f"what was built cannot be used: it {error.message}; log: {log}") from error
        stages.say("built")


class _Stages:
    """Runs the stages of one build, telling how long each takes."""

    def __init__(self, title: str, log: Path, progress: Progress) -> None:
        self.title, self.log, self.progress = title, log, progress
        self.started = time.monotonic()

    def say(self, line: str) -> None:
        seconds = time.monotonic() - self.started
        self.progress(f"{self.title}: {line} ({seconds:.0f} s)" if seconds >= 1 else f"{self.title}: {line}")

    def run(self, stage: str, command: list[str], folder: Path) -> None:
        self.say(stage)
        finished = run(
            command,
            timeout=_STEP_SECONDS,
            environ=_build_environ(),
            cwd=folder,
            log=self.log,
            tick=lambda _: self.say(f"still {stage}"),
        )
        if finished.code != 0:
            said = finished.last_lines(5)
            raise InterpreterError(f"{stage} {finished.end}; log: {self.log}; its end:\n{said}")


def _build_environ() -> dict[str, str]:
    # DESTDIR, PREFIX, MAKEFLAGS and the like of an outer make would send the result elsewhere.
    outer = {"DESTDIR", "PREFIX", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CONFIG_SITE"}
    return {key: value for key, value in clean_environ().items() if key not in outer}


@contextmanager
def _scratch(final: Path) -> Iterator[Path]:
    """A fresh folder beside the result (so that a rename suffices); those that killed builds left are removed."""
    prefix = f".building-{final.name}-"
    for left in final.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=final.parent, ignore_cleanup_errors=True) as scratch:
        yield Path(scratch)


def _unpack(archive: Path, folder: Path) -> Path:
    try:
        with tarfile.open(archive) as tar:
            # Python 3.11.2 (Debian 12) has no filters yet; what is unpacked was checked against a signed index.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(folder)  # noqa: S202
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InterpreterError(f"{archive.name} could not be unpacked: {error}") from error
    inside = [entry for entry in folder.iterdir() if (entry / "configure").is_file()]
    if len(inside) != 1:
        raise InterpreterError(f"{archive.name} does not hold one source tree")
    return inside[0]
