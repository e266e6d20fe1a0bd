"""The files of an output folder, read as if a stranger had written them: in a fork's artifact one did."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runner.errors import DocumentError
from runner.model.baseline import Baseline
from runner.model.document import Document
from runner.model.plan import Plan, plan_sha
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.verdict import Verdict

D = TypeVar("D", bound=Document)

MOST_BYTES = 64 * 2**20
"""Of one document. The largest cell that was measured, 2,000 tests of which all fail with stacks, has a tenth of it."""
MOST_BYTES_IN_ALL = 512 * 2**20


@dataclass(frozen=True)
class Documents:
    """What is published.

    Attributes:
        plan, verdict: as read.
        results: by cell id, without the tests that passed at once; a cell without a usable result is absent.
        races: the race stages that belong to these results, by cell id.
        baseline: what was looked for to compare with; None when nothing was.
        remarks: one sentence for each result that is there and cannot be used.
    """

    plan: Plan
    verdict: Verdict
    results: dict[str, CellResult]
    races: dict[str, Races]
    baseline: Baseline | None
    remarks: tuple[str, ...]


def read_documents(out: Path) -> Documents:
    """Read plan.json, verdict.json, baseline.json where there is one, and the result of each planned cell.

    Raises:
        DocumentError: plan or verdict are missing or damaged, or everything together is too large.
    """
    plan = read_bounded(Plan, out, "plan.json")
    verdict = read_bounded(Verdict, out, "verdict.json")
    results: dict[str, CellResult] = {}
    races: dict[str, Races] = {}
    baseline, remarks = None, []
    if os.path.lexists(out / "baseline.json"):
        try:
            baseline = read_bounded(Baseline, out, "baseline.json")
        except DocumentError as error:
            remarks.append(f"What the baseline is cannot be read: {error.message}")
    left = MOST_BYTES_IN_ALL
    for cell in plan.cells:
        folder, sha = f"cells/{cell.key.id}", plan_sha(cell, plan.environment(cell.environment))
        try:
            result = _read(CellResult, out, f"{folder}/result.json", left)
        except DocumentError as error:
            remarks.append(f"{cell.key.id} has a result that cannot be read: {error.message}")
            continue
        if result is None:
            continue
        left -= _size(out / folder / "result.json")
        if result.plan_sha != sha:
            remarks.append(f"{cell.key.id} has a result of another plan; it is not shown.")
            continue
        results[cell.key.id] = result.without_passes()
        try:
            raced = _read(Races, out, f"{folder}/races.json", left) if cell.settings.race.rounds else None
        except DocumentError as error:
            remarks.append(f"{cell.key.id} has races that cannot be read: {error.message}")
            continue
        left -= _size(out / folder / "races.json")
        if raced is not None and raced.plan_sha == sha:
            races[cell.key.id] = raced
    return Documents(plan, verdict, results, races, baseline, tuple(remarks))


def _read(kind: type[D], out: Path, name: str, left: int) -> D | None:
    """As `read_bounded`; None when there is no such file."""
    return read_bounded(kind, out, name, min(left, MOST_BYTES)) if os.path.lexists(out / name) else None


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def read_bounded(kind: type[D], out: Path, name: str, limit: int = MOST_BYTES) -> D:
    """Read one document that is a plain file below `out` and has at most `limit` bytes.

    Raises:
        DocumentError: it is not, or does not fit its schema.
    """
    try:
        text = read_file(out, Path(name), limit).decode("utf-8")
        return kind.parse(text, name)
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"{name} could not be read: {error}") from error
    except RecursionError as error:
        raise DocumentError(f"{name} is nested too deeply.") from error


def read_file(out: Path, name: Path, limit: int) -> bytes:
    """A plain file below `out` of at most `limit` bytes.

    No link below `out` is followed: an artifact can hold one that leads to a file of this machine.

    Raises:
        OSError: there is none, or a link is on the way.
        DocumentError: it is no plain file, or too large.
    """
    folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in name.parent.parts:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        file = os.open(name.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise DocumentError(f"{name} is no plain file.")
        found = stream.read(limit + 1)
    if len(found) > limit:
        raise DocumentError(f"{name} has more than {limit:,} bytes.")
    return found
