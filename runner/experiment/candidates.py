"""Which contrasts can be made for a group of failures, the most informative first and the dearest last. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from packaging.version import InvalidVersion, Version

from runner.evidence.siblings import FOLLOW_TRITON
from runner.evidence.signatures import Category
from runner.experiment.conditions import Cache, Candidate, Conditions, Cost
from runner.model.cell import PythonBuild
from runner.model.plan import PlannedEnvironment
from runner.model.words import Factor, GilMode

_NEIGHBOURS = 1
"""Nearest Triton releases that are tried on either side."""
TOGETHER = "after the tests before it"
ALONE = "alone in its process"

_USUAL = (
    Factor.THREADS,
    Factor.ALONE,
    Factor.FRESH_CACHE,
    Factor.GIL,
    Factor.TRITON,
    Factor.BUILD,
    Factor.BASE_COMMIT,
    Factor.PYTHON,
)
_LEADS: dict[Category, tuple[Factor, ...]] = {
    Category.ABI: (Factor.FRESH_CACHE, Factor.BUILD, Factor.GIL, Factor.TRITON),
    Category.THREAD_SAFETY: (Factor.THREADS, Factor.GIL, Factor.TRITON, Factor.BUILD),
    Category.COMPILER: (Factor.TRITON, Factor.FRESH_CACHE, Factor.BASE_COMMIT),
    Category.TOOLCHAIN: (Factor.TRITON, Factor.FRESH_CACHE),
    Category.API: (Factor.TRITON, Factor.BASE_COMMIT),
    Category.PROJECT: (Factor.BASE_COMMIT, Factor.TRITON, Factor.GIL),
    Category.ENVIRONMENT: (Factor.TRITON, Factor.BUILD),
    Category.RESOURCE: (Factor.TRITON, Factor.BASE_COMMIT),
}


@dataclass(frozen=True)
class World:
    """What there is to change.

    Attributes:
        environments: those that can be had: of the plan first, then new ones (see `new`).
        new: ids of environments that the plan does not have.
        base: the commit to compare with, as the user named it, or None.
    """

    environments: tuple[PlannedEnvironment, ...]
    new: frozenset[str] = frozenset()
    base: str | None = None

    def get(self, environment: str) -> PlannedEnvironment:
        """The environment with that id; KeyError when there is none."""
        for one in self.environments:
            if one.id == environment:
                return one
        raise KeyError(environment)


def candidates(
    start: Conditions, world: World, categories: Iterable[Category] = (), *, silent: Collection[str] = ()
) -> tuple[Candidate, ...]:
    """Every contrast that starts at these conditions, ordered: the cheap before the dear, and then by the lead.

    Args:
        start: the conditions under which the failure is seen.
        world: what there is to change.
        categories: what the failure's signature hints at.
        silent: ids of environments in which the test is known to fail in another way, which tells nothing.
    """
    rank = {factor: number for number, factor in enumerate(_order(tuple(categories)))}
    there = (*_environments(start, world, silent), *_base(start, world))
    found = (*_alone(start), *_threads(start), *_here(start, world), *there)
    return tuple(sorted(found, key=lambda one: (one.cost, rank.get(one.factor, len(rank)))))


def _order(categories: tuple[Category, ...]) -> tuple[Factor, ...]:
    leads = [factor for category in categories for factor in _LEADS.get(category, ())]
    return tuple(dict.fromkeys((*leads, *_USUAL)))


def _alone(start: Conditions) -> Iterator[Candidate]:
    if not start.alone:
        yield Candidate(Factor.ALONE, start, replace(start, alone=True), TOGETHER, ALONE)


def _threads(start: Conditions) -> Iterator[Candidate]:
    if start.threads > 1:
        yield Candidate(Factor.THREADS, start, replace(start, threads=1), f"{start.threads} threads", "1 thread")


def _here(start: Conditions, world: World) -> Iterator[Candidate]:
    if start.cache is Cache.FOUND:
        after = replace(start, cache=Cache.FRESH)
        yield Candidate(Factor.FRESH_CACHE, start, after, Cache.FOUND.value, Cache.FRESH.value)
    build = _build(world.get(start.environment))
    if build is not None and build.free_threaded:
        for mode in (GilMode.ON, GilMode.OFF):
            if mode is not start.gil:
                after = replace(start, gil=mode)
                yield Candidate(Factor.GIL, start, after, start.gil.value, mode.value)


def _environments(start: Conditions, world: World, silent: Collection[str]) -> Iterator[Candidate]:
    here = world.get(start.environment)
    build = _build(here)
    if build is None or here.triton is None:
        return
    others = [(one, _build(one)) for one in world.environments if one.id != here.id and one.unavailable is None]
    for one, other in others:
        if other is None or one.triton != here.triton or one.torch != here.torch or not _same_pins(one, here):
            continue
        cost = Cost.NEW_ENVIRONMENT if one.id in world.new else Cost.OTHER_ENVIRONMENT
        after = replace(start, environment=one.id)
        if other.version == build.version and other.free_threaded is not build.free_threaded:
            # With the GIL on in both: else two things would differ.
            before = replace(start, gil=GilMode.ON)
            yield Candidate(Factor.BUILD, before, replace(after, gil=GilMode.ON), str(build), str(other), cost)
        elif other.version != build.version and other.free_threaded is build.free_threaded:
            yield Candidate(Factor.PYTHON, start, after, str(build), str(other), cost)
    same_python = [one for one, other in others if other == build and one.triton and one.triton != here.triton]
    for one in _neighbours(here, same_python, world, silent):
        cost = Cost.NEW_ENVIRONMENT if one.id in world.new else Cost.OTHER_ENVIRONMENT
        yield Candidate(Factor.TRITON, start, replace(start, environment=one.id), _triton(here), _triton(one), cost)


def _neighbours(
    here: PlannedEnvironment, others: list[PlannedEnvironment], world: World, silent: Collection[str]
) -> Iterator[PlannedEnvironment]:
    """The nearest release on either side that can tell something, from the plan where it has one there."""
    mine = _version(here.triton)
    for is_newer in (True, False):
        side = [one for one in others if (_version(one.triton) > mine) is is_newer and _same_kind(one, here)]
        planned = [one for one in side if one.id not in world.new]
        side = sorted(planned or side, key=lambda one: _version(one.triton), reverse=not is_newer)
        yield from ([one for one in side if one.id not in silent] or side)[:_NEIGHBOURS]


def _base(start: Conditions, world: World) -> Iterator[Candidate]:
    if world.base is not None:
        after = replace(start, commit=world.base)
        yield Candidate(Factor.BASE_COMMIT, start, after, "this one", world.base, Cost.CHECKOUT)


def _build(environment: PlannedEnvironment) -> PythonBuild | None:
    """The build of an environment; None for a named one in which nothing ran, about which nothing else is known."""
    try:
        return PythonBuild.parse(environment.python)
    except ValueError:
        return None


def _version(text: str | None) -> Version:
    try:
        return Version(text or "0")
    except InvalidVersion:
        return Version("0")


def _triton(environment: PlannedEnvironment) -> str:
    torch = f" with torch {environment.torch}" if environment.torch else ""
    return f"{environment.triton}{torch}"


def _same_kind(one: PlannedEnvironment, here: PlannedEnvironment) -> bool:
    """With torch both or neither; all other packages must be the same without torch, and in named environments."""
    if one.executable is not None or here.executable is not None:
        return one.torch == here.torch and _same_pins(one, here)
    if (one.torch is None) is not (here.torch is None):
        return False
    return here.torch is not None or _same_pins(one, here)


def _same_pins(one: PlannedEnvironment, here: PlannedEnvironment) -> bool:
    return _pins(one) == _pins(here) and one.local == here.local and one.extras == here.extras


def _pins(environment: PlannedEnvironment) -> list[tuple[str, str]]:
    return [(pin.name, pin.version) for pin in environment.pins if pin.name not in FOLLOW_TRITON]
