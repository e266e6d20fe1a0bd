"""A Python from Debian's source package, for machines that reach a distribution's mirror and nothing else.

Debian ships no free-threaded Python, but the source of one release, from which it builds in minutes. The result stands
in the user's cache, so that it is built once for each user and machine. It is the upstream release without
Debian's patches, as uv's builds are too.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.environment.apt import PrivateApt, SourcePackage
from runner.environment.lock import FolderLock
from runner.environment.probe import Interpreter, check, probe
from runner.environment.progress import Progress
from runner.environment.source_build import build_archive, executable_in
from runner.environment.toolchain import missing_packages, wished_packages
from runner.errors import InterpreterError
from runner.model.cell import PythonBuild

ORIGIN = "built from Debian's source package"

_FREE_BYTES = 1_500_000_000  # sources, objects and the result take 0.9 GB together


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
        apt = PrivateApt(folder / "apt")
        package = _find(apt, name, folder, progress)
        if build.patch not in (None, package.release):
            raise InterpreterError(f"Debian's source package is {package.release}, not {build.patch}")
        exact = package.release + ("t" if build.free_threaded else "")
        final = folder / f"cpython-{exact}-{platform.machine()}"
        executable = executable_in(final, build)
        if not _is_good(executable, build):
            _require_tools(progress)
            _require_space(folder)
            _build(apt, package, final, build, progress)
    interpreter = probe(executable, ORIGIN)
    check(interpreter, build)
    return interpreter


def _find(apt: PrivateApt, name: str, folder: Path, progress: Progress) -> SourcePackage:
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


def _build(apt: PrivateApt, package: SourcePackage, final: Path, build: PythonBuild, progress: Progress) -> None:
    progress(f"Python {build}: downloading {package.name} {package.version}")
    with _apt_alone(final.parent, progress):
        archive = apt.download(package)
    build_archive(archive, final, build, progress)
    shutil.rmtree(archive.parent, ignore_errors=True)


def _require_tools(progress: Progress) -> None:
    """Say before minutes of work what would make the result useless."""
    if missing := missing_packages():
        raise InterpreterError(f"the build needs what is not installed: apt-get install {' '.join(missing)}")
    if wished := wished_packages():
        progress(f"without {' '.join(wished)} the Python that is built has no ssl; kernels do not need it")


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _FREE_BYTES:
        raise InterpreterError(
            f"{folder} has {free / 1e9:.1f} GB free, and the build needs {_FREE_BYTES / 1e9:.1f} GB while it runs"
        )
