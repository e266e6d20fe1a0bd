"""What the index's pages alone say about the requirements that are known by name: cheap, and exact in its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from runner.errors import IndexUnreachableError, ResolutionError
from runner.plan.catalogue_pins import TorchPins
from runner.plan.index import NoSuchProjectError, PackageIndex
from runner.plan.index_page import IndexPage
from runner.plan.resolve_reasons import why_no_wheel
from runner.plan.wheels import Target


@dataclass
class Search:
    """What is known so far about one environment.

    Attributes:
        projects: normalized names of all projects whose pages were looked at.
        unavailable: why there can be no such environment, or None.
        constraints: for projects of which some release does not fit, a specifier that leaves those that do.
        unfit: for the same projects, why the release that would be taken does not fit.
    """

    projects: set[str] = field(default_factory=set)
    unavailable: str | None = None
    constraints: dict[str, str] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)

    def exclude(self, page: IndexPage, version: Version, target: Target) -> None:
        """Note that a release has no fitting wheel, and leave only those of its project that have one."""
        self.constraints[page.project] = only_fitting(page, target)
        self.unfit[page.project] = why_no_wheel(page, version, target)


def search_direct(index: PackageIndex, requirements: Sequence[Requirement], target: Target) -> Search:
    """Look at the pages of requirements, without what these require in turn.

    Raises:
        NoSuchProjectError: the index has no project of a requirement's name.
        ResolutionError: no release satisfies a requirement.
        IndexUnreachableError: the index does not answer and a page is not cached.
    """
    search = Search()
    wanted: dict[str, tuple[IndexPage, SpecifierSet]] = {}
    for requirement in requirements:
        if requirement.marker is None or requirement.marker.evaluate(target.markers):
            page = index.page(requirement.name)
            _require_existence(page, requirement)
            search.projects.add(page.project)
            before = wanted.get(page.project, (page, SpecifierSet()))[1]
            wanted[page.project] = page, before & requirement.specifier
    for page, specifiers in wanted.values():
        admitted = sorted(specifiers.filter(page.releases))
        if admitted and target.best(page.releases[admitted[-1]]) is None:
            if not set(admitted) & set(target.fitting_releases(page)):
                search.unavailable = why_no_wheel(page, admitted[-1], target)
                return search
            search.exclude(page, admitted[-1], target)
    return search


def torch_refuses(index: PackageIndex, triton: str, torch: str, target: Target) -> str | None:
    """Why torch's own metadata excludes a Triton release, or None when it does not or cannot be had."""
    version = Version(torch)
    wheel = target.best(index.page("torch").releases.get(version, ()))
    try:
        accepted = None if wheel is None else TorchPins(index).triton_of(version, wheel)
    except IndexUnreachableError:
        return None  # uv may have the metadata in its cache
    if accepted is None or accepted.contains(triton, prereleases=True):
        return None
    return f"torch {torch} requires triton{accepted}, which excludes triton {triton}"


def only_fitting(page: IndexPage, target: Target) -> str:
    """A constraint that leaves exactly the releases with a fitting wheel, short where they are one range."""
    releases = [version for version in page.releases if not version.is_prerelease] or list(page.releases)
    fitting = set(target.fitting_releases(page)) & set(releases)  # a bound that is a pre-release would let others in
    if not fitting:
        return f"{page.project}<0"
    oldest, newest = min(fitting), max(fitting)
    holes = [version for version in releases if oldest < version < newest and version not in fitting]
    return ",".join([f"{page.project}>={oldest}", f"<={newest}", *(f"!={version}" for version in holes)])


def _require_existence(page: IndexPage, requirement: Requirement) -> None:
    if not page.releases:
        raise NoSuchProjectError(f"The project {page.project} has no releases on the package index.")
    if not any(True for _ in requirement.specifier.filter(page.releases)):
        raise ResolutionError(
            f"No release of {page.project} satisfies {requirement.specifier}; {_nearest(page, requirement)}.",
            remedy="Correct the version in the matrix file or in the project's dependencies.",
        )


def _nearest(page: IndexPage, requirement: Requirement) -> str:
    final = [version for version in page.releases if not version.is_prerelease] or list(page.releases)
    try:
        asked = Version(next(iter(requirement.specifier)).version.removesuffix(".*"))
    except (InvalidVersion, StopIteration):
        return f"the newest is {final[-1]}"
    older = [version for version in final if version < asked]
    newer = [version for version in final if version > asked]
    near = ([f"{older[-1]} before it"] if older else []) + ([f"{newer[0]} after it"] if newer else [])
    return f"the nearest: {' and '.join(near)}" if near else f"the newest is {final[-1]}"
