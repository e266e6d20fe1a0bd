"""`triton-compat doctor`: what this machine has and lacks, and what to do about it."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.environment.doctor import survey


def run(options: argparse.Namespace) -> int:
    """Print one row for each thing that a cell needs; exit 0, for a machine that lacks a thing may not need it."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")  # a path that is cut off cannot be copied
    for check in survey(folder=options.out.parent):
        style = "green" if check.ok else "red" if check.needed else "yellow"
        mark = Text("ok" if check.ok else "lacks", style=style)
        text = Text(check.detail)
        if not check.ok and check.remedy:
            text.append(f"\n{check.remedy}", style="bold")
        table.add_row(mark, Text(check.name), text)
    Console().print(table)
    return 0
