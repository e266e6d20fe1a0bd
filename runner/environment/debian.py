"""A Python from Debian's source package, for machines that reach a distribution's mirror and nothing else.

Debian ships no free-threaded Python, but the source of one release, from which it builds in minutes. The result stands
in the user's cache, so that it is built once for each user and machine.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.environment.apt import PrivateApt, SourcePackage
from runner.environment.lock import FolderLock
from runner.environment.probe import Interpreter, check, probe
from runner.environment.process import clean_environ, run
from runner.environment.progress import Progress
from runner.errors import InterpreterError
from runner.model.cell import PythonBuild

ORIGIN = "built from Debian's source package"

_STEP_SECONDS = 3600.0
_BUILD_CPU_SECONDS = 240.0  # of 3.13.5 on a server CPU of 2023, all stages; only for the estimate that is shown
_FREE_BYTES = 1_500_000_000  # sources, objects and the result take 0.9 GB together

_HEADERS = {"zlib.h": "zlib1g-dev", "ffi.h": "libffi-dev"}
_WISHED_HEADERS = {"openssl/ssl.h": "libssl-dev"}


def build_from_debian(build: PythonBuild, folder: Path, progress: Progress) -> Interpreter:
    """Build the interpreter into `folder`, or take it from there when another run has just built it.

    Args:
        build: what is asked for.
        folder: where Pythons of this tool stand; the result is a folder in it, complete or absent.
        progress: told each stage, the time it takes, and an estimate.

    Raises:
        InterpreterError: no Linux, no source package of that release, no compiler, no header, or the build failed;
            in the last case the message names its log.
    """
    if sys.platform != "linux":
        raise InterpreterError("only done on Linux")
    if re.search(r"[\s#:\"'$]", str(folder)):
        raise InterpreterError(
            f"Python does not build below {str(folder)!r}: that name has spaces or special characters"
        )
    name = f"python{build.version}"
    with FolderLock(folder / f".{build}.lock") as lock:
        lock.own(progress, f"Python {build}: another run builds it; waiting for that")
        package = _source(name, folder, progress)
        if build.patch not in (None, package.release):
            raise InterpreterError(f"Debian's source package is {package.release}, not {build.patch}")
        exact = package.release + ("t" if build.free_threaded else "")
        final = folder / f"cpython-{exact}-{platform.machine()}"
        executable = final / "bin" / (name + ("t" if build.free_threaded else ""))
        if not _is_good(executable, build):
            _require_tools(progress)
            _require_space(folder)
            _build(package, final, executable, build, progress)
    interpreter = probe(executable, ORIGIN)
    check(interpreter, build)
    return interpreter


def _source(name: str, folder: Path, progress: Progress) -> SourcePackage:
    apt = PrivateApt(folder / "apt")
    progress(f"{name}: looking for its source package on the machine's Debian mirror")
    with _apt_alone(folder, progress):
        trouble = apt.update()
        try:
            return apt.find(name)
        except InterpreterError as error:
            raise InterpreterError(trouble or error.message) from error


@contextmanager
def _apt_alone(folder: Path, progress: Progress) -> Iterator[None]:
    # apt refuses to work beside another apt on the same index; builds of two Pythons share one.
    with FolderLock(folder / ".apt.lock") as lock:
        lock.own(progress, "another run uses this tool's apt index; waiting for that")
        yield


def _is_good(executable: Path, build: PythonBuild) -> bool:
    try:
        check(probe(executable, ORIGIN), build)
    except InterpreterError:
        return False
    return True


def _build(package: SourcePackage, final: Path, executable: Path, build: PythonBuild, progress: Progress) -> None:
    """Make it in a folder of its own and rename the complete result into place."""
    jobs = len(os.sched_getaffinity(0))
    minutes = max(1, round(_BUILD_CPU_SECONDS / jobs / 60))
    logs = final.parent / "logs"
    logs.mkdir(exist_ok=True)
    log = logs / f"{final.name}.log"
    log.unlink(missing_ok=True)
    configure = ["./configure", "--quiet", f"--prefix={final}", "--disable-test-modules", "--without-ensurepip"]
    if build.free_threaded:
        configure.append("--disable-gil")
    with _scratch(final) as scratch:
        stages = _Stages(f"Python {build}", log, progress)
        stages.say(f"building {package.name} {package.version} with {jobs} jobs, about {minutes} minutes; log: {log}")
        with _apt_alone(final.parent, progress):
            archive = PrivateApt(final.parent / "apt").download(package, scratch)
        source = _unpack(archive, scratch / "source")
        aside = scratch / "installed"
        stages.run("configuring", configure, source)
        stages.run("compiling", ["make", "--silent", f"-j{jobs}"], source)
        stages.run("installing", ["make", "--silent", "install", f"DESTDIR={aside}"], source)
        shutil.rmtree(final, ignore_errors=True)
        (aside / final.relative_to("/")).rename(final)
        try:
            check(probe(executable, ORIGIN), build)
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
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InterpreterError(f"{archive.name} could not be unpacked: {error}") from error
    inside = [entry for entry in folder.iterdir() if (entry / "configure").is_file()]
    if len(inside) != 1:
        raise InterpreterError(f"{archive.name} does not hold one source tree")
    return inside[0]


def _require_tools(progress: Progress) -> None:
    """Say before minutes of work what would make the result useless."""
    compiler = next((name for name in ("gcc", "cc", "clang") if shutil.which(name)), None)
    missing = [] if compiler else ["gcc"]
    if shutil.which("make") is None:
        missing.append("make")
    if compiler:
        missing += [package for header, package in _HEADERS.items() if not _has_header(compiler, header)]
        for header, package in _WISHED_HEADERS.items():
            if not _has_header(compiler, header):
                progress(f"without {package} the Python that is built has no ssl; kernels do not need it")
    if missing:
        raise InterpreterError(f"the build needs what is not installed: apt-get install {' '.join(missing)}")


def _has_header(compiler: str, header: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "header.c"
        source.write_text(f"#include <{header}>\n", encoding="utf-8")
        return run([compiler, "-E", "-o", os.devnull, source], timeout=60).code == 0


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _FREE_BYTES:
        raise InterpreterError(
            f"{folder} has {free / 1e9:.1f} GB free, and the build needs {_FREE_BYTES / 1e9:.1f} GB while it runs"
        )
