"""`triton-compat report`: every format from the files of an output folder, and the table on the terminal."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.text import Text

from runner.commands.results import Counts, Results, read_audits, read_plan, read_races, read_verdict
from runner.model.race import Races
from runner.model.result import CellResult
from runner.report.terminal import summary
from runner.report.write import write_junit, write_pages
from runner.verdict.cell_status import weigh


def run(options: argparse.Namespace) -> int:
    """Write report.md, report.html, matrix.svg and junit.xml, print the summary; exit 0."""
    plan = read_plan(options.out)
    results = Results(plan, options.out)
    counts: dict[str, Counts] = {}
    races: dict[str, Races] = {}
    shown: dict[str, CellResult] = {}
    for cell in plan.cells:  # one result at a time: together they may not fit in memory
        result = results.get(cell.key.id)
        counts[cell.key.id] = weigh(cell.key, result).counts
        if result is not None:
            shown[cell.key.id] = result.without_passes()
        if (raced := read_races(result, options.out)) is not None:
            races[cell.key.id] = raced
    verdict = read_verdict(counts, options.out)
    write_pages(plan, shown, verdict, options.out, read_audits(plan, options.out), races)
    write_junit(plan, results, options.out, races)
    console = Console(highlight=False)
    console.print(summary(plan, shown, verdict, races))
    console.print(Text(f"More: {options.out}/report.html, report.md, junit.xml", style="dim"))
    return 0
