"""Contrasts that a matrix holds already: its cells that differ in exactly one factor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from runner.evidence.named import as_found
from runner.evidence.observed import Observed
from runner.model.cell import CellKey, PythonBuild
from runner.model.contrast import Count
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment
from runner.model.words import Factor, GilMode, Status

FOLLOW_TRITON = ("triton", "torch", "setuptools", "filelock", "importlib-metadata")
"""Packages that are on the axis of Triton: itself, the torch that pins it, and what only some of its releases need."""
_NO_EVIDENCE = frozenset({Status.INFRA, Status.UNAVAILABLE, Status.NO_RESULT})
_Counts = dict[tuple[str, tuple[str, ...]], Count]


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a root was seen under one value of a factor.

    Attributes:
        cell: id of the cell in which, or for which, it was counted.
        value, count, source, started: as in `Side`.
    """

    cell: str
    value: str
    count: Count
    source: str
    started: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Where a root was seen, beside the same with one factor changed to one value.

    Attributes:
        factor: the one that differs.
        before: where it was seen, over the same tests.
        after: with the factor changed, all to the same value, over those tests.
    """

    factor: Factor
    before: tuple[Tally, ...]
    after: tuple[Tally, ...]


class Siblings:
    """The cells of one matrix in groups that differ in one factor.

    A matrix of 256 cells has thousands of pairs for each root, so pairs are never made: what was seen in a cell is
    counted once for a root, and cells with the same failing tests are compared together for each value of a factor.
    """

    def __init__(self, plan: Plan, cells: Mapping[str, Observed]) -> None:
        plan = as_found(plan, {name: seen.installed for name, seen in cells.items()})
        environments = {environment.id: environment for environment in plan.environments}
        self._cells = cells
        self._speaking = [cell for cell in plan.cells if cell.key.id in cells and _speaks(cells[cell.key.id])]
        self._groups = [
            (factor, [(_value(factor, cell.key, environments[cell.environment]), cells[cell.key.id]) for cell in group])
            for factor, group in _groups(environments, self._speaking)
        ]

    def comparisons(self, root: str) -> tuple[Comparison, ...]:
        """The comparisons of GIL, build, Python and Triton that the cells make for one root.

        Each goes from the values under which the root was seen to cells that differ in one factor alone, over the tests
        that ran in both. Cells that have such a value and did not show it count as well: to choose the cells that
        failed would make every side that was seen fail each time. Retries that a cell holds already are its
        comparison `repeat`.
        """
        found = [one for cell in self._speaking if (one := _repeat(self._cells[cell.key.id], root)) is not None]
        counts: _Counts = {}
        failing: dict[Factor, set[str]] = {}
        for factor, group in self._groups:
            failing.setdefault(factor, set()).update(value for value, seen in group if root in seen.roots)
        for factor, group in self._groups:
            found += _compared(factor, group, root, counts, failing[factor])
        return tuple(found)


def _compared(
    factor: Factor, group: list[tuple[str, Observed]], root: str, counts: _Counts, values: set[str]
) -> Iterator[Comparison]:
    """What one group says, for each value of the factor; `values` are those under which any group shows the root."""
    failing: dict[tuple[str, ...], list[tuple[str, Observed]]] = {}
    for value, seen in group:
        if root in seen.roots:
            failing.setdefault(seen.roots[root].tests, []).append((value, seen))
    without = [(value, seen) for value, seen in group if value in values and root not in seen.roots]
    for tests, cells in failing.items():
        yield from _over(tests, cells, without, factor, group, root, counts)


def _over(
    tests: tuple[str, ...],
    cells: list[tuple[str, Observed]],
    without: list[tuple[str, Observed]],
    factor: Factor,
    group: list[tuple[str, Observed]],
    root: str,
    counts: _Counts,
) -> Iterator[Comparison]:
    """The cells of a group that show a root in the same tests, beside all of the group, for each value of the factor.

    Over which of the tests they are compared depends on what ran on the other side: most often all of them did.
    """
    before: dict[tuple[str, ...], list[Tally]] = {}
    for value in dict.fromkeys(value for value, _ in group):
        after: dict[tuple[str, ...], list[Tally]] = {}
        for other in [seen for own, seen in group if own == value]:
            both = tests if all(test in other.tests for test in tests) else _both(tests, other)
            if both:
                after.setdefault(both, []).append(_tally(value, other, root, both, counts, "sibling cell"))
        for both, changed in after.items():
            if both not in before:
                alike = [(own, seen) for own, seen in without if all(test in seen.tests for test in both)]
                before[both] = [_tally(own, seen, root, both, counts, "cell") for own, seen in (*cells, *alike)]
            seen_in = tuple(tally for tally in before[both] if tally.value != value)
            if seen_in:
                yield Comparison(factor, seen_in, tuple(changed))


def _both(tests: tuple[str, ...], other: Observed) -> tuple[str, ...]:
    return tuple(test for test in tests if test in other.tests)


def _tally(value: str, seen: Observed, root: str, tests: tuple[str, ...], counts: _Counts, source: str) -> Tally:
    cell = seen.key.id
    if (cell, tests) not in counts:
        mine = seen.roots.get(root)
        counts[cell, tests] = mine.count if mine and mine.tests == tests else seen.count(root, tests)
    return Tally(cell, value, counts[cell, tests], f"{source} {cell}")


def _repeat(seen: Observed, root: str) -> Comparison | None:
    """Attempts that the run itself repeated, such as a retry in a new process."""
    one = seen.roots.get(root)
    if one is None or one.repeats is None:
        return None
    cell = seen.key.id
    before = Tally(cell, "as it was", one.count, f"cell {cell}")
    return Comparison(Factor.REPEAT, (before,), (Tally(cell, "again", one.repeats, f"retries in cell {cell}"),))


def _speaks(seen: Observed) -> bool:
    return seen.status not in _NO_EVIDENCE and seen.really_off


def _groups(
    environments: Mapping[str, PlannedEnvironment], cells: list[PlannedCell]
) -> Iterator[tuple[Factor, list[PlannedCell]]]:
    """For each factor, the groups of cells that are alike in everything else."""
    for factor in (Factor.GIL, Factor.BUILD, Factor.PYTHON, Factor.TRITON):
        keyed = sorted(
            (
                (rest, cell)
                for cell in cells
                if (rest := _rest(factor, cell, environments[cell.environment])) is not None
            ),
            key=lambda pair: pair[0],
        )
        for _, group in groupby(keyed, key=lambda pair: pair[0]):
            members = [cell for _, cell in group]
            if len(members) > 1:
                yield factor, members


def _rest(factor: Factor, cell: PlannedCell, environment: PlannedEnvironment) -> str | None:
    """Everything about a cell except one factor, or None when the factor says nothing about this cell."""
    key, settings = cell.key, cell.settings
    same: list[object] = [settings.tests, settings.pytest_args, sorted(settings.env.items()), settings.workdir]
    if factor is Factor.GIL:
        return repr([*same, cell.environment])
    try:
        python = PythonBuild.parse(key.python)
    except ValueError:  # a named environment in which nothing ran is nobody's sibling
        return None
    pins = tuple((pin.name, pin.version) for pin in environment.pins if pin.name not in FOLLOW_TRITON)
    rest: list[object] | None = None
    if factor is Factor.BUILD and key.gil is GilMode.ON:
        # A build with the GIL is compared with the free-threaded one that has it on: else two things would differ.
        rest = [python.version, key.triton, key.torch, pins]
    elif factor is Factor.PYTHON:
        rest = [python.free_threaded, key.gil.value, key.triton, key.torch, pins]
    elif factor is Factor.TRITON and key.triton is not None:
        # torch pins its Triton exactly: where it follows, the two, and what torch needs, are one axis.
        rest = [
            str(python),
            key.gil.value,
            *(["torch follows"] if _torch_follows(key, environment) else [key.torch, pins]),
        ]
    return None if rest is None else repr([*same, *rest])


def _torch_follows(key: CellKey, environment: PlannedEnvironment) -> bool:
    """Whether the planner chose the torch for the Triton; in a named environment somebody else chose both."""
    return key.torch is not None and environment.executable is None and "-torch" not in key.id


def _value(factor: Factor, key: CellKey, environment: PlannedEnvironment) -> str:
    if factor is Factor.GIL:
        return key.gil.value
    if factor is Factor.TRITON:
        return f"{key.triton} with torch {key.torch}" if _torch_follows(key, environment) else str(key.triton)
    return key.python
