"""`triton-compat repro FINDING`: a script that shows a finding again, and a report where it is Triton's."""

from __future__ import annotations

import argparse
import shutil

from runner.commands.results import Results, contrasts_file, read_plan
from runner.errors import DocumentError, UsageError
from runner.experiment.bench import CONTROL
from runner.model.contrast import Contrasts
from runner.model.document import write_whole
from runner.model.verdict import Finding, Verdict
from runner.report.compiler_files import FOLDER
from runner.report.repro import Case, file_name, headline, script
from runner.report.upstream import upstream_report

_CONTROL_FILES = ("conftest.py", "control_kernels.py", "libcuda.c", "pytest.ini", "test_control.py")


def run(options: argparse.Namespace) -> int:
    """Write `repro/FINDING/reproduce.sh`, and for Triton's own findings `report.md` beside it; exit 0."""
    verdict = Verdict.read(options.out / "verdict.json")
    finding = _chosen(verdict.findings, options.finding)
    case = _case(options, finding)
    folder = options.out / "repro" / file_name(finding)
    text = script(case)
    write_whole(folder / "reproduce.sh", text)
    (folder / "reproduce.sh").chmod(0o755)
    print(text, end="")
    print(f"# This script: {folder / 'reproduce.sh'}")
    if case.dump is not None:
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        shutil.copytree(
            contrasts_file(options.out, case.cell.key.id).parent / "dumps" / case.dump.root, folder / FOLDER
        )
        print(f"# What the compiler worked on: {folder / FOLDER}")
    if case.is_upstream:
        write_whole(folder / "report.md", upstream_report(case))
        if case.shown_by:
            (folder / "control").mkdir(exist_ok=True)
            for name in _CONTROL_FILES:
                shutil.copyfile(CONTROL / name, folder / "control" / name)
        print(f"# A report that is ready to file: {folder / 'report.md'}")
    return 0


def _chosen(findings: tuple[Finding, ...], wanted: str) -> Finding:
    """The finding of that id, or the only one whose id begins so."""
    exact = [finding for finding in findings if finding.id == wanted]
    near = exact or [finding for finding in findings if finding.id.startswith(wanted)]
    if len(near) == 1:
        return near[0]
    known = "\n".join(f"  {headline(finding)}" for finding in findings) or "  (none)"
    what = "Several findings begin so" if near else "There is no such finding"
    raise UsageError(f"{what}: {wanted!r}. The findings are\n{known}", remedy="Name one of them, or its beginning.")


def _case(options: argparse.Namespace, finding: Finding) -> Case:
    plan = read_plan(options.out)
    results = Results(plan, options.out)
    there = [name for name in finding.cells if name in results]
    if options.cell is not None and options.cell not in there:
        raise UsageError(f"{finding.id} was not seen in {options.cell}.", remedy=f"It was seen in {', '.join(there)}.")
    if not there:
        raise DocumentError(f"No result of {', '.join(finding.cells)} is here.")
    cell = plan.cell(options.cell or _looked_into(options, finding, there) or there[0])
    if cell is None:
        raise DocumentError(f"{there[0]} is not in the plan.")
    try:
        contrasts = Contrasts.read(contrasts_file(options.out, cell.key.id))
    except DocumentError:
        contrasts = None
    return Case(finding, plan, cell, plan.environment(cell.environment), results[cell.key.id], contrasts)


def _looked_into(options: argparse.Namespace, finding: Finding, cells: list[str]) -> str | None:
    """The first cell in which an experiment looked into this finding."""
    for name in cells:
        try:
            found = Contrasts.read(contrasts_file(options.out, name))
        except DocumentError:
            continue
        if any(one.root == finding.root for one in found.contrasts):
            return name
    return None
