"""A project's page on the index, reduced to what planning reads, and its place on disk."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version
from pydantic import TypeAdapter
from pypi_simple import ProjectPage

from runner.model.document import write_whole

_FOLDER = "pages-1"
"""Counts up when the form of a cached page changes."""


@dataclass(frozen=True)
class IndexFile:
    """One file of a project.

    Attributes:
        filename: as published; wheel or source distribution.
        url: where it is, without the fragment.
        sha256: as the index states it, or None.
        size: bytes, or None where the index does not say.
        requires_python: its Requires-Python, or None.
        yanked: None when it is not yanked, else the reason given (possibly empty).
        has_metadata: the index serves its METADATA as a file of its own.
    """

    filename: str
    url: str
    sha256: str | None
    size: int | None
    requires_python: str | None
    yanked: str | None
    has_metadata: bool

    @cached_property
    def version(self) -> Version | None:
        """Of the release it belongs to; None for a name that is neither a wheel's nor a source distribution's."""
        try:
            if self.is_wheel:
                return parse_wheel_filename(self.filename)[1]
            return parse_sdist_filename(self.filename)[1]
        except (InvalidWheelFilename, InvalidSdistFilename):
            return None

    @property
    def is_wheel(self) -> bool:
        """Whether it can be installed without building."""
        return self.filename.endswith(".whl")


@dataclass(frozen=True)
class IndexPage:
    """Every file of one project, in the index's order.

    Attributes:
        project: normalized name.
        files: as the index lists them.
    """

    project: str
    files: tuple[IndexFile, ...]

    @classmethod
    def of(cls, project: str, page: ProjectPage) -> IndexPage:
        """From a page that pypi-simple has read."""
        return cls(
            project,
            tuple(
                IndexFile(
                    filename=package.filename,
                    url=package.url,
                    sha256=package.digests.get("sha256"),
                    size=package.size,
                    requires_python=package.requires_python or None,
                    yanked=(package.yanked_reason or "") if package.is_yanked else None,
                    has_metadata=bool(package.has_metadata),
                )
                for package in page.packages
            ),
        )

    def __hash__(self) -> int:
        return hash(self.content_hash)  # kept once computed: a page has thousands of files

    @cached_property
    def releases(self) -> dict[Version, tuple[IndexFile, ...]]:
        """The files of each release, oldest release first. Files whose names make no sense are left out."""
        found: dict[Version, list[IndexFile]] = {}
        for file in self.files:
            if file.version is not None:
                found.setdefault(file.version, []).append(file)
        return {version: tuple(found[version]) for version in sorted(found)}

    @cached_property
    def content_hash(self) -> str:
        """Of all that matters here: the same as long as no file appears, goes, is yanked or changes."""
        facts = sorted(([f.filename, f.sha256, f.requires_python, f.yanked] for f in self.files), key=str)
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@dataclass(frozen=True)
class CachedPage:
    """A page with what is needed to ask whether it has changed.

    Attributes:
        page: the page.
        fetched_at: seconds since the epoch when the index last vouched for it.
        body_sha256: of that answer's bytes; the same bytes need no second reading.
        etag: of that answer, or None.
        last_modified: of that answer, or None.
    """

    page: IndexPage
    fetched_at: float
    body_sha256: str = ""
    etag: str | None = None
    last_modified: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """Request headers that let the index answer 304."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value is not None}


_CACHED_PAGE = TypeAdapter(CachedPage)


class PageCache:
    """Pages of one index on disk, one file each. What cannot be read is as good as absent.

    Args:
        folder: where pages of all indexes are.
        index: address of the index; pages of different indexes never mix.
    """

    def __init__(self, folder: Path, index: str) -> None:
        self._folder = folder / _FOLDER / hashlib.sha256(index.encode()).hexdigest()[:16]

    def read(self, project: str) -> CachedPage | None:
        """The page as last fetched, or None."""
        try:
            found = _CACHED_PAGE.validate_json(self._path(project).read_bytes())
        except (OSError, ValueError):
            return None
        return found if found.page.project == project else None

    def write(self, project: str, cached: CachedPage) -> None:
        """Keep a page; a reader finds the old one or the whole new one."""
        write_whole(self._path(project), _CACHED_PAGE.dump_json(cached).decode())

    def _path(self, project: str) -> Path:
        return self._folder / f"{project}.json"
