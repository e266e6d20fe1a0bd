"""Where Pythons stand on a machine, before anything is downloaded or built."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from runner.environment.uv import run_uv
from runner.model.cell import PythonBuild


@dataclass(frozen=True)
class Places:
    """Where to look, in this order.

    Attributes:
        path: folders of the PATH.
        versions: (what it is called, folder that holds one folder for each Python).
        made: this tool's own folder of Pythons, in the user's cache.
        prefixes: further prefixes, looked at last.
    """

    path: tuple[Path, ...]
    versions: tuple[tuple[str, Path], ...]
    made: Path
    prefixes: tuple[Path, ...]

    @classmethod
    def of_this_machine(cls) -> Places:
        """The places of this user on this machine, from the environment variables that the makers of Pythons read."""
        home, get = Path.home(), os.environ.get
        path = tuple(Path(entry) for entry in get("PATH", "").split(os.pathsep) if entry and not _is_shims(Path(entry)))
        data = Path(get("XDG_DATA_HOME") or home / ".local/share")
        versions = (
            ("pyenv", Path(get("PYENV_ROOT") or home / ".pyenv") / "versions"),
            ("uv", _uv_folder() or data / "uv/python"),
            ("mise", Path(get("MISE_DATA_DIR") or data / "mise") / "installs/python"),
            ("asdf", Path(get("ASDF_DATA_DIR") or home / ".asdf") / "installs/python"),
            *((("tool cache", Path(get("RUNNER_TOOL_CACHE", "")) / "Python"),) if get("RUNNER_TOOL_CACHE") else ()),
        )
        prefixes = (Path("/usr/local"), *sorted(Path("/opt").glob("*")))
        return cls(path, versions, user_folder(), prefixes)


def user_folder() -> Path:
    """This tool's own folder of Pythons: one for each user, shared by all projects."""
    return platformdirs.user_cache_path("triton-compat") / "interpreters"


def candidates(build: PythonBuild, places: Places) -> Iterator[tuple[Path, str]]:
    """Every file that may be that Python, with where it stands; each real file once.

    Names are hints alone: what a file is shows when it is run.
    """
    seen: set[Path] = set()
    for file, origin in _files(build, places):
        with contextlib.suppress(OSError):
            if file.is_file() and os.access(file, os.X_OK) and (real := file.resolve()) not in seen:
                seen.add(real)
                yield file, origin


def _files(build: PythonBuild, places: Places) -> Iterator[tuple[Path, str]]:
    names = [f"python{build.version}", "python3", "python"]
    if build.free_threaded:
        names.insert(0, f"python{build.version}t")
    for folder in places.path:
        for name in names:
            yield folder / name, "PATH"
    for origin, folder in (*places.versions, ("made by triton-compat", places.made)):
        for prefix in _prefixes(folder, build):
            for name in names[:-2] + names[-1:]:
                yield prefix / "bin" / name, origin
    for prefix in places.prefixes:
        for name in names[:-2]:
            yield prefix / "bin" / name, str(prefix)


def _prefixes(folder: Path, build: PythonBuild) -> list[Path]:
    """Folders below a versions folder that may hold the release line, newest release first."""
    named = re.compile(rf"(?:[a-z]+-)?{re.escape(build.version)}(?![0-9])")
    with contextlib.suppress(OSError):
        found = [entry for entry in folder.iterdir() if named.match(entry.name)]
        found.sort(key=lambda entry: [int(part) for part in re.findall(r"\d+", entry.name)[:3]], reverse=True)
        # The tool cache of GitHub's runners has one more level, for the architecture.
        return [prefix for entry in found for prefix in (entry, *sorted(entry.glob("[axp]*64*")))]
    return []


def _uv_folder() -> Path | None:
    with contextlib.suppress(OSError):
        finished = run_uv("python", "dir", timeout=20)
        if finished.code == 0 and (line := finished.last_lines(1)):
            return Path(line)
    return None


def _is_shims(folder: Path) -> bool:
    """A version manager's folder of stand-ins. They are slow, fail unless their Python is active, and hide which it is.

    The Pythons themselves are found in the manager's folder of versions.
    """
    return folder.name == "shims" and any((folder.parent / name).is_dir() for name in ("versions", "installs"))
