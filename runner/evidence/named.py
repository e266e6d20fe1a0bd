"""Named environments as they were found: the plan knows their path alone, what ran there knows all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from runner.model.cell import PythonBuild
from runner.model.plan import Pin, Plan, PlannedCell, PlannedEnvironment
from runner.model.result import CellResult


@dataclass(frozen=True, slots=True)
class Installed:
    """What one environment holds, as the process that ran the tests saw it.

    Attributes:
        python: such as `3.13t`.
        triton, torch: versions, or None.
        packages: name and version of every distribution, sorted.
    """

    python: str
    triton: str | None
    torch: str | None
    packages: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, result: CellResult) -> Self | None:
        """From a cell's result; None when no process reported."""
        seen = result.environment
        if seen is None or result.gil.free_threaded_build is None:
            return None
        build = PythonBuild.parse(".".join(seen.python.split(".")[:2]) + "t" * result.gil.free_threaded_build)
        return cls(str(build), seen.triton, seen.torch, tuple(sorted(seen.packages.items())))


def as_found(plan: Plan, installed: Mapping[str, Installed | None]) -> Plan:
    """The plan in which named environments hold what was found in them, so that they make contrasts like all others.

    Args:
        plan: as planned.
        installed: what was found, by the id of the cell; cells that never ran are not in it, or None.

    Returns:
        The same plan where no environment is named. Ids stay; an environment in which nothing ran stays unknown.
    """
    named = {one.id for one in plan.environments if one.executable is not None}
    if not named:
        return plan
    known: dict[str, Installed] = {}
    for cell in plan.cells:
        found = installed.get(cell.key.id)
        if cell.environment in named and found is not None:
            known.setdefault(cell.environment, found)
    return plan.model_copy(
        update={
            "environments": tuple(_environment(one, known.get(one.id)) for one in plan.environments),
            "cells": tuple(_cell(one, known.get(one.environment)) for one in plan.cells),
        }
    )


def _environment(environment: PlannedEnvironment, found: Installed | None) -> PlannedEnvironment:
    if found is None:
        return environment
    pins = tuple(Pin(name=name, version=version, filename="") for name, version in found.packages)
    return environment.model_copy(
        update={"python": found.python, "triton": found.triton, "torch": found.torch, "pins": pins}
    )


def _cell(cell: PlannedCell, found: Installed | None) -> PlannedCell:
    if found is None:
        return cell
    key = cell.key.model_copy(update={"python": found.python, "triton": found.triton, "torch": found.torch})
    return cell.model_copy(update={"key": key})
