"""The package index for commands that plan further environments; no command of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime

from runner import __version__
from runner.environment.probe import build_of
from runner.errors import TritonCompatError
from runner.experiment.neighbours import Index, has_neighbour, nearest, same_matrix
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment
from runner.plan.catalogue import make_catalogue
from runner.plan.index import PackageIndex, index_url
from runner.plan.resolve import make_resolver


def open_index(*, offline: bool) -> Index:
    """The index that this machine's variables name."""
    pages = PackageIndex(index_url(os.environ), offline=offline)
    return Index(
        catalogue=make_catalogue(pages),
        resolver=make_resolver(pages, environ=os.environ),
        probe=build_of,
        now=datetime.now(UTC),
        tool=__version__,
    )


class Neighbours:
    """Other releases of Triton for cells whose Python has one in the plan alone; the index is asked when needed."""

    def __init__(self, plan: Plan, *, offline: bool, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._say = say
        self._offline = offline
        self._known: dict[str, tuple[PlannedEnvironment, ...]] = {}

    def of(self, cell: PlannedCell) -> tuple[PlannedEnvironment, ...]:
        """Environments with the nearest older and newer Triton; empty, and it is said why, when they cannot be had."""
        environment = self._plan.environment(cell.environment)
        if environment.executable is not None or has_neighbour(self._plan, cell.key):
            return ()
        if environment.id not in self._known:
            try:
                file, index = same_matrix(self._plan), open_index(offline=self._offline)
                self._known[environment.id] = nearest(self._plan, cell.key, file, index)
            except TritonCompatError as error:
                self._say(f"{cell.key.id}: no other Triton is tried: {error.message}")
                self._known[environment.id] = ()
        return self._known[environment.id]
