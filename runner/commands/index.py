"""The package index for commands that plan further environments; no command of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from runner import __version__
from runner.environment.probe import build_of
from runner.errors import TritonCompatError
from runner.experiment.neighbours import Index, has_neighbour, nearest, same_matrix
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment
from runner.plan.catalogue import make_catalogue
from runner.plan.index import PackageIndex, index_url
from runner.plan.resolve import make_resolver


@contextmanager
def open_index(*, offline: bool, say: Callable[[str], None]) -> Iterator[Index]:
    """The index that this machine's variables name.

    Args:
        offline: use what the caches hold and ask no network.
        say: takes what a person must know of the pages, such as that they are old copies, once they were asked for;
            also when that ended in an error.
    """
    pages = PackageIndex(index_url(os.environ), offline=offline)
    try:
        yield Index(
            catalogue=make_catalogue(pages),
            resolver=make_resolver(pages, environ=os.environ),
            probe=build_of,
            now=datetime.now(UTC),
            tool=__version__,
        )
    finally:
        for notice in pages.notices:
            say(notice)


class Neighbours:
    """Other releases of Triton for cells whose Python has one in the plan alone; the index is asked when needed."""

    def __init__(self, plan: Plan, *, offline: bool, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._say = say
        self._offline = offline
        self._known: dict[str, tuple[PlannedEnvironment, ...]] = {}
        self._noticed: set[str] = set()

    def of(self, cell: PlannedCell) -> tuple[PlannedEnvironment, ...]:
        """Environments with the nearest older and newer Triton; empty, and it is said why, when they cannot be had."""
        environment = self._plan.environment(cell.environment)
        if environment.executable is not None or has_neighbour(self._plan, cell.key):
            return ()
        if environment.id not in self._known:
            try:
                with open_index(offline=self._offline, say=self._notice) as index:
                    self._known[environment.id] = nearest(self._plan, cell.key, same_matrix(self._plan), index)
            except TritonCompatError as error:
                self._say(f"{cell.key.id}: no other Triton is tried: {error.message}")
                self._known[environment.id] = ()
        return self._known[environment.id]

    def _notice(self, notice: str) -> None:
        """The same index is asked for every environment, and is not to repeat itself."""
        if notice not in self._noticed:
            self._noticed.add(notice)
            self._say(notice)
