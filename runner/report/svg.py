"""matrix.svg: the table by axis as a small picture for a README; no fonts, links or scripts in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import east_asian_width

from runner.model.plan import Plan
from runner.model.result import CellResult
from runner.model.verdict import Verdict
from runner.report import phrases
from runner.report.escape import line
from runner.report.grid import Grid, Line, lay_out
from runner.report.html import template

ROW = 24
_PAD = 10
_PER_CHARACTER = {False: 6.8, True: 7.5}
"""Pixels for one character at 12 px, plain and bold; generous, since the font is the reader's."""
_LABEL_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Box:
    """One box of the picture: position and size in pixels, its text, and the class that colours it."""

    x: float
    y: float
    width: float
    text: str
    kind: str


def render(plan: Plan, results: Mapping[str, CellResult], verdict: Verdict) -> str:
    """The picture as text."""
    grid = lay_out(plan, results, verdict)
    rows = _texts(grid)
    widths = [
        max(_width(text, bold=kind == "head") for text, kind in (row[at] for row in rows)) for at in range(len(rows[0]))
    ]
    boxes = []
    for down, row in enumerate(rows):
        x = 0.0
        for width, (text, kind) in zip(widths, row, strict=True):
            boxes.append(Box(x, (down + 1) * ROW, width, text, kind))
            x += width
    sentence = line(verdict.sentence)
    return template("matrix.svg.j2").render(
        boxes=boxes,
        sentence=sentence,
        word=verdict.verdict.value.replace(" ", "_"),
        width=max(sum(widths), _width(sentence, bold=True)),
        height=(len(rows) + 1) * ROW,
        row=ROW,
        pad=_PAD,
    )


def _texts(grid: Grid) -> list[list[tuple[str, str]]]:
    """Every row of the picture as (text, kind), the heads first."""
    heads = ["Python", "GIL", *(f"Triton {line(column, _LABEL_LIMIT)}" for column in grid.columns)]
    rows = [[(head, "head") for head in heads]]
    for row in grid.rows:
        labels = [(line(row.python, _LABEL_LIMIT), "head"), (row.gil, "head")]
        rows.append(labels + [_slot(slot) for slot in row.slots])
    return rows


def _slot(slot: tuple[Line, ...]) -> tuple[str, str]:
    if not slot:
        return "—", "none"
    text = " / ".join(f"{phrases.mark(one)} {phrases.short(one)}" for one in slot)
    return text, "expected" if slot[0].verdict.expected else slot[0].verdict.status.value


def _width(text: str, *, bold: bool) -> float:
    columns = sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
    return round(columns * _PER_CHARACTER[bold] + 2 * _PAD, 1)
