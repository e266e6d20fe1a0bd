"""What the user's own folders need: read from pyproject.toml where it says so, else left to their build backend."""

from __future__ import annotations

import configparser
import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from runner.errors import ResolutionError

_MAY_HOLD_DEPENDENCIES = (".toml", ".cfg", ".py", ".txt", ".in")


@dataclass(frozen=True)
class LocalNeeds:
    """What a set of local folders needs from the index.

    Attributes:
        names: normalized names of the folders' projects; none of these is looked up on the index.
        requirements: PEP 508 requirements, those on each other resolved away.
        built: names of the folders whose dependencies only their build backend knows.
        to_build: for each of those `name[extras] @ file://...`.
        requires_python: for each name that has one its Requires-Python.
        digest: changes when the answer could.
    """

    names: frozenset[str] = frozenset()
    requirements: tuple[Requirement, ...] = ()
    built: tuple[str, ...] = ()
    to_build: tuple[str, ...] = ()
    requires_python: tuple[tuple[str, str], ...] = ()
    digest: str = ""


@dataclass(frozen=True)
class _Project:
    folder: Path
    name: str
    table: Mapping[str, Any]

    @property
    def is_static(self) -> bool:
        dynamic = self.table.get("dynamic", ())
        return bool(self.table) and not {"dependencies", "optional-dependencies"} & set(dynamic)

    def lines(self, extra: str) -> Sequence[str]:
        if not extra:
            found: Sequence[str] = self.table.get("dependencies", ())
            return found
        table = self.table.get("optional-dependencies", {})
        offered: dict[str, Sequence[str]] = {canonicalize_name(key): lines for key, lines in table.items()}
        if extra not in offered:
            known = ", ".join(sorted(offered)) or "none"
            raise ResolutionError(
                f"{self.folder} has no extra named {extra}; its extras: {known}.",
                remedy="Correct the extra in the matrix file, or add it to the project's optional-dependencies.",
            )
        return offered[extra]


def read_local(folders: Sequence[Path], extras: Sequence[str]) -> LocalNeeds:
    """What folders need from the index.

    Args:
        folders: each with a pyproject.toml (or a setup.cfg that names the project).
        extras: for each folder its extras in brackets (`[test,gpu]`) or ``; may be shorter than `folders`.

    Raises:
        ResolutionError: a folder is no project, an extra does not exist, or a dependency is not from an index.
    """
    projects: dict[str, _Project] = {}
    wanted: list[tuple[str, str]] = []
    for folder, asked in zip_longest(folders, extras[: len(folders)], fillvalue=""):
        project = _read(Path(folder))
        if project.name in projects:
            raise ResolutionError(
                f"{projects[project.name].folder} and {project.folder} are both named {project.name}."
            )
        projects[project.name] = project
        wanted += [(project.name, extra) for extra in ("", *_names(re.findall(r"[\w.-]+", asked)))]
    requirements: list[Requirement] = []
    seen: set[tuple[str, str]] = set()
    while wanted:
        name, extra = entry = wanted.pop(0)
        project = projects[name]
        if entry not in seen and project.is_static:
            for line in project.lines(extra):
                requirement = parse_requirement(line, str(project.folder / "pyproject.toml"))
                needed = canonicalize_name(requirement.name)
                if needed in projects:
                    wanted += [(needed, further) for further in ("", *_names(sorted(requirement.extras)))]
                else:
                    requirements.append(requirement)
        seen.add(entry)
    built = [project for project in projects.values() if not project.is_static]
    return LocalNeeds(
        names=frozenset(projects),
        requirements=tuple(requirements),
        built=tuple(project.name for project in built),
        to_build=tuple(_to_build(project, seen) for project in built),
        requires_python=tuple(
            (name, str(project.table["requires-python"]))
            for name, project in projects.items()
            if "requires-python" in project.table
        ),
        digest=_digest(built),
    )


def parse_requirement(line: str, source: str) -> Requirement:
    """Read one PEP 508 requirement on something that an index has.

    Args:
        line: the requirement.
        source: where it stands, for the message.

    Raises:
        ResolutionError: it is not a requirement, or names an address instead of a release.
    """
    try:
        requirement = Requirement(line)
    except InvalidRequirement as error:
        why = str(error).partition("\n")[0]
        raise ResolutionError(
            f"{source}: {line[:200]!r} is no requirement: {why}.",
            remedy="Write it as a name with version specifiers, such as numpy>=2.1,<3.",
        ) from error
    if requirement.url is not None:
        raise ResolutionError(
            f"{source}: {requirement.name} is to come from an address, and a plan pins wheels of the index alone.",
            remedy="Require a release of it, or check it out and name its folder under project.install.",
        )
    return requirement


def _names(extras: Sequence[str]) -> list[str]:
    return [canonicalize_name(extra) for extra in extras]


def _read(folder: Path) -> _Project:
    folder = folder.resolve()
    path = folder / "pyproject.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise ResolutionError(f"{path} could not be read: {error}", remedy="Correct that file.") from error
    table: Mapping[str, Any] = data.get("project", {})
    name = table.get("name") or data.get("tool", {}).get("poetry", {}).get("name") or _name_in_setup_cfg(folder)
    if not name:
        raise ResolutionError(
            f"{folder} is no project that can be installed: no pyproject.toml or setup.cfg there names one.",
            remedy="Name the project in its pyproject.toml ([project] name = ...), or correct the folder.",
        )
    return _Project(folder, canonicalize_name(str(name)), table)


def _name_in_setup_cfg(folder: Path) -> str | None:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(folder / "setup.cfg", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return None
    return parser.get("metadata", "name", fallback=None)


def _to_build(project: _Project, seen: set[tuple[str, str]]) -> str:
    extras = sorted(extra for name, extra in seen if name == project.name and extra)
    return f"{project.name}{'[' + ','.join(extras) + ']' if extras else ''} @ {project.folder.as_uri()}"


def _digest(projects: Sequence[_Project]) -> str:
    """Of the files from which a build backend usually takes dependencies."""
    digest = hashlib.sha256()
    for project in projects:
        for path in sorted(project.folder.iterdir()):
            if path.suffix in _MAY_HOLD_DEPENDENCIES and path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest() if projects else ""
