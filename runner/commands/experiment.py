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
from runner.experiment.known import Known
from runner.experiment.order import most_telling_first
from runner.experiment.stage import Stage
from runner.model.contrast import Contrasts
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment
from runner.model.result import CellResult
from runner.model.words import Status
from runner.plan.values import duration

_LEFT_OUT = "was not looked into: the total budget was spent"


def run(options: argparse.Namespace) -> int:
    """Write contrasts.json of every failing cell; exit 0."""
    plan = read_plan(options.out)
    results = Results(plan, options.out)
    known = _known(plan, results, options.out, rules_of(plan, options))
    environments = as_found(plan, {name: seen.installed for name, seen in known.observed.items()}).environments
    budget, caches = _time("--budget", options.budget), _caches(options.cache)
    total = _countdown(_time("--total-budget", options.total_budget)) if options.total_budget else None
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
        left_out = []
        for cell in _in_order(failing, known):
            if total is not None and total() <= 0:
                left_out.append(_leave_out(cell, contrasts_file(options.out, cell.key.id)))
                continue
            result = found.get(cell.key.id) or results[cell.key.id]
            stage = Stage(
                result,
                None if cell.key.id in found else read_races(result, options.out),
                known=known,
                bench=bench,
                world=_world(bench, environments, neighbours.of(cell), base),
                path=contrasts_file(options.out, cell.key.id),
                left=_countdown(budget, total),
                as_found=caches if cell.key.id in found else None,
            )
            print(_summary(stage.run()))
        if left_out:
            print(f"{len(left_out)} of {len(failing)} cells {_LEFT_OUT}: {', '.join(left_out)}")
    return 0


def _in_order(cells: list[PlannedCell], known: Known) -> list[PlannedCell]:
    """What tells the most comes first; cells that fail with the cache as found alone come last."""
    roots = {
        cell.key.id: known.observed[cell.key.id].roots.keys()
        | (known.raced[cell.key.id].roots.keys() if cell.key.id in known.raced else set())
        for cell in cells
    }
    return [known.cells[name] for name in most_telling_first(roots)]


def _leave_out(cell: PlannedCell, path: Path) -> str:
    """Say in contrasts.json why there are none; those of an earlier experiment stay."""
    if not path.exists():
        Contrasts(cell=cell.key.id, unfinished=(f"the cell {_LEFT_OUT}",)).write(path)
    return cell.key.id


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


def _countdown(budget: float, total: Callable[[], float] | None = None) -> Callable[[], float]:
    """Seconds that are left of a budget that begins now, and of the total where there is one."""
    end = time.monotonic() + budget
    return lambda: min(end - time.monotonic(), total() if total else budget)


def _time(option: str, text: str) -> float:
    try:
        return duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.", remedy="Give a time such as 15m or 90s.") from error


def _summary(found: Contrasts) -> str:
    made = f"{len(found.contrasts)} contrasts, {len(found.control)} parts of the control, {found.spent_seconds:.0f} s"
    return "\n  ".join((f"{found.cell}: {made}", *found.unfinished))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
