"""The results that lie in an output folder."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from runner.errors import DocumentError
from runner.execution.cell import finished_result
from runner.model.audit import Audit
from runner.model.contrast import Contrasts
from runner.model.plan import Plan, plan_sha
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.verdict import Verdict
from runner.verdict.cell_status import weigh


def read_results(plan: Plan, out: Path) -> dict[str, CellResult]:
    """The result of each planned cell that has one of this plan, by cell id. A damaged or older one counts as none."""
    found = {}
    for cell in plan.cells:
        sha = plan_sha(cell, plan.environment(cell.environment))
        result = finished_result(out / "cells" / cell.key.id, sha)
        if result is not None and result.cell == cell.key:
            found[cell.key.id] = result
    return found


def why_unusable(plan: Plan, results: Mapping[str, CellResult], out: Path) -> dict[str, str]:
    """Why a result that lies there counts for nothing, by cell id: a lost job is another matter than a damaged file."""
    reasons = {}
    for cell in plan.cells:
        path = out / "cells" / cell.key.id / "result.json"
        if cell.key.id in results or not path.exists():
            continue
        try:
            CellResult.read(path)
        except DocumentError as error:
            reasons[cell.key.id] = error.message
        else:
            reasons[cell.key.id] = f"{path} belongs to another plan; triton-compat cell {cell.key.id} makes it anew"
    return reasons


def read_verdict(plan: Plan, results: Mapping[str, CellResult], out: Path) -> Verdict:
    """The verdict of an output folder, if it was made from this plan and these results.

    Raises:
        DocumentError: there is none, it is damaged, or results came, went or changed after it.
    """
    verdict = Verdict.read(out / "verdict.json")
    judged = {cell.id: cell.counts for cell in verdict.cells}
    weighed = {cell.key.id: weigh(cell.key, results.get(cell.key.id)).counts for cell in plan.cells}
    if judged != weighed:
        differ = [name for name in (weighed | judged) if judged.get(name) != weighed.get(name)]
        raise DocumentError(
            f"{out / 'verdict.json'} was not made from the plan and the results that are here now;"
            f" they differ in {', '.join(differ[:3])}{f' and {len(differ) - 3} more cells' if differ[3:] else ''}.",
            remedy="Run triton-compat judge, then this command again.",
        )
    return verdict


def read_contrasts(plan: Plan, out: Path) -> tuple[Contrasts, ...]:
    """What experiments found out about the planned cells, in the plan's order; most cells have nothing."""
    found = []
    for cell in plan.cells:
        with contextlib.suppress(DocumentError):
            found.append(Contrasts.read(contrasts_file(out, cell.key.id)))
    return tuple(found)


def read_races(plan: Plan, results: Mapping[str, CellResult], out: Path) -> dict[str, Races]:
    """The races that belong to the results, by cell id, in the plan's order; cells that ask for none have none."""
    found = {}
    for cell in plan.cells:
        with contextlib.suppress(DocumentError):
            races = Races.read(out / "cells" / cell.key.id / "races.json")
            if cell.key.id in results and results[cell.key.id].plan_sha == races.plan_sha:
                found[cell.key.id] = races
    return found


def contrasts_file(out: Path, cell: str) -> Path:
    """Where the contrasts of a cell lie."""
    return out / "cells" / cell / "contrasts.json"


def audit_file(out: Path, environment: str) -> Path:
    """Where the audit of an environment lies."""
    return out / "audits" / f"{environment}.json"


def read_audits(plan: Plan, out: Path) -> dict[str, Audit]:
    """The audits that were made, by environment id, in the plan's order."""
    found = {}
    for environment in plan.environments:
        with contextlib.suppress(DocumentError):  # most environments have none
            found[environment.id] = Audit.read(audit_file(out, environment.id))
    return found


def read_plan(out: Path) -> Plan:
    """The plan of an output folder.

    Raises:
        DocumentError: there is none; the remedy says how to get one.
    """
    path = out / "plan.json"
    if not path.exists():
        raise DocumentError(f"{path} does not exist.", remedy="Run triton-compat plan, or nox -s matrix, first.")
    return Plan.read(path)
