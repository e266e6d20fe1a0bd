"""Which Triton and torch releases exist for a platform, and which torch belongs to which Triton."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from packaging.version import Version

from runner.plan.catalogue_pins import TorchPins, is_made_for
from runner.plan.index import PackageIndex
from runner.plan.index_page import IndexFile, IndexPage
from runner.plan.wheels import Platform

_SIDE_BY_SIDE = 4


class IndexCatalogue:
    """The `Catalogue` of a package index.

    Args:
        index: where to look.
        platform: whose wheels count.
    """

    def __init__(self, index: PackageIndex, platform: Platform) -> None:
        self._index = index
        self._platform = platform
        self._pins = TorchPins(index)
        self._matching: dict[str, str | None] = {}

    def triton_releases(self) -> tuple[str, ...]:
        """Final releases with a wheel for the platform that is not yanked, oldest first.

        Raises:
            IndexUnreachableError: the index does not answer and nothing is cached.
        """
        return tuple(map(str, _releases(self._index.page("triton"), self._platform)))

    def torch_releases(self) -> tuple[str, ...]:
        """As `triton_releases`, for torch."""
        return tuple(map(str, _releases(self._index.page("torch"), self._platform)))

    def torch_matching(self, triton: str) -> str | None:
        """The newest torch release whose metadata holds it to that Triton (see `is_made_for`), or None.

        Args:
            triton: exact release.

        Raises:
            IndexUnreachableError: the index does not answer and nothing is cached.
        """
        if triton not in self._matching:
            self._matching[triton] = self._newest_made_for(Version(triton))
        return self._matching[triton]

    def _newest_made_for(self, triton: Version) -> str | None:
        newest_first = reversed(_releases(self._index.page("torch"), self._platform).items())
        # A few at a time: one that matches is near the newest, and each unknown one costs a download of some 100 kB.
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            for batch in _batches(newest_first):
                answers = pool.map(lambda item: self._pins.triton_of(item[0], item[1]), batch)
                for (torch, _), accepted in zip(batch, answers, strict=True):
                    if accepted is not None and is_made_for(triton, accepted):
                        return str(torch)
        return None


def make_catalogue(index: PackageIndex, platform: Platform | None = None) -> IndexCatalogue:
    """A catalogue of an index, for this machine's platform unless another is named."""
    return IndexCatalogue(index, platform or Platform.here())


def _releases(page: IndexPage, platform: Platform) -> dict[Version, IndexFile]:
    """Each final release with one of its wheels for the platform, oldest first."""
    found: dict[Version, IndexFile] = {}
    for version, files in page.releases.items():
        if version.is_prerelease or version.local is not None:
            continue
        usable = [file for file in files if file.is_wheel and file.yanked is None and platform.fits(file.filename)]
        if usable:
            found[version] = min(usable, key=lambda file: file.filename)
    return found


def _batches(items: Iterator[tuple[Version, IndexFile]]) -> Iterator[Sequence[tuple[Version, IndexFile]]]:
    while batch := tuple(islice(items, _SIDE_BY_SIDE)):
        yield batch
