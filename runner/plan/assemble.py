"""A matrix file to a plan: versions resolved, environments pinned, settings merged, cells grouped into jobs."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.errors import IndexUnreachableError, MatrixFileError, ResolutionError
from runner.model.plan import Expectation, Plan, PlannedCell, PlannedEnvironment
from runner.plan.expand import Cell, Expansion, Probe, expand
from runner.plan.jobs import group
from runner.plan.matrix import Matrix
from runner.plan.ports import Catalogue, EnvironmentRequest, Resolution, Resolver
from runner.plan.problems import Problem, listing
from runner.plan.read import MatrixFile
from runner.plan.releases import Releases
from runner.plan.selection import Selected, select
from runner.plan.settings import SettingsOf


def make_plan(
    file: MatrixFile,
    *,
    catalogue: Catalogue,
    resolver: Resolver,
    probe: Probe,
    now: dt.datetime,
    tool: str,
) -> Plan:
    """Make the plan of a matrix file.

    Args:
        file: as read, with what was wrong with it.
        catalogue: says which releases exist.
        resolver: says what an environment comes to; asked once, for all environments.
        probe: says what an existing Python is.
        now: when the plan is made, with its offset.
        tool: version of triton-compat.

    Raises:
        MatrixFileError: the file has mistakes; the message lists all, those that need the index included.
        ResolutionError: the file is well formed, but versions that it names do not exist.
        IndexUnreachableError: the index was needed and did not answer.
    """
    layout = _lay_out(file, catalogue, probe)
    cells = [
        PlannedCell(
            key=cell.key, environment=cell.environment, settings=layout.settings.merged(layout.overrides[cell.key.id])
        )
        for cell in layout.selected.cells.values()
    ]
    return Plan(
        matrix=layout.matrix.name or _name_of(file.file),
        matrix_file=file.file,
        matrix_sha256=file.sha256,
        root=str(file.root),
        root_source=file.root_source if file.root_source.startswith("default") else file.source("project", "root"),
        created=now.astimezone(dt.UTC).isoformat(timespec="seconds"),
        tool=tool,
        gil_modes=layout.matrix.gil,
        environments=_environments(file, layout, resolver),
        cells=tuple(cells),
        jobs=group(cells),
        expectations=_expectations(file, layout),
    )


@dataclass(frozen=True)
class _Layout:
    """The cells of a file without mistakes, and which overrides each has."""

    matrix: Matrix
    selected: Selected
    settings: SettingsOf
    overrides: dict[str, tuple[int, ...]]


def _lay_out(file: MatrixFile, catalogue: Catalogue, probe: Probe) -> _Layout:
    releases = Releases(catalogue)
    problems = list(file.problems)
    expansion, selected = Expansion(), Selected({}, {}, ())
    if file.coordinates is not None:
        try:
            expansion = expand(file.coordinates, file.tree, releases, file.root, probe)
            if not expansion.problems and not expansion.missing:
                selected = select(expansion, file.rules, releases)
        except IndexUnreachableError:
            if not problems:  # else the file's own mistakes are what the user can act on
                raise
    problems += [*expansion.problems, *selected.problems]
    matrix = file.matrix
    if matrix is None or problems:
        raise MatrixFileError(listing([*problems, *expansion.missing], file.file))
    if expansion.missing:
        raise ResolutionError(listing(expansion.missing, file.file))
    if not selected.cells:
        raise MatrixFileError(listing([Problem(file.place("exclude"), "exclude leaves no cell")], file.file))
    overrides = _overrides(selected)
    settings = SettingsOf(file, matrix)
    contradictions = [found for numbers in set(overrides.values()) if (found := settings.problem(numbers)) is not None]
    if contradictions:
        raise MatrixFileError(listing(contradictions, file.file))
    return _Layout(matrix, selected, settings, overrides)


def _overrides(selected: Selected) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {key: [] for key in selected.cells}
    for (kind, index), ids in selected.by_rule.items():
        if kind == "overrides":
            for key in ids:
                found[key].append(index)
    return {key: tuple(numbers) for key, numbers in found.items()}


def _environments(file: MatrixFile, layout: _Layout, resolver: Resolver) -> tuple[PlannedEnvironment, ...]:
    """Every environment once, in the order of its first cell; one batch for the resolver."""
    by_id: dict[str, Cell] = {}
    for cell in layout.selected.cells.values():
        by_id.setdefault(cell.environment, cell)
    requests = {key: _request(cell, file, layout.matrix) for key, cell in by_id.items() if _is_installed(cell)}
    resolutions = dict(zip(requests, resolver.resolve(list(requests.values())), strict=True))
    return tuple(_planned(cell, layout.matrix, file, resolutions.get(key)) for key, cell in by_id.items())


def _is_installed(cell: Cell) -> bool:
    return cell.existing is None and not _lacks_torch(cell)


def _lacks_torch(cell: Cell) -> bool:
    return cell.wants_torch and cell.key.torch is None


def _request(cell: Cell, file: MatrixFile, matrix: Matrix) -> EnvironmentRequest:
    installed = matrix.project.install or ()
    if cell.build is None or cell.key.triton is None:
        raise AssertionError(f"{cell.key.id} is not an environment to install")
    return EnvironmentRequest(
        python=cell.build,
        triton=cell.key.triton,
        torch=cell.key.torch,
        requirements=(*matrix.project.base, *(item.requirement for item in installed if item.requirement)),
        local=tuple(file.root / item.folder for item in installed if item.folder),
        extras=tuple(item.extras for item in installed if item.folder),
    )


def _planned(cell: Cell, matrix: Matrix, file: MatrixFile, resolution: Resolution | None) -> PlannedEnvironment:
    folders = [item for item in matrix.project.install or () if item.folder and cell.existing is None]
    unavailable = resolution.unavailable if resolution is not None else None
    if _lacks_torch(cell):
        unavailable = f"no torch release pins Triton {cell.key.triton}, so 'matched' has nothing to install"
    return _with_fingerprint(
        PlannedEnvironment(
            id=cell.environment,
            python=cell.key.python,
            triton=cell.key.triton,
            torch=cell.key.torch,
            executable=str(file.root / cell.existing.python) if cell.existing else None,
            pins=resolution.pins if resolution is not None else (),
            local=tuple(str(PurePosixPath(item.folder or "")) for item in folders),
            extras=tuple(item.extras for item in folders),
            fingerprint="",
            unavailable=unavailable,
        )
    )


def _with_fingerprint(environment: PlannedEnvironment) -> PlannedEnvironment:
    """The environment with the hash of everything that decides what is in it.

    The id is left out: two matrices that come to the same packages share one environment.
    """
    facts = {
        "python": environment.python,
        "triton": environment.triton,
        "torch": environment.torch,
        "executable": environment.executable,
        "pins": [[pin.name, pin.version, pin.sha256] for pin in environment.pins],
        "local": [list(pair) for pair in zip(environment.local, environment.extras, strict=True)],
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return environment.model_copy(update={"fingerprint": hashlib.sha256(text.encode()).hexdigest()})


def _expectations(file: MatrixFile, layout: _Layout) -> tuple[Expectation, ...]:
    return tuple(
        Expectation(
            cells=layout.selected.by_rule["expect", index],
            tests=expected.tests or (),
            reason=expected.reason,
            owner=expected.owner,
            link=expected.link,
            expires=expected.expires.isoformat(),
            source=file.source("expect", index),
        )
        for index, expected in enumerate(layout.matrix.expect)
    )


def _name_of(file: str) -> str:
    """The file's stem as a name that can be a part of file names."""
    stem = PurePosixPath(file).stem
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._+-") else "-" for c in stem).lstrip("._+-")
    return kept[:200] or "matrix"
