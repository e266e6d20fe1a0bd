"""`triton-compat doctor`: what this machine has and lacks, and what to do about it."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.environment.doctor import survey


def run(_: argparse.Namespace) -> int:
    """Print one row for each thing that a cell needs; exit 0, for a machine that lacks a thing may not need it."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for check in survey():
        mark = Text("ok", style="green") if check.ok else Text("lacks", style="red")
        text = Text(check.detail)
        if not check.ok and check.remedy:
            text.append(f"\n{check.remedy}", style="bold")
        table.add_row(mark, Text(check.name), text)
    Console().print(table)
    return 0
