"""`triton-compat baseline`: an earlier result to compare with, found among the artifacts of the base branch."""

from __future__ import annotations

import argparse
import os
import shutil
import time
from pathlib import Path

from runner.commands.publish import connect
from runner.commands.results import read_plan
from runner.errors import UsageError
from runner.github.baseline import copy_baseline, fetch_baseline
from runner.github.commands import warning
from runner.github.event import read_context
from runner.github.planned import read_payload
from runner.model.baseline import Baseline
from runner.report.escape import line

AUTO, NONE = "auto", "none"


def run(options: argparse.Namespace) -> int:
    """Write baseline.json, and the results into a folder that judge can compare with; exit 0 with or without one."""
    document, into = options.out / "baseline.json", options.into
    if options.wanted not in {AUTO, NONE} and Path(options.wanted).resolve() == into.resolve():
        raise UsageError(f"{into} is where the baseline is put.", remedy="Name another folder with --into.")
    shutil.rmtree(into, ignore_errors=True)
    document.unlink(missing_ok=True)
    found = _find(options)
    if found is None:
        print("Baseline: none.")
        return 0
    found.write(document)
    for remark in found.remarks:
        print(warning(line(remark, 500)))
    origin = found.origin
    said = f"{origin.commit or 'folder'} {origin.place}, made {origin.made.isoformat()}" if origin else "none"
    print(line(f"Baseline: {said}.", 500))
    return 0


def _find(options: argparse.Namespace) -> Baseline | None:
    """What is wanted; None where nothing is looked for."""
    if options.wanted == NONE:
        return None
    plan = read_plan(options.out)
    if options.wanted != AUTO:
        return copy_baseline(Path(options.wanted), plan, options.into)
    context = read_context(os.environ, read_payload(os.environ))
    if context.base_branch is None:
        return None
    return fetch_baseline(connect, context, plan, options.into, clock=time.monotonic)
