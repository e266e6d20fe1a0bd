"""The results that lie in an output folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.errors import DocumentError
from runner.execution.cell import finished_result
from runner.model.audit import Audit
from runner.model.contrast import Contrasts
from runner.model.plan import Plan, PlannedCell, plan_sha
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.summary import CellSummary
from runner.model.verdict import Verdict
from runner.model.words import Outcome

Counts = dict[Outcome, int]


class Results(Mapping[str, CellResult]):
    """The result of each planned cell that has one of this plan, by cell id. A damaged or older one counts as none.

    Each is read when it is asked for and is not kept: those of a large matrix fill more than a gigabyte.
    """

    def __init__(self, plan: Plan, out: Path) -> None:
        self._plan, self._out = plan, out
        self._cells = {cell.key.id: cell for cell in plan.cells}
        self._usable: dict[str, bool] = {}

    def __getitem__(self, cell_id: str) -> CellResult:
        """Read one; KeyError when there is none that can be used."""
        cell = self._cells[cell_id]
        result = finished_result(self._out / "cells" / cell_id, _sha(self._plan, cell))
        self._usable[cell_id] = result is not None and result.cell == cell.key
        if result is None or not self._usable[cell_id]:
            raise KeyError(cell_id)
        return result

    def __contains__(self, cell_id: object) -> bool:
        """Whether there is one that can be used; it is read once to find out."""
        if not isinstance(cell_id, str):
            return False
        if cell_id not in self._usable:
            return self.get(cell_id) is not None
        return self._usable[cell_id]

    def __iter__(self) -> Iterator[str]:
        """Ids in the plan's order."""
        return (cell_id for cell_id in self._cells if cell_id in self)

    def __len__(self) -> int:
        """How many there are."""
        return sum(1 for _ in self)


def read_summaries(plan: Plan, out: Path) -> Iterator[CellSummary]:
    """How each planned cell that has a result ended, in the plan's order.

    A summary that is missing, or older than the result, is made from it.
    """
    for cell in plan.cells:
        sha, result = _sha(plan, cell), out / "cells" / cell.key.id / "result.json"
        path = summary_file(out, cell.key.id)
        with contextlib.suppress(OSError, DocumentError):
            if path.stat().st_mtime_ns >= result.stat().st_mtime_ns:
                summary = CellSummary.read(path)
                if (summary.cell, summary.plan_sha) == (cell.key.id, sha):
                    yield summary
                    continue
        found = finished_result(result.parent, sha)
        if found is not None and found.cell == cell.key:
            yield CellSummary.of(found)


def summary_file(out: Path, cell: str) -> Path:
    """Where the summary of a cell's result lies."""
    return out / "cells" / cell / "summary.json"


def _sha(plan: Plan, cell: PlannedCell) -> str:
    return plan_sha(cell, plan.environment(cell.environment))


def why_unusable(plan: Plan, results: Mapping[str, CellResult], out: Path) -> dict[str, str]:
    """Why a result that lies there counts for nothing, by cell id: a lost job is another matter than a damaged file."""
    reasons = {}
    for cell in plan.cells:
        path = out / "cells" / cell.key.id / "result.json"
        if not path.exists() or cell.key.id in results:
            continue
        try:
            CellResult.read(path)
        except DocumentError as error:
            reasons[cell.key.id] = error.message
        else:
            reasons[cell.key.id] = f"{path} belongs to another plan; triton-compat cell {cell.key.id} makes it anew"
    return reasons


def read_verdict(weighed: Mapping[str, Counts], out: Path) -> Verdict:
    """The verdict of an output folder, if it was made from this plan and these results.

    Args:
        weighed: what the results that are here say: the counts of outcomes of each planned cell, by id.
        out: the output folder.

    Raises:
        DocumentError: there is none, it is damaged, or results came, went or changed after it.
    """
    verdict = Verdict.read(out / "verdict.json")
    judged = {cell.id: cell.counts for cell in verdict.cells}
    if judged != weighed:
        differ = [name for name in {**weighed, **judged} if judged.get(name) != weighed.get(name)]
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


def read_races(result: CellResult | None, out: Path) -> Races | None:
    """The races that belong to a cell's result; None where there are none: most cells ask for none."""
    if result is None:
        return None
    try:
        races = Races.read(out / "cells" / result.cell.id / "races.json")
    except DocumentError:
        return None
    return races if races.plan_sha == result.plan_sha else None


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
