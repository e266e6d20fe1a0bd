"""Cells to jobs: what one machine takes together, so that nothing is installed twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runner.errors import MatrixFileError
from runner.model.plan import Job, PlannedCell

MOST_JOBS = 256
"""That one GitHub Actions matrix can hold."""

_Cells = tuple[PlannedCell, ...]


def group(cells: Sequence[PlannedCell], most: int = MOST_JOBS) -> tuple[Job, ...]:
    """One job for each environment with its GIL modes inside, in the order of the cells.

    Cells of one environment that need other runner labels make a job of their own. Where that gives more than
    `most` jobs, neighbours with the same labels go together, as few as it takes.

    Raises:
        MatrixFileError: there are more different sets of runner labels than jobs.
    """
    by_machine: dict[tuple[str, ...], list[_Cells]] = {}
    for labels, shared in _by_environment(cells):
        by_machine.setdefault(labels, []).append(shared)
    if len(by_machine) > most:
        raise MatrixFileError(f"{len(by_machine)} different sets of runner labels need more than {most} jobs.")
    together = 1
    while sum(-(-len(parts) // together) for parts in by_machine.values()) > most:
        together += 1
    jobs = [
        (labels, parts[start : start + together])
        for labels, parts in by_machine.items()
        for start in range(0, len(parts), together)
    ]
    position = {cell.key.id: number for number, cell in enumerate(cells)}
    jobs.sort(key=lambda job: position[job[1][0][0].key.id])
    split = _split_environments(jobs)
    return tuple(_job(labels, parts, split) for labels, parts in jobs)


def _by_environment(cells: Iterable[PlannedCell]) -> Iterable[tuple[tuple[str, ...], _Cells]]:
    shared: dict[tuple[str, tuple[str, ...]], list[PlannedCell]] = {}
    for cell in cells:
        shared.setdefault((cell.environment, cell.settings.runner), []).append(cell)
    return [(labels, tuple(found)) for (_, labels), found in shared.items()]


def _split_environments(jobs: Iterable[tuple[tuple[str, ...], list[_Cells]]]) -> set[str]:
    """Environments whose cells are in more than one job: their name alone would not be unique."""
    seen: set[str] = set()
    split: set[str] = set()
    for _, parts in jobs:
        for environment in (part[0].environment for part in parts):
            (split if environment in seen else seen).add(environment)
    return split


def _job(labels: tuple[str, ...], parts: Sequence[_Cells], split: set[str]) -> Job:
    first = parts[0][0].environment
    name = first
    if first in split:
        name += "-gil-" + "+".join(cell.key.gil.value for cell in parts[0])
    if len(parts) > 1:
        name += f"+{len(parts) - 1}"
    return Job(name=name, cells=tuple(cell.key.id for part in parts for cell in part), runner=labels)
