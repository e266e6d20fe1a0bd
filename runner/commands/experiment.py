"""`triton-compat experiment`: contrasts for the failures of an output folder, within a time budget a cell."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.commands.index import Neighbours
from runner.commands.results import Results, contrasts_file, read_plan, read_races
from runner.commands.rules import rules_of
from runner.errors import UsageError
from runner.evidence.named import as_found
from runner.evidence.observed import Observer
from runner.evidence.signatures import Rules
from runner.experiment.bench import Bench, UnavailableError
from runner.experiment.candidates import World
from runner.experiment.checkout import Checkouts
from runner.experiment.conditions import Cache
from runner.experiment.stage import Known, Stage
from runner.model.contrast import Contrasts
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment
from runner.model.result import CellResult
from runner.model.words import Status
from runner.plan.values import duration


def run(options: argparse.Namespace) -> int:
    """Write contrasts.json of every failing cell; exit 0."""
    plan = read_plan(options.out)
    results = Results(plan, options.out)
    known = _known(plan, results, options.out, rules_of(plan, options))
    environments = as_found(plan, {name: seen.installed for name, seen in known.observed.items()}).environments
    budget, caches = _budget(options.budget), _caches(options.cache)
    with Checkouts(Path(plan.root), options.out) as checkouts:
        base = checkouts.resolve(options.base) if options.base else None
        bench = Bench(plan, options.out, caches=caches, checkouts=checkouts, say=_say, offline=options.offline)
        failing = _chosen(known, options.cell, Status.FAIL)
        passing = _chosen(known, options.cell, Status.PASS) if caches else []
        found = {cell.key.id: _as_found(bench, cell) for cell in passing}
        failing += [known.cells[name] for name, result in found.items() if result.status is Status.FAIL]
        if not failing:
            print(f"No cell fails{' with the cache as found' if caches else ''}, so there is nothing to look into.")
        neighbours = Neighbours(plan, offline=options.offline, say=_say)
        for cell in failing:
            result = found.get(cell.key.id) or results[cell.key.id]
            stage = Stage(
                result,
                None if cell.key.id in found else read_races(result, options.out),
                known=known,
                bench=bench,
                world=_world(bench, environments, neighbours.of(cell), base),
                path=contrasts_file(options.out, cell.key.id),
                left=_countdown(budget),
                as_found=caches if cell.key.id in found else None,
            )
            print(_summary(stage.run()))
    return 0


def _known(plan: Plan, results: Mapping[str, CellResult], out: Path, rules: Rules) -> Known:
    observer, race_observer = Observer(rules), Observer(rules, raced=True)
    observed, raced = {}, {}
    for cell in plan.cells:  # one result at a time: together they may not fit in memory
        if (result := results.get(cell.key.id)) is not None:
            observed[cell.key.id] = observer.observe(result)
        if (races := read_races(result, out)) is not None:
            raced[cell.key.id] = race_observer.observe(races.as_result())
    return Known(cells={cell.key.id: cell for cell in plan.cells}, observed=observed, raced=raced, rules=rules)


def _world(
    bench: Bench, environments: tuple[PlannedEnvironment, ...], new: tuple[PlannedEnvironment, ...], base: str | None
) -> World:
    """What there is to change: the plan's environments, as found, and those that it does not have."""
    bench.environments.update({one.id: one for one in new})
    planned = tuple(one for one in environments if one.unavailable is None)
    return World((*planned, *new), new=frozenset(one.id for one in new), base=base)


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


def _chosen(known: Known, wanted: list[str], status: Status) -> list[PlannedCell]:
    """The cells that have this status, in the plan's order: all of them, or those of the wanted ones."""
    if strangers := [name for name in wanted if name not in known.cells]:
        raise UsageError(f"The plan has no cell {strangers[0]}.", remedy="See nox -l for the cells of a matrix.")
    having = [known.cells[name] for name, seen in known.observed.items() if seen.status is status]
    return [cell for cell in having if not wanted or cell.key.id in wanted]


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
