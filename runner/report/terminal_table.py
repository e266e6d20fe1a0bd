"""The table by axis on a terminal, as wide as that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from runner.report import board, phrases
from runner.report.escape import line
from runner.report.grid import Grid, Line


@dataclass(frozen=True, slots=True)
class Tables:
    """The table by axis. What is too wide has its cells on two lines, then its columns in several tables."""

    grid: Grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = [f"Triton {line(column)}" for column in self.grid.columns]
        texts = [[_slot(slot, ascii_only=options.ascii_only) for slot in row.slots] for row in self.grid.rows]
        left = max((len(line(row.python)) for row in self.grid.rows), default=0)
        room = options.max_width - max(left, len("Python")) - len("default") - 7
        if sum(_widths(heads, texts)) > room:
            heads = [head.replace(" + ", "\n+ ") for head in heads]
            texts = [[text.replace(", ", "\n  ") for text in row] for row in texts]
        for chunk in _chunks(_widths(heads, texts), room):
            yield _table(self.grid, heads, texts, chunk)


def _widths(heads: list[str], texts: list[list[str]]) -> list[int]:
    """Columns that each column takes, with its padding and one rule."""
    return [
        max(len(part) for said in (head, *(row[at] for row in texts)) for part in said.split("\n")) + 3
        for at, head in enumerate(heads)
    ]


def _chunks(widths: list[int], room: int) -> Iterator[list[int]]:
    """Positions of columns, as many at a time as there is room for, at least one."""
    chunk: list[int] = []
    for at, width in enumerate(widths):
        if chunk and sum(widths[one] for one in chunk) + width > room:
            yield chunk
            chunk = []
        chunk.append(at)
    if chunk:
        yield chunk


def _table(grid: Grid, heads: list[str], texts: list[list[str]], columns: list[int]) -> Table:
    table = Table(header_style="bold")
    table.add_column("Python", overflow="fold")
    table.add_column("GIL", no_wrap=True)
    for at in columns:
        table.add_column(Text(heads[at]), overflow="fold")
    for row, said in zip(grid.rows, texts, strict=True):
        slots = (Text(said[at], style(row.slots[at][0]) if row.slots[at] else "dim") for at in columns)
        table.add_row(Text(line(row.python)), Text(row.gil), *slots)
    return table


def _slot(slot: tuple[Line, ...], *, ascii_only: bool) -> str:
    return " / ".join(_one(cell, ascii_only=ascii_only) for cell in slot) or "-"


def _one(cell: Line, *, ascii_only: bool) -> str:
    own = phrases.own_triton(cell)
    return f"{_symbol(cell, ascii_only=ascii_only)} {phrases.short(cell)}" + (f", Triton {line(own)}" if own else "")


def _symbol(one: Line, *, ascii_only: bool) -> str:
    mark = phrases.mark(one)
    return {"✓": "+", "✗": "x"}.get(mark, mark) if ascii_only else mark


def style(one: Line) -> str:
    """Of the words about a cell."""
    return "yellow" if one.verdict.expected else board.STYLES[one.verdict.status]
