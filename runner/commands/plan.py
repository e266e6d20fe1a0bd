"""`triton-compat plan MATRIX`: expand, pin every version, decide what is available, write plan.json."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from runner import __version__
from runner.commands.begin import begin_run
from runner.commands.rules import read_rule_file
from runner.environment.probe import build_of
from runner.environment.releases import why_no_such_python
from runner.errors import MatrixFileError
from runner.github.planned import hand_on, read_payload
from runner.model.cell import PythonBuild
from runner.model.document import hide_from_git
from runner.model.plan import Plan, RuleFile
from runner.plan.assemble import make_plan
from runner.plan.catalogue import make_catalogue
from runner.plan.explain import explain
from runner.plan.index import PackageIndex, index_url
from runner.plan.read import MatrixFile, read_matrix
from runner.plan.resolve import make_resolver


def run(options: argparse.Namespace) -> int:
    """Write plan.json; exit 0."""
    matrix = read_matrix(options.matrix)
    index = PackageIndex(index_url(os.environ), offline=options.offline, refresh=options.refresh)
    plan = make_plan(
        matrix,
        catalogue=make_catalogue(index),
        resolver=make_resolver(index, environ=os.environ),
        probe=build_of,
        now=datetime.now(UTC),
        tool=__version__,
    )
    _refuse_slips(matrix, plan)
    plan = plan.model_copy(update={"signatures": tuple(_signatures(matrix))})
    for notice in index.notices:
        print(f"triton-compat: {notice}", file=sys.stderr)
    if options.github:
        hand_on(
            plan,
            os.environ,
            read_payload(os.environ),
            default_runner=options.runner or ["ubuntu-latest"],
            approved=options.fork_approved,
            say=print,
            delimiter=f"triton-compat-{secrets.token_hex(16)}",
        )
    if options.begin:
        print(begin_run(plan, options.out, fresh=options.fresh), file=sys.stderr)
    else:
        hide_from_git(options.out)
        plan.write(options.out / "plan.json")
    if options.explain:
        print(explain(plan))
    elif not options.begin:
        print(_summary(plan, options.out / "plan.json"))
    return 0


def _refuse_slips(matrix: MatrixFile, plan: Plan) -> None:
    """A Python that does not exist would make cells that are `unavailable` for ever, and hide a slip of the pen."""
    named = dict.fromkeys(one.python for one in plan.environments if one.executable is None)
    slips = [slip for python in named if (slip := why_no_such_python(PythonBuild.parse(python)))]
    if slips:
        where = matrix.source("python")
        raise MatrixFileError("\n".join(f"{where}: {slip}" for slip in slips))


def _signatures(matrix: MatrixFile) -> Iterator[RuleFile]:
    """The user's rule files; a mistake in one stops the run before it begins, not after an hour."""
    for name in matrix.matrix.signatures if matrix.matrix else ():
        yield read_rule_file(matrix.root / name, name)


def _summary(plan: Plan, path: Path) -> str:
    missing = [environment for environment in plan.environments if environment.unavailable]
    cells = "1 cell" if len(plan.cells) == 1 else f"{len(plan.cells)} cells"
    environments = "1 environment" if len(plan.environments) == 1 else f"{len(plan.environments)} environments"
    lines = [f"{cells} in {environments}: {path}"]
    lines += [f"  unavailable {environment.id}: {environment.unavailable}" for environment in missing]
    return "\n".join(lines)
