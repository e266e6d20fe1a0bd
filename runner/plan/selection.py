"""Selectors against cells: which cells a rule means, and what to say when it means none."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from runner.model.cell import PythonBuild
from runner.plan.expand import Cell, Expansion
from runner.plan.matrix import AxisSelector
from runner.plan.problems import SHOWN_PROBLEMS, Problem, quoted
from runner.plan.read import Rule
from runner.plan.releases import Releases, TorchChoice, TorchWord

_COMPARED = 2000
"""Ids that are compared for a message."""

_NAMED = 12
"""Values of an axis that a message lists."""


@dataclass(frozen=True)
class Selected:
    """The cells that are planned, and which of them each rule means.

    Attributes:
        cells: by id, in the order of the axes, extras last.
        by_rule: ids by (kind, index) of the rule.
        problems: rules that mean nothing.
    """

    cells: dict[str, Cell]
    by_rule: dict[tuple[str, int], tuple[str, ...]]
    problems: tuple[Problem, ...]


def select(expansion: Expansion, rules: Iterable[Rule], releases: Releases) -> Selected:
    """Apply `exclude`, add the extra cells, then find the cells of every override and expectation."""
    rules = list(rules)
    by_rule: dict[tuple[str, int], tuple[str, ...]] = {}
    problems: list[Problem] = []
    excluded: set[str] = set()

    def explain(rule: Rule, among: Mapping[str, Cell]) -> str:
        return _nothing(rule, among, releases) if len(problems) < SHOWN_PROBLEMS else "selects no cell"

    for rule in (rule for rule in rules if rule.kind == "exclude"):
        ids = tuple(matching(rule.selector, expansion.product.values(), releases))
        by_rule[rule.kind, rule.index] = ids
        excluded.update(ids)
        if not ids:
            problems.append(Problem(rule.place, explain(rule, expansion.product)))
    cells = {key: cell for key, cell in expansion.product.items() if key not in excluded} | expansion.extra
    for rule in (rule for rule in rules if rule.kind != "exclude"):
        ids = tuple(matching(rule.selector, cells.values(), releases))
        by_rule[rule.kind, rule.index] = ids
        if not ids:
            gone = next(iter(matching(rule.selector, expansion.product.values(), releases)), None)
            sentence = f"selects only cells that exclude removes, such as {gone}" if gone else None
            problems.append(Problem(rule.place, sentence or explain(rule, cells)))
    return Selected(cells, by_rule, tuple(problems))


def matching(selector: str | AxisSelector, cells: Iterable[Cell], releases: Releases) -> Iterator[str]:
    """The ids of the cells that a selector means, in their order."""
    if isinstance(selector, str):
        yield from (cell.key.id for cell in cells if fnmatch.fnmatchcase(cell.key.id, selector))
    else:
        tests = list(_tests(selector, releases).values())
        yield from (cell.key.id for cell in cells if all(test(cell) for test in tests))


def _tests(selector: AxisSelector, releases: Releases) -> dict[str, Callable[[Cell], bool]]:
    """For each key of a selector, whether a cell fits it."""
    python, gil, triton, torch = selector.python, selector.gil, selector.triton, selector.torch
    environment = selector.environment
    tests: dict[str, Callable[[Cell], bool]] = {}
    if python is not None:
        tests["python"] = lambda cell: any(_fits(build, cell.build) for build in python)
    if gil is not None:
        tests["gil"] = lambda cell: cell.key.gil in gil
    if triton is not None:
        tests["triton"] = lambda cell: any(releases.means("triton", choice, cell.key.triton) for choice in triton)
    if torch is not None:
        tests["torch"] = lambda cell: any(_torch_fits(choice, cell, releases) for choice in torch)
    if environment is not None:
        tests["environment"] = lambda cell: cell.existing is not None and cell.existing.name in environment
    return tests


def _fits(asked: PythonBuild, build: PythonBuild | None) -> bool:
    if build is None or asked.free_threaded != build.free_threaded:
        return False
    return asked.version == build.version and asked.patch in {None, build.patch}


def _torch_fits(choice: TorchChoice, cell: Cell, releases: Releases) -> bool:
    if choice is TorchWord.NONE:
        return cell.existing is None and not cell.wants_torch
    if choice is TorchWord.MATCHED:
        triton = cell.key.triton
        return cell.wants_torch and triton is not None and releases.torch(choice, triton) == (cell.key.torch,)
    return isinstance(choice, TorchWord) or releases.means("torch", choice, cell.key.torch)


def _nothing(rule: Rule, cells: Mapping[str, Cell], releases: Releases) -> str:
    """Why a rule selects nothing, with the nearest cells."""
    if isinstance(rule.selector, str):
        near = _nearest(rule.selector, cells)
        return f"{quoted(rule.selector)} selects no cell; nearest: {near}"
    tests = _tests(rule.selector, releases)
    for axis, test in tests.items():
        if not any(test(cell) for cell in cells.values()):
            there = list(dict.fromkeys(_axis_value(cell, axis) for cell in cells.values()))
            more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
            return f"no cell has this {axis}; the cells have {', '.join(there[:_NAMED])}{more}"
    best = sorted(cells.values(), key=lambda cell: -sum(test(cell) for test in tests.values()))
    return f"no cell has all of {', '.join(tests)} together; nearest: {', '.join(cell.key.id for cell in best[:2])}"


def _axis_value(cell: Cell, axis: str) -> str:
    if axis == "environment":
        return cell.existing.name if cell.existing else "none"
    return str(getattr(cell.key, axis) or "none")


def _nearest(pattern: str, cells: Mapping[str, Cell]) -> str:
    """The two ids whose beginning (or end, for a glob that fixes the end) is most like the glob."""
    wanted = pattern.strip("*?")
    part = slice(-len(wanted), None) if pattern.startswith("*") and not pattern.endswith("*") else slice(len(wanted))
    matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)

    def likeness(key: str) -> float:
        matcher.set_seq1(key[part])
        return matcher.ratio()

    near = sorted(islice(cells, _COMPARED), key=likeness, reverse=True)
    return ", ".join(near[:2]) or "there are none"
