"""Where a run begins and what it keeps: results of the same plan that was interrupted, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

from runner.errors import DocumentError
from runner.model.document import hide_from_git
from runner.model.plan import Plan

_FILES = (
    "verdict.json",
    "plan.json",
    "cells",
    "experiments",
    "audits",
    "report.md",
    "report.html",
    "matrix.svg",
    "junit.xml",
)
"""What a run leaves. The verdict goes first: without it, a move that was interrupted is an interrupted run."""


def begin_run(plan: Plan, out: Path, *, fresh: bool) -> str:
    """Make the output folder ready for a run of this plan and write plan.json.

    A run is over once verdict.json is there: the next one starts anew and the old one is kept beside it, in
    `previous/`. A run without a verdict was interrupted: when its plan is the same in everything but the time at
    which it was made, finished cells and finished tests are kept.

    Args:
        plan: the new plan.
        out: the output folder.
        fresh: keep nothing of an interrupted run.

    Returns:
        One sentence that says what was kept.
    """
    hide_from_git(out)
    kept = _interrupted_plan(out)
    if kept is not None and not fresh and _same(kept, plan):
        plan.write(out / "plan.json")
        done = len(list((out / "cells").glob("*/result.json")))
        return f"Going on with an interrupted run: {done} of {len(plan.cells)} cells are finished."
    _set_aside(out)
    plan.write(out / "plan.json")
    return f"{len(plan.cells)} {'cell' if len(plan.cells) == 1 else 'cells'} planned."


def _interrupted_plan(out: Path) -> Plan | None:
    if (out / "verdict.json").exists() or not (out / "cells").exists():
        return None
    try:
        return Plan.read(out / "plan.json")
    except DocumentError:
        return None


def _same(one: Plan, other: Plan) -> bool:
    volatile = {"created", "tool"}
    return one.model_dump(exclude=volatile) == other.model_dump(exclude=volatile)


def _set_aside(out: Path) -> None:
    """Move a finished run into `previous/`; what an interrupted run with another plan left is of no use to anybody."""
    present = [out / name for name in _FILES if (out / name).exists()]
    if not (out / "verdict.json").exists():
        for path in present:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return
    previous = out / "previous"
    shutil.rmtree(previous, ignore_errors=True)
    previous.mkdir(parents=True)
    for path in present:
        path.rename(previous / path.name)
