"""Which Triton a torch release asks for: read from its wheel's METADATA once and kept, as wheels never change."""

from __future__ import annotations

import zipfile
from pathlib import Path

import requests
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pydantic import ValidationError
from remotezip import RemoteIOError, RemoteZip

from runner.errors import DocumentError, IndexUnreachableError
from runner.model.cell import PythonBuild
from runner.model.document import Document
from runner.plan.index import PackageIndex
from runner.plan.index_page import IndexFile
from runner.plan.wheels import Platform, Target, wheel_tags

_DIRECTORY_BYTES = 1 << 18
"""Asked for at once from the end of a wheel: holds most central directories, so that two requests do."""


class _TorchPin(Document):
    """What one torch wheel says about Triton.

    Attributes:
        wheel: its file name.
        sha256: of the wheel, as the index states it.
        triton: the specifiers of its requirement, such as `==3.7.0` or `~=3.9.0`, or None when it asks for none.
    """

    SCHEMA = "triton-compat/torch-pin/1"

    wheel: str
    sha256: str | None
    triton: str | None


class TorchPins:
    """The pins of torch releases.

    Args:
        index: which has the wheels; its cache folder keeps the answers.
    """

    def __init__(self, index: PackageIndex) -> None:
        self._index = index
        self._folder = index.cache_folder / "torch-pins-1"

    def triton_of(self, torch: Version, wheel: IndexFile) -> SpecifierSet | None:
        """The Triton releases that a torch wheel accepts, or None when it asks for none.

        Args:
            torch: the release.
            wheel: one of its wheels, for the platform in question.

        Raises:
            IndexUnreachableError: the wheel's metadata cannot be had.
        """
        path = self._folder / f"{wheel.filename}.json"
        kept = _kept(path)
        if kept is not None and (kept.wheel, kept.sha256) == (wheel.filename, wheel.sha256):
            return None if kept.triton is None else SpecifierSet(kept.triton)
        if self._index.offline:
            raise IndexUnreachableError(
                f"Offline, and the cache does not say which Triton torch {torch} asks for.",
                remedy="Run once without --offline where the package index is reachable, or name torch releases.",
            )
        triton = required_triton(self._metadata(wheel), wheel.filename)
        text = None if triton is None else str(triton)
        _TorchPin(wheel=wheel.filename, sha256=wheel.sha256, triton=text).write(path)
        return triton

    def _metadata(self, wheel: IndexFile) -> bytes:
        served = self._index.metadata(wheel)
        if served is not None:
            return served
        # The index has no METADATA files of its own; a wheel is a zip archive, so three ranges of it are enough.
        name = "{}-{}.dist-info/METADATA".format(*wheel.filename.split("-")[:2])
        try:
            with RemoteZip(wheel.url, session=self._index.session, initial_buffer_size=_DIRECTORY_BYTES) as archive:
                found: bytes = archive.read(name)
                return found
        except (requests.RequestException, RemoteIOError, zipfile.BadZipFile, KeyError, OSError) as error:
            raise IndexUnreachableError(
                f"The metadata of {wheel.filename} could not be read from the package index ({type(error).__name__})."
            ) from error


def required_triton(metadata: bytes, wheel: str) -> SpecifierSet | None:
    """What `Requires-Dist: triton==3.7.0; ...` accepts, where its marker holds for the wheel's Python on Linux.

    Args:
        metadata: a METADATA file.
        wheel: name of the wheel it is from; its tags decide which markers hold.
    """
    requirements: list[Requirement] = Metadata.from_email(metadata, validate=False).requires_dist or []
    environment = _target(wheel).markers
    for requirement in requirements:
        applies = requirement.marker is None or requirement.marker.evaluate(environment)
        if requirement.name.lower() == "triton" and applies:
            return requirement.specifier
    return None


def is_made_for(triton: Version, accepted: SpecifierSet) -> bool:
    """Whether specifiers hold torch to that Triton's release line: they accept it, and not the next minor release.

    torch up to 2.13 pins one release (`==3.7.0`), later ones a line (`~=3.9.0`). An open range names no partner.
    """
    following = Version(f"{triton.major}.{triton.minor + 1}.0")
    return accepted.contains(triton, prereleases=True) and not accepted.contains(following)


def _target(wheel: str) -> Target:
    tag = min(wheel_tags(wheel), key=str)
    machine = next((known for known in ("x86_64", "aarch64") if tag.platform.endswith(known)), "x86_64")
    version = f"{tag.interpreter[2:3]}.{tag.interpreter[3:] or '0'}"
    return Target(PythonBuild(version=version), Platform(machine))


def _kept(path: Path) -> _TorchPin | None:
    try:
        return _TorchPin.read(path)
    except (DocumentError, ValidationError):
        return None
