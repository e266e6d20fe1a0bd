"""What a machine has of what environments need, and what to do about what it lacks. GPUs are not looked at here."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.environment.interpreters import find_on_machine
from runner.environment.places import Places
from runner.environment.process import run
from runner.environment.toolchain import missing_packages
from runner.environment.uv import run_uv
from runner.model.cell import PythonBuild

BUILDS = tuple(PythonBuild.parse(text) for text in ("3.12", "3.13", "3.13t", "3.14", "3.14t"))
_WANTED_BYTES = 10_000_000_000  # a quickstart takes 1.5 GB; one release of torch with CUDA takes 5 GB more


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: such as `Python 3.13t`.
        ok: it is there and works.
        detail: what was found, or what lacks.
        remedy: what to do when it lacks; empty when nothing needs to be done.
        needed: whether the quickstart cannot run without it.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = True


def survey(
    *, folder: Path | None = None, places: Places | None = None, builds: Sequence[PythonBuild] = BUILDS
) -> list[Check]:
    """Look at this machine; nothing is downloaded, built or changed.

    Args:
        folder: where results will be written; the current one when None.
        places: where to look for Pythons; this machine's when None.
        builds: the Pythons to look for.
    """
    places = places or Places.of_this_machine()
    checks = [check for build in builds for check in _python(build, places)]
    return [*checks, _uv(), _compiler(), _source_build(), *_disks(folder or Path.cwd(), places.made)]


def _python(build: PythonBuild, places: Places) -> list[Check]:
    found, _ = find_on_machine(build, places)
    if found is None:
        return [
            Check(
                f"Python {build}",
                ok=False,
                detail="not on this machine",
                remedy="nothing, if uv's download or Debian's source is reached: it is then made when a cell needs it",
                needed=False,
            )
        ]
    checks = [Check(f"Python {build}", ok=True, detail=f"{found.name} at {found.executable} ({found.origin})")]
    if not found.headers:
        checks.append(
            Check(
                f"headers of Python {build}",
                ok=False,
                detail="Python.h is not there; Triton compiles its launcher against it when a kernel runs",
                remedy=f"install the development package of that Python (Debian: python{build.version}-dev)",
            )
        )
    return checks


def _uv() -> Check:
    try:
        finished = run_uv("--version", timeout=30)
    except (OSError, FileNotFoundError) as error:
        return Check("uv", ok=False, detail=str(error), remedy="install triton-compat again; it brings uv")
    if finished.code != 0:
        return Check("uv", ok=False, detail=finished.end, remedy="install triton-compat again; it brings uv")
    return Check("uv", ok=True, detail=finished.last_lines(1))


def _compiler() -> Check:
    """The compiler that Triton would take: `CC`, else gcc, else clang. It is used, not only looked for."""
    name = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    remedy = "install gcc (Debian: apt-get install gcc libc6-dev), or set CC to a C compiler"
    if name is None:
        return Check("C compiler", ok=False, detail="neither CC, gcc nor clang", remedy=remedy)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "module.c"
        source.write_text("#include <stdlib.h>\nint answer(void) { return abs(-42); }\n", encoding="utf-8")
        try:
            built = run([*name.split(), "-shared", "-fPIC", "-o", Path(scratch) / "module.so", source], timeout=60)
        except OSError as error:
            return Check("C compiler", ok=False, detail=f"{name}: {error.strerror}", remedy=remedy)
    if built.code != 0:
        return Check("C compiler", ok=False, detail=f"{name} {built.end}: {built.last_lines(2)}", remedy=remedy)
    return Check("C compiler", ok=True, detail=name)


def _source_build() -> Check:
    """What a build of a free-threaded Python from Debian's source would need, where uv's download is not reached."""
    if shutil.which("apt-get") is None:
        return Check("build of Python from Debian's source", ok=False, detail="no apt here", needed=False)
    if missing := missing_packages():
        return Check(
            "build of Python from Debian's source",
            ok=False,
            detail=f"lacks {', '.join(missing)}",
            remedy=f"only where uv cannot download: apt-get install {' '.join(missing)}",
            needed=False,
        )
    return Check("build of Python from Debian's source", ok=True, detail="apt, compiler and headers are there")


def _disks(*folders: Path) -> list[Check]:
    checks = []
    for folder in dict.fromkeys(folders):
        there = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(there).free
        checks.append(
            Check(
                f"disk of {folder}",
                ok=free >= _WANTED_BYTES,
                detail=f"{free / 1e9:.1f} GB free",
                remedy="" if free >= _WANTED_BYTES else f"have {_WANTED_BYTES / 1e9:.0f} GB free for several Tritons",
                needed=False,
            )
        )
    return checks
