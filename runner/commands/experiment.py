"""`triton-compat experiment`: contrasts for the failures of an output folder, within a time budget a cell."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from runner.commands.index import open_index
from runner.commands.results import contrasts_file, read_plan, read_results
from runner.errors import TritonCompatError, UsageError
from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.experiment.bench import Bench, UnavailableError
from runner.experiment.candidates import World
from runner.experiment.checkout import Checkouts
from runner.experiment.conditions import Cache
from runner.experiment.neighbours import has_neighbour, nearest, same_matrix
from runner.experiment.stage import Known, Stage
from runner.model.contrast import Contrasts
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment
from runner.model.result import CellResult
from runner.model.words import Status
from runner.plan.values import duration


def run(options: argparse.Namespace) -> int:
    """Write contrasts.json of every failing cell; exit 0."""
    plan = read_plan(options.out)
    if options.root is not None:
        plan = plan.model_copy(update={"root": str(options.root.resolve())})
    results = read_results(plan, options.out)
    budget = _budget(options.budget)
    checkouts = Checkouts(Path(plan.root), options.out)
    base = checkouts.resolve(options.base) if options.base else None
    caches = _caches(options.cache)
    rules = built_in()
    observer = Observer(rules)
    known = Known(
        cells={cell.key.id: cell for cell in plan.cells},
        observed={name: observer.observe(result) for name, result in results.items()},
        rules=rules,
    )
    bench = Bench(plan, options.out, caches=caches, checkouts=checkouts, say=_say, offline=options.offline)
    failing = _failing(plan, results, options.cell)
    found = [_as_found(bench, known.cells[name]) for name in _passing(plan, results, options.cell) if caches]
    found = [result for result in found if result.status is Status.FAIL]
    if not failing and not found:
        print(f"No cell fails{' with the cache as found' if caches else ''}, so there is nothing to look into.")
        return 0
    planned = tuple(one for one in plan.environments if one.unavailable is None)
    neighbours = _Neighbours(plan, offline=options.offline)
    for result in (*failing, *found):
        cell = known.cells[result.cell.id]
        new = neighbours.of(cell)
        bench.environments.update({one.id: one for one in new})
        world = World((*planned, *new), new=frozenset(one.id for one in new), base=base)
        stage = Stage(
            cell,
            result,
            known=known,
            bench=bench,
            world=world,
            path=contrasts_file(options.out, cell.key.id),
            left=_countdown(budget),
            as_found=caches if result in found else None,
        )
        print(_summary(stage.run()))
    return 0


class _Neighbours:
    """Other releases of Triton for cells whose Python has one in the plan alone; the index is asked when needed."""

    def __init__(self, plan: Plan, *, offline: bool) -> None:
        self._plan = plan
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
                _say(f"{cell.key.id}: no other Triton is tried: {error.message}")
                self._known[environment.id] = ()
        return self._known[environment.id]


def _caches(directory: Path | None) -> dict[str, str]:
    if directory is None:
        return {}
    if not directory.is_dir():
        raise UsageError(
            f"--cache: {directory} is no directory.", remedy="Name Triton's cache, such as ~/.triton/cache."
        )
    return {"TRITON_CACHE_DIR": str(directory.resolve())}


def _as_found(bench: Bench, cell: PlannedCell) -> CellResult:
    """All tests of a cell once more, on a copy of the user's cache directory."""
    _say(f"{cell.key.id}: its tests with the cache as found")
    try:
        return bench.whole(cell, Cache.FOUND).result.model_copy(update={"cell": cell.key})
    except UnavailableError as error:
        raise UsageError(f"{cell.key.id} could not be run: {error.message}") from error


def _passing(plan: Plan, results: dict[str, CellResult], wanted: list[str]) -> list[str]:
    failing = {result.cell.id for result in _failing(plan, results, wanted)}
    ran = {name for name, result in results.items() if result.status in {Status.PASS, Status.FAIL}}
    return [name for name in results if name in ran - failing and (not wanted or name in wanted)]


def _failing(plan: Plan, results: dict[str, CellResult], wanted: list[str]) -> list[CellResult]:
    known = {cell.key.id for cell in plan.cells}
    if strangers := [name for name in wanted if name not in known]:
        raise UsageError(f"The plan has no cell {strangers[0]}.", remedy="See nox -l for the cells of a matrix.")
    return [
        result for name, result in results.items() if result.status is Status.FAIL and (not wanted or name in wanted)
    ]


def _countdown(budget: float) -> Callable[[], float]:
    """Seconds that are left of a budget that begins now."""
    end = time.monotonic() + budget
    return lambda: end - time.monotonic()


def _budget(text: str) -> float:
    try:
        return duration(text)
    except ValueError as error:
        raise UsageError(f"--budget: {error}.", remedy="Give a time such as 15m or 90s.") from error


def _summary(found: Contrasts) -> str:
    made = f"{len(found.contrasts)} contrasts, {len(found.control)} parts of the control, {found.spent_seconds:.0f} s"
    return "\n  ".join((f"{found.cell}: {made}", *found.unfinished))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
