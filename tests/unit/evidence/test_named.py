"""Environments that the plan knows by their path alone."""

from __future__ import annotations

from runner.evidence.named import Installed, as_found
from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.evidence.siblings import Siblings
from runner.model.cell import CellKey
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import CellResult, GilState, ObservedEnvironment
from runner.model.words import Factor, GilMode
from tests.unit.verdict.building import GOOD, plan, result
from tests.unit.verdict.examples import WRONG

SAME = {"pytest": "9.2.0", "numpy": "2.3.0"}


def planned(*names: str) -> Plan:
    """A plan of named environments, each with the GIL on and off."""
    environments = tuple(
        PlannedEnvironment(
            id=name, python="?", triton=None, torch=None, executable=f"/e/{name}/python", fingerprint=name
        )
        for name in names
    )
    cells = tuple(
        PlannedCell(
            key=CellKey(id=f"{name}-gil-{gil.value}", python="?", gil=gil, triton=None, torch=None),
            environment=name,
            settings=Settings(),
        )
        for name in names
        for gil in (GilMode.ON, GilMode.OFF)
    )
    return plan(("3.12",), ("3.7.0",)).model_copy(update={"environments": environments, "cells": cells})


def ran(
    matrix: Plan, cell: PlannedCell, python: str, triton: str, packages: dict[str, str], *, bad: bool
) -> CellResult:
    """What a cell of a named environment found in it."""
    free_threaded = python.endswith("t")
    seen = ObservedEnvironment(
        python=python.rstrip("t"),
        build=python,
        soabi=None,
        executable="/e/python",
        triton=triton,
        torch="2.11.0",
        packages={**packages, "triton": triton, "torch": "2.11.0"},
    )
    state = GilState(
        requested=cell.key.gil, free_threaded_build=free_threaded, enabled_at_end=cell.key.gil is GilMode.ON
    )
    outcome = {"t::a": WRONG if bad else GOOD}
    return result(matrix, cell.key.id, outcome).model_copy(update={"environment": seen, "gil": state})


def factors(matrix: Plan, results: list[CellResult]) -> set[tuple[Factor, str, str]]:
    """The comparisons of every root: factor and both values."""
    observer = Observer(built_in())
    cells = {one.cell.id: observer.observe(one) for one in results}
    siblings = Siblings(as_found(matrix, {name: seen.installed for name, seen in cells.items()}), cells)
    roots = {root for seen in cells.values() for root in seen.roots}
    return {
        (one.factor, one.before[0].value, one.after[0].value) for root in roots for one in siblings.comparisons(root)
    }


def test_named_environments_that_differ_in_triton_alone_are_contrasts() -> None:
    matrix = planned("old", "new")
    versions = {"old": "3.3.1", "new": "3.7.0"}
    results = [
        ran(matrix, cell, "3.13.5t", versions[cell.environment], SAME, bad=cell.environment == "new")
        for cell in matrix.cells
    ]
    assert (Factor.TRITON, "3.7.0", "3.3.1") in factors(matrix, results)


def test_two_named_builds_of_one_python_are_contrasts_with_the_gil_on() -> None:
    matrix = planned("plain", "threaded")
    builds = {"plain": "3.13.5", "threaded": "3.13.5t"}
    cells = [cell for cell in matrix.cells if cell.key.id != "plain-gil-off"]
    results = [
        ran(matrix, cell, builds[cell.environment], "3.7.0", SAME, bad=cell.environment == "threaded") for cell in cells
    ]
    found = factors(matrix.model_copy(update={"cells": tuple(cells)}), results)
    assert (Factor.BUILD, "3.13t", "3.13") in found


def test_another_package_is_a_second_difference() -> None:
    matrix = planned("old", "new")
    versions = {"old": "3.3.1", "new": "3.7.0"}
    results = [
        ran(
            matrix,
            cell,
            "3.13.5t",
            versions[cell.environment],
            {**SAME, "numpy": versions[cell.environment]},
            bad=cell.environment == "new",
        )
        for cell in matrix.cells
    ]
    assert {factor for factor, _, _ in factors(matrix, results)} == {Factor.GIL}


def test_what_never_ran_stays_unknown_and_a_plan_without_names_stays_as_it_is() -> None:
    matrix = planned("old")
    assert as_found(matrix, {"old-gil-on": None}) == matrix
    usual = plan(("3.12",), ("3.7.0",))
    assert as_found(usual, {}) is usual


def test_what_is_installed_is_read_from_the_result() -> None:
    matrix = planned("old")
    cell = matrix.cells[0]
    found = Installed.of(ran(matrix, cell, "3.13.5t", "3.7.0", SAME, bad=False))
    assert found is not None
    assert (found.python, found.triton, found.torch) == ("3.13t", "3.7.0", "2.11.0")
    assert ("numpy", "2.3.0") in found.packages
    assert Installed.of(result(matrix, cell.key.id, {"t::a": GOOD}).model_copy(update={"environment": None})) is None
