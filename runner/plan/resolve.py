"""From a request to pins: every package of an environment with a wheel for exactly that interpreter, or why not."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from packaging.requirements import Requirement
from packaging.version import Version

from runner.errors import ResolutionError
from runner.model.plan import Pin
from runner.plan.index import PackageIndex
from runner.plan.index_page import IndexPage
from runner.plan.ports import EnvironmentRequest, Resolution
from runner.plan.resolve_cache import ResolutionCache
from runner.plan.resolve_direct import Search, search_direct, torch_refuses
from runner.plan.resolve_local import LocalNeeds, parse_requirement, read_local
from runner.plan.resolve_reasons import bounded
from runner.plan.resolve_uv import Uv
from runner.plan.wheels import Platform, Target

_SIDE_BY_SIDE = 4
_MOST_CHARACTERS = 600


class IndexResolver:
    """The `Resolver` of a package index, with uv for what goes together and our own tags for what fits.

    Args:
        index: where wheels come from.
        platform: that the cells run on.
        uv: the resolver proper.
    """

    def __init__(self, index: PackageIndex, platform: Platform, uv: Uv) -> None:
        self._index = index
        self._platform = platform
        self._uv = uv
        self._cache = ResolutionCache(index)

    def resolve(self, requests: Sequence[EnvironmentRequest]) -> tuple[Resolution, ...]:
        """Resolve all requests, in their order.

        Raises:
            IndexUnreachableError: the index does not answer and the caches do not hold what is needed.
            ResolutionError: a requirement names nothing that exists, or a local folder is no project.
        """
        distinct = list(dict.fromkeys(requests))
        pool = ThreadPoolExecutor(_SIDE_BY_SIDE)
        try:
            found = dict(zip(distinct, pool.map(self._resolve, distinct), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)
        return tuple(found[request] for request in requests)

    def _resolve(self, request: EnvironmentRequest) -> Resolution:
        target = Target(request.python, self._platform)
        local = read_local(request.local, request.extras)
        for name, requires_python in local.requires_python:
            if not target.accepts(requires_python):
                return Resolution(
                    unavailable=f"{name} requires Python {requires_python}, which excludes {request.python}"
                )
        direct = [*_direct(request), *local.requirements]
        key = [self._uv.version, self._index.shown_url, str(self._platform), str(request.python)]
        key += [*sorted(map(str, direct)), *local.to_build, local.digest, *sorted(local.names)]
        kept = self._cache.read(key)
        if kept is not None:
            return kept
        search = search_direct(self._index, direct, target)
        if search.unavailable is None and request.torch is not None:
            search.unavailable = torch_refuses(self._index, request.triton, request.torch, target)
        if search.unavailable is not None:
            resolution, complete = Resolution(unavailable=search.unavailable), True
        else:
            resolution = self._search(search, direct, local, target)
            complete = resolution.unavailable is None
        self._cache.write(key, resolution, search.projects, complete=complete)
        return resolution

    def _search(self, search: Search, direct: Sequence[Requirement], local: LocalNeeds, target: Target) -> Resolution:
        """Ask uv until every version it chooses has a fitting wheel; each round narrows at least one project."""
        lines = [*map(str, direct), *local.to_build]
        while True:
            answer = self._uv.compile(lines, [*search.constraints.values()], target, built=local.built)
            if answer.refusal is not None:
                search.projects |= set(search.unfit)
                return Resolution(unavailable=_refusal(answer.refusal, search.unfit))
            pins = [self._pin(search, name, Version(version), target) for name, version in answer.versions.items()]
            if None not in pins:
                return Resolution(tuple(sorted(filter(None, pins), key=lambda pin: pin.name)))

    def _pin(self, search: Search, name: str, version: Version, target: Target) -> Pin | None:
        """The pin of a version that uv chose, or None, after excluding it, when it has no fitting wheel."""
        page = self._page_with(name, version)
        search.projects.add(name)
        wheel = target.best(page.releases.get(version, ()))
        if wheel is not None:
            return Pin(name=name, version=str(version), filename=wheel.filename, sha256=wheel.sha256, size=wheel.size)
        if name in search.constraints or version not in page.releases:
            raise ResolutionError(
                f"uv chose {name} {version}, and the package index shows no such wheel: its pages disagree.",
                remedy="Run again in a few minutes, or empty uv's cache with uv cache clean.",
            )
        search.exclude(page, version, target)
        return None

    def _page_with(self, name: str, version: Version) -> IndexPage:
        """The page of a project that uv has chosen a release of; uv may have seen a newer page than ours."""
        page = self._index.page(name)
        if version not in page.releases and not self._index.offline:
            page = self._index.page(name, refresh=True)
        return page


def make_resolver(
    index: PackageIndex, platform: Platform | None = None, environ: Mapping[str, str] | None = None
) -> IndexResolver:
    """A resolver on an index.

    Args:
        index: where wheels come from.
        platform: that the cells run on; by default this machine's.
        environ: for uv; by default this process's.
    """
    return IndexResolver(index, platform or Platform.here(), Uv(index, os.environ if environ is None else environ))


def _direct(request: EnvironmentRequest) -> list[Requirement]:
    exact = {"triton": request.triton} | ({} if request.torch is None else {"torch": request.torch})
    pinned = [parse_requirement(f"{name}=={version}", "matrix") for name, version in exact.items()]
    return [*pinned, *(parse_requirement(line, "matrix") for line in request.requirements)]


def _refusal(refusal: str, unfit: Mapping[str, str]) -> str:
    """The reason that uv gives, after the lack of wheels that brought it about."""
    reasons = [reason for name, reason in unfit.items() if re.search(rf"\b{re.escape(name)}\b", refusal)]
    return bounded("; ".join([*reasons, f"the requirements do not go together: {refusal}"]), _MOST_CHARACTERS)
