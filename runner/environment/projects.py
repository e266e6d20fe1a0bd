"""The user's own folders: what they hold, and a wheel of each for one environment.

A folder is copied and built anew for each environment, never installed in place. An in-place build leaves its objects
and extension modules in the one source tree that all Pythons share, and a module of one ABI that another loads is the
very failure that a matrix looks for. The copy also keeps the user's folder clean and lets environments be made side by
side. It is the only thing that is ever built from source: what the build itself needs comes as wheels.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

from packaging.utils import canonicalize_name

from runner.environment.process import clean_environ
from runner.environment.uv import run_uv
from runner.errors import EnvironmentFailedError

_BUILD_SECONDS, _GIT_SECONDS = 3600.0, 60.0
_NOT_SOURCE = {".git", ".hg", ".venv", "venv", ".nox", ".tox", "__pycache__", "build", "dist", "node_modules"}
_NOT_SOURCE |= {".triton-compat", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}
_LACKS_BUILD_REQUIREMENTS = ("Failed to resolve requirements", "Failed to install requirements", "Failed to fetch")


def source_files(folder: Path) -> tuple[Path, ...]:
    """Files of a project, relative to its folder: what git does not ignore; without git all but caches and outputs.

    Caches and outputs by their well-known names are left out even where git would list them as new, but never what git
    tracks: our own results may stand in a project whose .gitignore does not know them.
    """
    tracked = _git(folder, "ls-files", "-z", "--cached")
    new = _git(folder, "ls-files", "-z", "--others", "--exclude-standard")
    if tracked is not None and new is not None and (tracked or new):
        named = [Path(name) for name in tracked.split("\0") if name]
        named += [path for name in new.split("\0") if name and _is_source(path := Path(name))]
        return tuple(sorted({path for path in named if (folder / path).exists()}))
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if _is_source(Path(name))]
        found += [(Path(parent) / name).relative_to(folder) for name in names]
    return tuple(sorted(found))


def _is_source(path: Path) -> bool:
    return not any(part in _NOT_SOURCE or part.endswith(".egg-info") for part in path.parts)


def sources_of(folder: Path) -> dict[str, str]:
    """What a project holds: the digest of each source file, and the commit, from which some make their version.

    Raises:
        EnvironmentFailedError: there is no such folder, or nothing in it that can be installed.
    """
    if not any((folder / name).is_file() for name in ("pyproject.toml", "setup.py")):
        raise EnvironmentFailedError(
            f"{folder} cannot be installed: it has neither pyproject.toml nor setup.py",
            remedy="Correct project.install in the matrix file, or leave it out when there is nothing to install.",
        )
    sources = {"HEAD": (_git(folder, "describe", "--always", "--tags", "--long") or "").strip()}
    for name in source_files(folder):
        if (file := folder / name).is_file():
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            sources[str(name).encode(errors="backslashreplace").decode()] = digest
    return sources


def build_wheel(folder: Path, python: Path, scratch: Path, *, offline: bool) -> Path:
    """Build a wheel of the user's project for one environment.

    Args:
        folder: the project.
        python: of the environment.
        scratch: an empty folder for the copy and the wheel.
        offline: what the build needs must be in uv's cache.

    Raises:
        EnvironmentFailedError: it did not build; with the end of the build's output.
    """
    copied = _copy(folder, scratch / "source")
    wheels = scratch / "wheels"
    for without_network in (True,) if offline else (True, False):
        finished = run_uv(
            *("build", "--wheel", "--no-build", "--no-create-gitignore", *_isolation(folder)),
            *("--python", python, "--out-dir", wheels, copied),
            timeout=_BUILD_SECONDS,
            offline=without_network,
            more={"GIT_OPTIONAL_LOCKS": "0"},  # git in the copy reads the user's repository and must not write to it
        )
        # A second try with the network is for build requirements that the cache lacks, not for a compiler's error.
        if finished.code == 0 or not any(text in finished.output for text in _LACKS_BUILD_REQUIREMENTS):
            break
    built = sorted(wheels.glob("*.whl"))
    if finished.code != 0 or len(built) != 1:
        raise EnvironmentFailedError(
            f"The project in {folder} did not build: uv build {finished.end}\n{finished.last_lines(40)}",
            remedy=f"See that `uv build --wheel {folder}` works on this machine with that Python.",
        )
    return built[0]


def _isolation(folder: Path) -> tuple[str, ...]:
    """`--no-build-isolation` where the project's own `[tool.uv]` asks for it, as those that compile against torch do.

    What the build needs must then be among the environment's packages, setuptools included.
    """
    try:
        settings = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        project, uv = settings.get("project", {}), settings.get("tool", {}).get("uv", {})
        names = {canonicalize_name(name) for name in uv.get("no-build-isolation-package", [])}
        wanted = uv.get("no-build-isolation") is True or canonicalize_name(project.get("name", "")) in names
    except (OSError, ValueError, AttributeError, TypeError):
        return ()  # the build itself says what is wrong with the file
    return ("--no-build-isolation",) if wanted else ()


def _copy(folder: Path, target: Path) -> Path:
    """Copy a project; versions made from git's tags still work in the copy."""
    top, repository = _git(folder, "rev-parse", "--show-toplevel"), _git(folder, "rev-parse", "--absolute-git-dir")
    within = Path()
    if top and repository and folder.resolve().is_relative_to(top.strip()):
        within = folder.resolve().relative_to(top.strip())
    copied = target / (within if within.parts else folder.resolve().name)
    for name in source_files(folder):
        (copied / name).parent.mkdir(parents=True, exist_ok=True)
        if (folder / name).is_dir():  # a submodule
            shutil.copytree(folder / name, copied / name, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(folder / name, copied / name)
    if top and repository:
        (target if within.parts else copied).joinpath(".git").write_text(f"gitdir: {repository.strip()}\n")
    return copied


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, or None where there is no git or no repository."""
    try:
        finished = subprocess.run(
            ["git", "-C", folder, *arguments],
            check=False,
            capture_output=True,
            timeout=_GIT_SECONDS,
            env=clean_environ() | {"GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished.stdout.decode(errors="surrogateescape") if finished.returncode == 0 else None
