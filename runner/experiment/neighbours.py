"""Environments that the plan does not have: the same project and Python with other releases of Triton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from packaging.version import Version

from runner.errors import MatrixFileError, UsageError
from runner.model.cell import CellKey
from runner.model.plan import Plan, PlannedEnvironment
from runner.model.words import GilMode
from runner.plan.assemble import make_plan
from runner.plan.expand import Probe
from runner.plan.matrix import Coordinates
from runner.plan.ports import Catalogue, Resolver
from runner.plan.read import MatrixFile, read_matrix
from runner.plan.releases import TorchWord


@dataclass(frozen=True)
class Index:
    """What planning further environments needs.

    Attributes:
        catalogue, resolver, probe: see `make_plan`.
        now: when that is.
        tool: version of triton-compat.
    """

    catalogue: Catalogue
    resolver: Resolver
    probe: Probe
    now: datetime
    tool: str


def same_matrix(plan: Plan, path: Path | None = None) -> MatrixFile:
    """The matrix file of a plan, as it was when the plan was made.

    Raises:
        UsageError: it is not there any more, or says something else now.
    """
    remedy = "Run the command where the matrix was run, or plan again."
    try:
        file = read_matrix(path or Path(plan.matrix_file))
    except MatrixFileError as error:
        raise UsageError(f"The plan's matrix file cannot be read: {error.message}", remedy=remedy) from error
    if file.sha256 != plan.matrix_sha256:
        raise UsageError(f"{file.file} was changed after the plan was made.", remedy=remedy)
    return replace(file, root=Path(plan.root))


def with_tritons(
    file: MatrixFile, key: CellKey, tritons: Sequence[str], index: Index
) -> tuple[PlannedEnvironment, ...]:
    """The environments of a cell's Python with these releases of Triton, those without a wheel among them.

    Args:
        file: the matrix file.
        key: the cell; its Python, and whether it has a torch, stay.
        tritons: exact releases.
        index: see `Index`.

    Raises:
        TritonCompatError: the index does not answer, or a release does not exist.
    """
    if file.matrix is None or not tritons:
        return ()
    axes = {
        "python": [key.python],
        "gil": [GilMode.ON.value],
        "triton": list(tritons),
        "torch": [(TorchWord.NONE if key.torch is None else TorchWord.MATCHED).value],
    }
    coordinates = Coordinates.model_validate(axes)
    alone = {"exclude": (), "include": (), "environment": (), "overrides": (), "expect": (), "gil": (GilMode.ON,)}
    file = replace(file, coordinates=coordinates, matrix=file.matrix.model_copy(update=alone), rules=())
    made = make_plan(
        file, catalogue=index.catalogue, resolver=index.resolver, probe=index.probe, now=index.now, tool=index.tool
    )
    return made.environments


def nearest(plan: Plan, key: CellKey, file: MatrixFile, index: Index) -> tuple[PlannedEnvironment, ...]:
    """The nearest older and the nearest newer Triton that have a wheel for this Python; empty where none has."""
    if key.triton is None:
        return ()
    mine = Version(key.triton)
    releases = [release for release in index.catalogue.triton_releases() if Version(release) != mine]
    found = []
    for side in (
        [release for release in reversed(releases) if Version(release) < mine],
        [release for release in releases if Version(release) > mine],
    ):
        # A few at most: wheels for one Python do not stop and begin again.
        environments = with_tritons(file, key, side[:3], index)
        by_triton = {one.triton: one for one in environments if one.unavailable is None}
        found += [by_triton[release] for release in side[:3] if release in by_triton][:1]
    planned = {one.id for one in plan.environments}
    return tuple(one for one in found if one.id not in planned)


def has_neighbour(plan: Plan, key: CellKey) -> bool:
    """Whether the plan itself has another Triton for this Python."""
    return any(
        one.python == key.python and one.triton not in {None, key.triton} and one.unavailable is None
        for one in plan.environments
    )
