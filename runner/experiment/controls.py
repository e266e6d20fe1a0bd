"""The control's runs in one cell: as a whole, again what tells something, and in a cache that another Python filled."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runner.errors import ExecutionError
from runner.evidence.observed import Observer
from runner.experiment.bench import Bench, Run, UnavailableError
from runner.experiment.candidates import World
from runner.experiment.parts import PARTS, counted, from_other_cache, telling
from runner.experiment.procedure import LEAST_REPEATS
from runner.model.contrast import ControlPart
from runner.model.plan import PlannedCell, PlannedEnvironment

CONTROL_RUNS = 6
"""Runs of the parts of the control that fail, and of those that a failure that comes and goes may be in."""


class Controls:
    """The control in one cell.

    Args:
        cell: in whose environment and GIL mode it runs.
        bench: makes the runs.
        observer: reads roots.
        left: seconds that the budget has left; asked before every run but the first.
    """

    def __init__(self, cell: PlannedCell, bench: Bench, observer: Observer, left: Callable[[], float]) -> None:
        self._cell, self._bench, self._observer, self._left = cell, bench, observer, left
        self._runs: list[Run] = []

    @property
    def parts(self) -> tuple[ControlPart, ...]:
        """What the runs so far say of every part."""
        return counted(self._runs, self._observer)

    def run(self, signatures: frozenset[str], *, often: bool) -> str | None:
        """Once as a whole, then again what failed and tells something.

        Args:
            signatures: of the failures that it is run for.
            often: for a failure that comes and goes: its parts with several threads again as well.

        Returns:
            What could not be done, as a sentence.
        """
        try:
            if not self._runs:
                self._bench.say(f"{self._cell.key.id}: the control, Triton alone")
                self._runs.append(self._bench.control(self._cell, None, 0))
            again = _again(telling(self._runs[0].result, self._observer, signatures), often=often)
            while again and len(self._runs) < CONTROL_RUNS:
                number = len(self._runs)
                if self._left() <= 0:
                    return f"the control was run {number} times: the budget was spent"
                self._bench.say(f"{self._cell.key.id}: {len(again)} parts of the control, run {number + 1}")
                self._runs.append(self._bench.control(self._cell, again, number))
        except (UnavailableError, ExecutionError) as error:
            return f"the control could not be run: {error.message}"
        return None

    def of_caches(self, world: World) -> tuple[ControlPart, ...]:
        """Triton's helper in a cache that another Python filled; nothing where the matrix has no other Python."""
        filler = _filler(self._cell.environment, world)
        if filler is None:
            return ()
        pairs: list[tuple[Run, Run]] = []
        while len(pairs) < LEAST_REPEATS and self._left() > 0:
            self._bench.say(f"{self._cell.key.id}: the control in a cache of {filler.id}, run {len(pairs) + 1}")
            try:
                pairs.append(self._bench.helper_from(self._cell, filler.id, len(pairs)))
            except (UnavailableError, ExecutionError):
                break
        return from_other_cache(pairs, filler.python, self._observer)


def _filler(environment: str, world: World) -> PlannedEnvironment | None:
    """An environment with the same Triton and another Python; the other build of the same version first."""
    mine = world.get(environment)
    others = [
        one
        for one in world.environments
        if one.triton == mine.triton and one.torch == mine.torch and one.python != mine.python
    ]
    return min(others, key=lambda one: (one.python.rstrip("t") != mine.python.rstrip("t"), one.id), default=None)


def _again(failed: Iterable[str], *, often: bool) -> tuple[str, ...]:
    """Parts of the control that are worth repeating, each with its part for one thread."""
    names = set(failed)
    if often:
        names |= {name for name, part in PARTS.items() if part.threads > 1}
    names |= {single for name in names if name in PARTS and (single := PARTS[name].single)}
    return tuple(name for name in PARTS if name in names and not PARTS[name].mark)
