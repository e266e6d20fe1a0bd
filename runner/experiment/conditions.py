"""The conditions under which a test is run, and what changing one of them takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from runner.model.plan import PlannedCell, Race, Settings
from runner.model.words import Factor, GilMode

CACHE_VARIABLES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR")


class Cache(StrEnum):
    """What stands in the caches of what is compiled at run time when a process starts."""

    FRESH = "fresh"
    """Nothing: directories of the run's own."""
    FOUND = "as found"
    """A copy of the user's directory, so that the user's own is never changed."""


class Cure(StrEnum):
    """A workaround that is loaded as a pytest plugin."""

    AUTOTUNER_LOCK = "autotuner_lock"
    """One lock around every autotuner."""


class Cost(IntEnum):
    """What a contrast costs, the cheapest first."""

    HERE = 0
    """Nothing but the runs."""
    OTHER_ENVIRONMENT = 1
    """Another environment of the plan, which may have to be made."""
    CHECKOUT = 2
    """A work tree of another commit, and its environment."""
    NEW_ENVIRONMENT = 3
    """An environment that the plan does not have: resolved, downloaded, made."""


@dataclass(frozen=True)
class Conditions:
    """Everything about a run that a contrast can change.

    Attributes:
        environment: id of the environment.
        gil: mode that is asked for.
        cache: see `Cache`.
        alone: the test alone in its process, or after the tests that came before it.
        commit: of the project, or None for the project as it stands.
        cure: a workaround that is in place, or None.
        threads: that run the test at once, in rounds; 0 for a test that is run once, as pytest does.
    """

    environment: str
    gil: GilMode
    cache: Cache = Cache.FRESH
    alone: bool = True
    commit: str | None = None
    cure: Cure | None = None
    threads: int = 0


@dataclass(frozen=True)
class Candidate:
    """A contrast that can be made.

    Attributes:
        factor: the one that differs.
        before, after: the conditions of both sides; they differ in one thing.
        before_value, after_value: of the factor, as people read it.
        cost: see `Cost`.
    """

    factor: Factor
    before: Conditions
    after: Conditions
    before_value: str
    after_value: str
    cost: Cost = Cost.HERE


def found_caches(settings: Settings) -> dict[str, str]:
    """The cache directories that the user's settings name; a cell has its own when they name none."""
    return {name: settings.env[name] for name in CACHE_VARIABLES if settings.env.get(name)}


def under(cell: PlannedCell, conditions: Conditions, caches: dict[str, str]) -> PlannedCell:
    """The cell as it is run under these conditions: its own settings, with that one factor changed.

    Args:
        cell: the cell whose failure is looked into.
        conditions: how to run it; `commit` and `environment` are the caller's to provide.
        caches: variables for the copies of the caches as found; used with `Cache.FOUND` alone.
    """
    settings = cell.settings
    env = {name: value for name, value in settings.env.items() if name not in CACHE_VARIABLES}
    if conditions.cache is Cache.FOUND:
        env.update(caches)
    race = _race(settings.race, conditions.threads) if conditions.threads else Race()
    settings = settings.model_copy(update={"env": env, "race": race})
    key = cell.key.model_copy(update={"gil": conditions.gil})
    return PlannedCell(key=key, environment=conditions.environment, settings=settings)


def _race(asked: Race, threads: int) -> Race:
    """As many calls as the matrix asks for, from so many threads; one thread is for contrasts alone."""
    rounds = max(1, asked.threads * asked.rounds // threads)
    return asked.model_copy(update={"threads": threads, "rounds": rounds})


def of_control(cell: PlannedCell, caches: Mapping[str, str] | None = None) -> PlannedCell:
    """The control in a cell's environment: its variables, but neither its tests, its options nor its caches.

    Args:
        cell: whose environment it is.
        caches: cache directories by variable; the control's own when None.
    """
    left_out = {*CACHE_VARIABLES, "PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS"}
    env = {name: value for name, value in cell.settings.env.items() if name not in left_out}
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # the control lies in this tool's own folder
    env.update(caches or {})
    limits = cell.settings.limits.model_copy(update={"test_seconds": 120.0, "cell_seconds": 900.0})
    settings = Settings(tests=("test_control.py",), env=env, limits=limits, gpu=cell.settings.gpu)
    return cell.model_copy(update={"settings": settings})
