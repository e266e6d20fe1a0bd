"""Which published files exactly one Python build on one platform can install, computed without that Python."""

from __future__ import annotations

import platform as host
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from packaging import tags
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from runner.model.cell import PythonBuild
from runner.plan.index_page import IndexFile, IndexPage

_OLD_NAMES = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}
_OLDEST_GLIBC_MINOR = 5
_DEFAULT_GLIBC = (2, 28)


@dataclass(frozen=True)
class Platform:
    """A Linux with glibc: what binary wheels for CUDA are made for.

    Attributes:
        machine: `x86_64` or `aarch64`.
        glibc: version of its C library, such as (2, 28).
    """

    machine: str = "x86_64"
    glibc: tuple[int, int] = _DEFAULT_GLIBC

    @classmethod
    def here(cls) -> Self:
        """This machine; where it is no Linux with glibc, x86_64 with glibc 2.28, on which the cells then must run."""
        library, version = host.libc_ver()
        numbers = version.split(".")
        if library != "glibc" or len(numbers) < 2 or not all(part.isdigit() for part in numbers[:2]):  # noqa: PLR2004
            return cls()
        return cls(machine=host.machine(), glibc=(int(numbers[0]), int(numbers[1])))

    def __str__(self) -> str:
        return "Linux {} with glibc {}.{}".format(self.machine, *self.glibc)

    @property
    def tags(self) -> tuple[str, ...]:
        """The platform tags of its wheels, the most specific first (PEP 600, and the older names)."""
        major, newest = self.glibc
        found: list[str] = []
        for minor in range(newest, _OLDEST_GLIBC_MINOR - 1, -1):
            found.append(f"manylinux_{major}_{minor}_{self.machine}")
            if (major, minor) in _OLD_NAMES:
                found.append(f"{_OLD_NAMES[major, minor]}_{self.machine}")
        return (*found, f"linux_{self.machine}")

    def fits(self, filename: str) -> bool:
        """Whether some Python on this platform could install the wheel of that name."""
        return any(tag.platform == "any" or tag.platform in self.tags for tag in wheel_tags(filename))


@dataclass(frozen=True)
class Target:
    """One Python build on one platform."""

    python: PythonBuild
    platform: Platform

    @property
    def python_full_version(self) -> str:
        """What Requires-Python and markers are held against; like uv, the first patch release where none is named."""
        return self.python.patch or f"{self.python.version}.0"

    @property
    def markers(self) -> dict[str, str]:
        """The environment against which PEP 508 markers are evaluated."""
        return {
            "platform_system": "Linux",
            "sys_platform": "linux",
            "os_name": "posix",
            "platform_machine": self.platform.machine,
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
            "implementation_version": self.python_full_version,
            "python_version": self.python.version,
            "python_full_version": self.python_full_version,
            "platform_release": "",
            "platform_version": "",
            "extra": "",
        }

    def accepts(self, requires_python: str | None) -> bool:
        """Whether a Requires-Python lets this Python in. One that is no specifier is ignored, as installers do."""
        try:
            return SpecifierSet(requires_python or "").contains(self.python_full_version, prereleases=True)
        except InvalidSpecifier:
            return True

    def rank(self, filename: str) -> int | None:
        """How well a wheel's tags fit: 0 is best; None when this build cannot install it."""
        ranks = _ranks(self)
        return min((ranks[tag] for tag in wheel_tags(filename) if tag in ranks), default=None)

    def best(self, files: tuple[IndexFile, ...]) -> IndexFile | None:
        """The wheel that an installer would take among the files of one release, or None. Yanked files do not count."""
        fitting = [
            (rank, *_build_order(file.filename), file.filename, file)
            for file in files
            if file.is_wheel
            and file.yanked is None
            and self.accepts(file.requires_python)
            and (rank := self.rank(file.filename)) is not None
        ]
        return min(fitting, key=lambda entry: entry[:-1])[-1] if fitting else None

    def fitting_releases(self, page: IndexPage) -> tuple[Version, ...]:
        """The releases with a wheel that fits, oldest first; a release that is yanked does not count."""
        return _fitting_releases(self, page)


@lru_cache(maxsize=65536)
def wheel_tags(filename: str) -> frozenset[tags.Tag]:
    """The tags in a wheel's name; empty for a name that is not a wheel's."""
    try:
        return parse_wheel_filename(filename)[3]
    except InvalidWheelFilename:
        return frozenset()


@lru_cache(maxsize=256)
def _ranks(target: Target) -> dict[tags.Tag, int]:
    python, platforms = target.python, target.platform.tags
    interpreter = "cp{}{}".format(*python.minor)
    # Without abis= packaging would take the free-threading of the interpreter that runs this.
    own = tags.cpython_tags(python.minor, abis=[python.abi_tag], platforms=platforms)
    common = tags.compatible_tags(python.minor, interpreter=interpreter, platforms=platforms)
    ranks: dict[tags.Tag, int] = {}
    for tag in (*own, *common):
        ranks.setdefault(tag, len(ranks))
    return ranks


@lru_cache(maxsize=1024)
def _fitting_releases(target: Target, page: IndexPage) -> tuple[Version, ...]:
    return tuple(version for version, files in page.releases.items() if target.best(files) is not None)


def _build_order(filename: str) -> tuple[int, str]:
    """Sorts a higher build number first."""
    build = parse_wheel_filename(filename)[2]
    return (-build[0], build[1]) if build else (0, "")
