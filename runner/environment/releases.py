"""Which CPythons exist: those that uv knows of, and whatever stands on this machine."""

from __future__ import annotations

import re
from functools import cache

from runner.environment.interpreters import find_on_machine
from runner.environment.places import Places
from runner.environment.uv import run_uv
from runner.model.cell import PythonBuild

_LIST_SECONDS = 60.0
_ROW = re.compile(
    r"^cpython-(?P<version>3\.\d+\.\d+(?:(?:a|b|rc)\d+)?)(?P<free_threaded>\+freethreaded)?-", re.MULTILINE
)


@cache
def known_builds() -> frozenset[PythonBuild]:
    """Every CPython release that uv can name, each exactly (`3.13.5t`); asks no network. Empty when uv does not say."""
    listed = run_uv("python", "list", "--all-versions", "--only-downloads", timeout=_LIST_SECONDS, offline=True)
    if listed.code:
        return frozenset()
    return frozenset(
        PythonBuild.parse(row["version"] + ("t" if row["free_threaded"] else ""))
        for row in _ROW.finditer(listed.output)
    )


def why_no_such_python(build: PythonBuild) -> str | None:
    """Why a Python is taken for a slip of the pen, naming the newest that exists; None when it exists or may.

    A release that uv does not know (a local build, one of today) exists when it stands on this machine.
    """
    known = known_builds()
    alike = [one for one in known if one.free_threaded == build.free_threaded]
    line = [one for one in alike if one.version == build.version]
    if not known or (line if build.patch is None else build in line):
        return None
    if find_on_machine(build, Places.of_this_machine())[0] is not None:
        return None
    if line:
        newest = max(line, key=_patch)
        return f"there is no Python {build}; the newest {build.version} is {newest}"
    newest = max(alike, key=lambda one: one.minor)
    return f"there is no Python {build}; the newest is {newest.version}{'t' if newest.free_threaded else ''}"


def _patch(build: PythonBuild) -> tuple[bool, int]:
    """Final releases after pre-releases, by their last number."""
    last = (build.patch or "").rpartition(".")[2]
    return last.isdigit(), int(last) if last.isdigit() else 0
