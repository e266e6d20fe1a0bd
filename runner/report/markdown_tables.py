"""The tables of report.md that are folded: what ran in each cell, and what extension modules do to the GIL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runner.model.audit import Audit
from runner.report import phrases
from runner.report.audit import sentence, telling
from runner.report.escape import code, code_in_table, prose, prose_in_table
from runner.report.gil import gil_in_words
from runner.report.grid import Grid, Line
from runner.report.races import NOTHING

_MODULES = 20


def table_row(cells: list[str]) -> str:
    """One line of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"


def environments(grid: Grid) -> str:
    """Every expected cell with what was observed in it, folded."""
    heads = ["Cell", "Status", "Tests", "Python", "Triton", "torch", "GIL", "Time"]
    rows = [table_row(heads), table_row(["---"] * len(heads)), *(table_row(list(_facts(line))) for line in grid.lines)]
    count = len(grid.lines)
    summary = f"<summary>{'The cell' if count == 1 else f'All {count} cells'} and what ran there</summary>"
    return "\n".join(["<details>", summary, "", *rows, "", "</details>"])


def _facts(line: Line) -> Iterator[str]:
    result = line.result
    seen = result.environment if result else None
    yield code_in_table(line.key.id)
    yield f"{phrases.symbol(line)} {phrases.short(line)}"
    yield phrases.counts_in_words(line) or "none"
    yield code_in_table(f"{seen.python} {seen.soabi or ''}".strip()) if seen else NOTHING
    yield prose_in_table(seen.triton) if seen and seen.triton else NOTHING
    yield prose_in_table(seen.torch) if seen and seen.torch else NOTHING
    yield prose_in_table(gil_in_words(result.gil), 600) if result and seen else f"asked {line.key.gil.value}"
    yield phrases.duration(result.seconds) if result and line.verdict.counts else NOTHING


def modules(audits: Mapping[str, Audit]) -> str:
    """What the extension modules of each audited environment do to the GIL, folded."""
    if not audits:
        return ""
    lines = ["<details>", "<summary>Extension modules and the GIL</summary>", ""]
    for environment, audit in audits.items():
        rows = telling(audit)
        lines += [f"{code(environment)}: {prose(sentence(audit))}", ""]
        if rows:
            lines += [table_row(["Module", "Initialised", "Declares", "The GIL"]), table_row(["---"] * 4)]
            for row in rows[:_MODULES]:
                said = prose_in_table(row.problem, 200) if row.problem else row.effect.value
                lines.append(table_row([code_in_table(row.module), row.style.value, row.declares.value, said]))
            lines += ["", *([f"… and {len(rows) - _MODULES} more", ""] if len(rows) > _MODULES else [])]
    return "\n".join([*lines, "</details>"])
