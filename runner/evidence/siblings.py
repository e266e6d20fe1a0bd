"""Contrasts that a matrix holds already: two of its cells that differ in exactly one factor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from runner.evidence.observed import Observed, Observer
from runner.evidence.rulefile import built_in
from runner.evidence.signatures import Rules
from runner.model.cell import CellKey, PythonBuild
from runner.model.contrast import Contrast, Side
from runner.model.plan import Plan, PlannedCell
from runner.model.result import CellResult
from runner.model.words import Factor, GilMode, Status

FOLLOW_TRITON = ("triton", "torch", "setuptools", "filelock", "importlib-metadata")
"""Packages that are on the axis of Triton: itself, the torch that pins it, and what only some of its releases need."""
_Sides = dict[tuple[Factor, str, str, tuple[str, ...], str], Side]
_NO_EVIDENCE = frozenset({Status.INFRA, Status.UNAVAILABLE, Status.NO_RESULT})


def sibling_contrasts(plan: Plan, results: Iterable[CellResult], rules: Rules | None = None) -> tuple[Contrast, ...]:
    """The contrasts of GIL, build, Python and Triton that the cells of one matrix make with each other.

    Retries that a cell holds already are its contrast `repeat`.

    Each contrast goes from a cell in which a root was seen to a cell that differs in one factor alone, over the
    tests that ran in both.
    """
    observer = Observer(rules or built_in())
    return contrasts_between(plan, {seen.key.id: seen for seen in map(observer.observe, results)})


def contrasts_between(plan: Plan, cells: Mapping[str, Observed]) -> tuple[Contrast, ...]:
    """As `sibling_contrasts`, from what was observed of each cell."""
    siblings = Siblings(plan, cells)
    roots = dict.fromkeys(root for seen in cells.values() for root in seen.roots)
    found = [contrast for root in roots for contrast in siblings.contrasts(root)]
    return tuple(sorted(found, key=siblings.order))


class Siblings:
    """The cells of one matrix in groups that differ in one factor; contrasts are made for one root at a time."""

    def __init__(self, plan: Plan, cells: Mapping[str, Observed]) -> None:
        self._cells = cells
        self._planned = [cell for cell in plan.cells if cell.key.id in cells and _speaks(cells[cell.key.id])]
        self._groups = list(_groups(plan, self._planned))
        self._index = {cell.key.id: index for index, cell in enumerate(plan.cells)}

    def order(self, contrast: Contrast) -> tuple[int, str, int, str]:
        """Where a contrast stands among others: the plan's order of cells, then root, factor and sibling."""
        return self._index[contrast.cell], contrast.root, list(Factor).index(contrast.factor), contrast.after.source

    def contrasts(self, root: str) -> tuple[Contrast, ...]:
        """All contrasts of one root, in `order`."""
        found = [one for cell in self._planned if (one := _repeat(self._cells[cell.key.id], root)) is not None]
        sides: _Sides = {}
        for factor, group in self._groups:
            for failing in group:
                seen = self._cells[failing.key.id]
                if root not in seen.roots:
                    continue
                for other in group:
                    contrast = _contrast(factor, root, seen, self._cells[other.key.id], sides)
                    if other is not failing and contrast is not None:
                        found.append(contrast)
        return tuple(sorted(found, key=self.order))


def _repeat(seen: Observed, root: str) -> Contrast | None:
    """Attempts that the run itself repeated, such as a retry in a new process."""
    one = seen.roots.get(root)
    if one is None or one.repeats is None:
        return None
    before = Side(value="as it was", count=one.count, source=f"cell {seen.key.id}")
    after = Side(value="again", count=one.repeats, source=f"retries in cell {seen.key.id}")
    return Contrast(cell=seen.key.id, root=root, tests=one.tests, factor=Factor.REPEAT, before=before, after=after)


def _speaks(seen: Observed) -> bool:
    return seen.status not in _NO_EVIDENCE and seen.really_off


def _groups(plan: Plan, cells: list[PlannedCell]) -> Iterator[tuple[Factor, list[PlannedCell]]]:
    """For each factor, the groups of cells that are alike in everything else."""
    pins = {
        environment.id: tuple((pin.name, pin.version) for pin in environment.pins if pin.name not in FOLLOW_TRITON)
        for environment in plan.environments
    }
    for factor in (Factor.GIL, Factor.BUILD, Factor.PYTHON, Factor.TRITON):
        keyed = sorted(
            ((rest, cell) for cell in cells if (rest := _rest(factor, cell, pins[cell.environment])) is not None),
            key=lambda pair: pair[0],
        )
        for _, group in groupby(keyed, key=lambda pair: pair[0]):
            members = [cell for _, cell in group]
            if len(members) > 1:
                yield factor, members


def _rest(factor: Factor, cell: PlannedCell, pins: tuple[tuple[str, str], ...]) -> str | None:
    """Everything about a cell except one factor, or None when the factor says nothing about this cell."""
    key, settings = cell.key, cell.settings
    same: list[object] = [settings.tests, settings.pytest_args, sorted(settings.env.items()), settings.workdir]
    if factor is Factor.GIL:
        return repr([*same, cell.environment])
    try:
        python = PythonBuild.parse(key.python)
    except ValueError:  # a named environment is nobody's sibling
        return None
    rest: list[object] | None = None
    if factor is Factor.BUILD and key.gil is GilMode.ON:
        # A build with the GIL is compared with the free-threaded one that has it on: else two things would differ.
        rest = [python.version, key.triton, key.torch, pins]
    elif factor is Factor.PYTHON:
        rest = [python.free_threaded, key.gil.value, key.triton, key.torch, pins]
    elif factor is Factor.TRITON and key.triton is not None:
        # torch pins its Triton exactly: where it follows, the two, and what torch needs, are one axis.
        rest = [str(python), key.gil.value, *(["torch follows"] if _torch_follows(key) else [key.torch, pins])]
    return None if rest is None else repr([*same, *rest])


def _torch_follows(key: CellKey) -> bool:
    return key.torch is not None and "-torch" not in key.id


def _value(factor: Factor, key: CellKey) -> str:
    if factor is Factor.GIL:
        return key.gil.value
    if factor is Factor.TRITON:
        return f"{key.triton} with torch {key.torch}" if _torch_follows(key) else str(key.triton)
    return key.python


def _contrast(factor: Factor, root: str, seen: Observed, other: Observed, sides: _Sides) -> Contrast | None:
    tests = tuple(test for test in seen.roots[root].tests if test in other.tests)
    if not tests or _value(factor, seen.key) == _value(factor, other.key):
        return None
    return Contrast(
        cell=seen.key.id,
        root=root,
        tests=tests,
        factor=factor,
        before=_side(factor, root, seen, tests, sides, "cell"),
        after=_side(factor, root, other, tests, sides, "sibling cell"),
    )


def _side(factor: Factor, root: str, seen: Observed, tests: tuple[str, ...], sides: _Sides, source: str) -> Side:
    """One side; a cell is a side of many contrasts, and counting it once keeps large matrices quick."""
    key = (factor, root, seen.key.id, tests, source)
    if key not in sides:
        known = {seen.roots[name].key.signature: None for test in tests for name, _ in seen.tests[test].bad}
        sides[key] = Side(
            value=_value(factor, seen.key),
            count=seen.count(root, tests),
            source=f"{source} {seen.key.id}",
            signatures=tuple(sorted(name for name in known if name)),
        )
    return sides[key]
