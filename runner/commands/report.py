"""`triton-compat report`: every format from the files of an output folder, and the table on the terminal."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.text import Text

from runner.commands.results import read_audits, read_plan, read_races, read_results, read_verdict
from runner.report.terminal import summary
from runner.report.write import write_all


def run(options: argparse.Namespace) -> int:
    """Write report.md, report.html, matrix.svg and junit.xml, print the summary; exit 0."""
    plan = read_plan(options.out)
    results = read_results(plan, options.out)
    verdict = read_verdict(plan, results, options.out)
    races = read_races(plan, results, options.out)
    write_all(plan, results, verdict, options.out, read_audits(plan, options.out), races)
    console = Console(highlight=False)
    console.print(summary(plan, results, verdict, races))
    console.print(Text(f"More: {options.out}/report.html, report.md, junit.xml", style="dim"))
    return 0
