"""An audit as a table for the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from runner.model.audit import Audit, AuditRow, GilEffect

_COLOURS = {GilEffect.SWITCHES_ON: "red", GilEffect.NONE: "green"}


def render(audit: Audit) -> Group:
    """A sentence with the counts, then one row for each module; what switches the GIL on stands first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("module", "initialised", "declares", "the GIL"):
        table.add_column(heading, overflow="fold")
    for row in sorted(audit.rows, key=lambda row: (row.effect is not GilEffect.SWITCHES_ON, row.run_time, row.module)):
        table.add_row(*_cells(row))
    build = "free-threaded" if audit.free_threaded else "with the GIL"
    return Group(Text(f"{audit.executable}: Python {audit.python.split()[0]}, {build}"), Text(sentence(audit)), table)


def telling(audit: Audit) -> tuple[AuditRow, ...]:
    """The rows worth a reader's time: what switches the GIL on, then what could not be loaded."""
    return audit.switching + tuple(row for row in audit.rows if row.problem and row not in audit.switching)


def sentence(audit: Audit) -> str:
    """The audit in one sentence, with its counts."""
    total = len(audit.rows)
    if not total:
        return "There are no extension modules here."
    modules = f"{total} extension module{'s' if total != 1 else ''}"
    failed = sum(row.problem is not None for row in audit.rows)
    tail = f"; {failed} could not be loaded" if failed else ""
    if not audit.free_threaded:
        return f"{modules}{tail}. This build always has the GIL, so none can switch it."
    return f"{modules}, {len(audit.switching)} of them switch the GIL on{tail}."


def _cells(row: AuditRow) -> tuple[Text, ...]:
    name = Text(row.module)
    if row.run_time:
        name.append(" (compiled at run time)", style="dim")
    effect = (
        Text(row.problem, style="yellow") if row.problem else Text(row.effect.value, style=_COLOURS.get(row.effect, ""))
    )
    return name, Text(row.style.value), Text(row.declares.value), effect
