"""The baseline of a pull request: found among the artifacts of its base branch, downloaded, looked through.

That there is none is never an error: it costs the comparison, and a sentence says why.
"""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.errors import DocumentError, GitHubError
from runner.github.api import PAGE, GitHub
from runner.github.archive import unpack
from runner.github.candidates import Candidate, candidates, may_be_baseline, report_name
from runner.github.commands import slug
from runner.github.documents import MOST_BYTES, read_bounded, read_file
from runner.github.download import download
from runner.github.event import Context
from runner.model.baseline import Baseline, Origin
from runner.model.plan import Plan, plan_sha
from runner.model.result import CellResult

_READ = "actions: read"
_MOST_LISTED = 1000
_MOST_RUNS = 10
_MOST_TRIED = 3
_MOST_ARCHIVE = 256 * 2**20
_ATTEMPTS = (1, 2)
"""The first attempt of a run leaves its artifact unless it is cancelled; the newest one is asked for by name."""
_WANTED = re.compile(r"plan\.json|cells/[^/]+/result\.json")
_FORBIDDEN = 403
_NOT_FOUND = 404
_GONE = 410
_ITS_OWN = frozenset({_NOT_FOUND, _GONE})
"""Answers that say something of this artifact; any other would be given for the next one as well."""


def fetch_baseline(
    connect: Callable[[Context], GitHub], context: Context, plan: Plan, into: Path, *, clock: Callable[[], float]
) -> Baseline:
    """Look for the newest result of the same matrix on the base branch, the base commit's own before any other.

    Args:
        connect: a client for the repository of a context; GitHubError when there is no token.
        context: of a pull request or a merge group.
        plan: whose matrix it is.
        into: a folder that gets plan.json and cells/<id>/result.json; it stays empty where there is no baseline.
        clock: seconds that only grow.
    """
    branch = context.base_branch or ""
    try:
        github = connect(context)
        found = _taken(github, _runs(github, context, plan), plan, into, branch, clock)
    except GitHubError as error:
        return _none(f"the results of the branch {branch} could not be had: {_why(error)}")
    nothing = f"no run of the branch {branch} has left a result of this matrix that is still kept"
    return found or _none(f"{nothing}; a run for a push to it makes one")


def copy_baseline(folder: Path, plan: Plan, into: Path) -> Baseline:
    """The same from a folder of the machine, such as one that an earlier step restored.

    Args:
        folder: an output folder.
        plan: whose matrix it is.
        into: as for `fetch_baseline`.
    """
    try:
        older = read_bounded(Plan, folder, "plan.json")
        into.mkdir(parents=True, exist_ok=True)
        for name in ("plan.json", *(f"cells/{cell.key.id}/result.json" for cell in older.cells)):
            if (folder / name).is_file():
                (into / name).parent.mkdir(parents=True, exist_ok=True)
                (into / name).write_bytes(read_file(folder, Path(name), MOST_BYTES))
        remarks = _look_through(into, plan)
        made = datetime.fromisoformat(older.created)
        return Baseline(origin=Origin(place=str(folder), made=made.astimezone(UTC)), remarks=remarks)
    except (DocumentError, OSError, ValueError) as error:
        shutil.rmtree(into, ignore_errors=True)
        return _none(f"the folder {folder} cannot be used: {getattr(error, 'message', error)}")


def _runs(github: GitHub, context: Context, plan: Plan) -> Iterator[Candidate]:
    """What the runs of the base branch left, the best first; of each run its newest attempt."""
    branch, matrix = context.base_branch or "", slug(plan.matrix) or "matrix"
    for attempt in _ATTEMPTS:
        name = report_name(matrix, attempt)
        listed = github.pages("/actions/artifacts", needs=_READ, params={"name": name}, under="artifacts")
        found = candidates(_enough(listed, name, branch, context.base), name, branch, context.base)
        runs = ((one, github.get(f"/actions/runs/{one.run}", needs=_READ)) for one in found[:_MOST_RUNS])
        ours = ((one, run) for one, run in runs if may_be_baseline(run, one, context.repository, branch))
        first = next(ours, None)
        if first is None:
            continue
        for one, run in itertools.chain([first], ours):
            newest = report_name(matrix, int(run.get("run_attempt") or 1))
            path = f"/actions/runs/{one.run}/artifacts"
            again = github.pages(path, needs=_READ, params={"name": newest}, under="artifacts")
            yield next(iter(candidates(again if newest != name else (), newest, branch, context.base)), one)
        return


def _enough(listed: Iterator[Any], name: str, branch: str, base: str | None) -> Iterator[Any]:
    """Whole pages until one has a result of the base commit, which none further on would beat; ten at the most."""
    has_base = False
    for number, item in enumerate(itertools.islice(listed, _MOST_LISTED), 1):
        yield item
        has_base |= any(one.commit == base for one in candidates([item], name, branch, base))
        if has_base and number % PAGE == 0:
            return


def _taken(
    github: GitHub, found: Iterator[Candidate], plan: Plan, into: Path, branch: str, clock: Callable[[], float]
) -> Baseline | None:
    """The first candidate that can be used; where the first few cannot, why. None where there are no candidates."""
    remarks: list[str] = []
    for one in itertools.islice(found, _MOST_TRIED):
        try:
            _unpacked(github, one, into, clock)
            damaged = _look_through(into, plan)
        except (DocumentError, GitHubError, OSError) as error:
            shutil.rmtree(into, ignore_errors=True)
            if isinstance(error, GitHubError) and error.status not in _ITS_OWN:
                raise
            remarks.append(f"The result of run {one.run} of the branch {branch} cannot be used: {_why(error)}.")
            continue
        origin = Origin(place=branch, commit=one.commit, run=one.run, made=one.made)
        return Baseline(origin=origin, remarks=(*remarks, *damaged))
    return Baseline(remarks=tuple(remarks)) if remarks else None


def _unpacked(github: GitHub, one: Candidate, into: Path, clock: Callable[[], float]) -> None:
    if one.size > _MOST_ARCHIVE:
        raise DocumentError(f"it has {one.size:,} bytes, and more than {_MOST_ARCHIVE:,} are not downloaded")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=into.parent) as archive:
        path = f"/actions/artifacts/{one.artifact}/zip"
        download(github, path, archive, needs=_READ, limit=_MOST_ARCHIVE, clock=clock)
        unpack(archive, into, lambda name: _WANTED.fullmatch(name) is not None)


def _look_through(folder: Path, plan: Plan) -> tuple[str, ...]:
    """Remarks on results that cannot be used; DocumentError where none can, or it is another matrix."""
    older = read_bounded(Plan, folder, "plan.json")
    if (older.matrix, older.matrix_file) != (plan.matrix, plan.matrix_file):
        raise DocumentError(f"it is of the matrix file {older.matrix_file}")
    usable, damaged = 0, []
    for cell in older.cells:
        name = f"cells/{cell.key.id}/result.json"
        if not (folder / name).is_file():
            continue
        try:
            sha = read_bounded(CellResult, folder, name).plan_sha
        except DocumentError as error:
            damaged.append(error.message)
            continue
        if sha == plan_sha(cell, older.environment(cell.environment)):
            usable += 1
        else:
            damaged.append(f"{name} belongs to another plan")
    if not usable:
        raise DocumentError(damaged[0] if damaged else "it holds no result of any cell")
    if not damaged:
        return ()
    count = len(damaged)
    return (f"{count} result{'' if count == 1 else 's'} of the baseline cannot be used: {damaged[0]}",)


def _none(why: str) -> Baseline:
    return Baseline(remarks=(f"There is no baseline: {why}.",))


def _why(error: DocumentError | GitHubError | OSError) -> str:
    """The reason in a clause."""
    if isinstance(error, OSError):
        return f"it could not be unpacked, {error.strerror}"
    status = error.status if isinstance(error, GitHubError) else None
    if status == _FORBIDDEN:
        return "the token may not read them, the job needs the permission actions: read"
    if status in _ITS_OWN:
        return "it has expired or was deleted"
    return error.message.rstrip(".")
