"""The table by axis: Python and GIL down, Triton (and torch) across, a slot for every expected cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.model.cell import CellKey
from runner.model.plan import Plan, PlannedCell
from runner.model.result import CellResult
from runner.model.verdict import CellVerdict, Verdict
from runner.model.words import Outcome, Status

OWN_TRITON = "its own"


@dataclass(frozen=True, slots=True)
class Line:
    """One expected cell: what was planned, judged and, where something arrived, its result.

    Attributes:
        key: coordinates.
        environment: id of its environment.
        named: the environment is an existing Python of the user's.
        verdict: its line in the verdict.
        result: what arrived, or None.
    """

    key: CellKey
    environment: str
    named: bool
    verdict: CellVerdict
    result: CellResult | None

    @property
    def total(self) -> int:
        """Tests that were planned, or came back, whichever is more."""
        return max(sum(self.verdict.counts.values()), self.result.planned if self.result else 0)

    @property
    def bad(self) -> int:
        """Tests that went wrong."""
        return sum(count for outcome, count in self.verdict.counts.items() if outcome.is_bad)

    @property
    def skipped(self) -> int:
        """Tests that were skipped."""
        return self.verdict.counts.get(Outcome.SKIPPED, 0)

    @property
    def is_plain_pass(self) -> bool:
        """A pass about which there is nothing more to say."""
        counts = self.verdict.counts
        plain = self.verdict.status is Status.PASS and set(counts) == {Outcome.PASSED} and not self.verdict.reason
        return plain and not self.gil_came_back

    @property
    def gil_came_back(self) -> bool:
        """A free-threaded build that began without the GIL and ended with it: what ran says little about threads."""
        if self.result is None:
            return False
        gil = self.result.gil
        return gil.enabled_at_start is False and gil.enabled_at_end is True


@dataclass(frozen=True, slots=True)
class Row:
    """One (Python, GIL), or one named environment with one GIL mode.

    Attributes:
        python: `3.13t`, or the environment's id.
        gil: the mode in words.
        slots: one for each column; the cells there, none where the matrix has none.
    """

    python: str
    gil: str
    slots: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The whole table. `lines` holds every expected cell in the plan's order; `columns` are Triton versions."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    lines: tuple[Line, ...]


def lay_out(plan: Plan, results: Mapping[str, CellResult], verdict: Verdict) -> Grid:
    """Put every expected cell into its row and column, both in the plan's order."""
    judged = {cell.id: cell for cell in verdict.cells}
    named = {environment.id for environment in plan.environments if environment.executable is not None}
    lines = tuple(_line(cell, judged, results, named) for cell in plan.cells)
    with_torch = _torch_is_an_axis(lines)
    places: dict[tuple[str, str], dict[str, list[Line]]] = {}
    columns: dict[str, None] = {}
    for line in lines:
        column = _column(line.key, with_torch=with_torch)
        columns[column] = None
        row = (line.environment if line.named else line.key.python, line.key.gil.value)
        places.setdefault(row, {}).setdefault(column, []).append(line)
    rows = tuple(
        Row(python, gil, tuple(tuple(found.get(column, ())) for column in columns))
        for (python, gil), found in places.items()
    )
    return Grid(tuple(columns), rows, lines)


def _line(
    cell: PlannedCell, judged: Mapping[str, CellVerdict], results: Mapping[str, CellResult], named: set[str]
) -> Line:
    verdict = judged.get(cell.key.id) or CellVerdict(
        id=cell.key.id, status=Status.NO_RESULT, reason="the verdict does not mention it"
    )
    return Line(cell.key, cell.environment, cell.environment in named, verdict, results.get(cell.key.id))


def _torch_is_an_axis(lines: tuple[Line, ...]) -> bool:
    """Whether one Triton occurs with more than one torch; where torch follows from it, columns need not say it."""
    seen: dict[str | None, set[str | None]] = {}
    for line in lines:
        seen.setdefault(line.key.triton, set()).add(line.key.torch)
    return any(len(torches) > 1 for torches in seen.values())


def _column(key: CellKey, *, with_torch: bool) -> str:
    triton = key.triton or OWN_TRITON
    if not with_torch or key.triton is None:
        return triton
    return f"{triton} + torch {key.torch}" if key.torch else f"{triton}, no torch"
