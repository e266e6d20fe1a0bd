"""An audit in words, on the terminal, in Markdown and in HTML."""

from __future__ import annotations

from typing import Any

import cmarkgfm
import pytest
from rich.console import Console

from runner.model.audit import Audit, AuditRow, GilDeclaration, GilEffect, InitStyle
from runner.report import html, markdown
from runner.report.audit import render, sentence, telling


def row(module: str, effect: GilEffect, problem: str | None = None) -> AuditRow:
    return AuditRow(
        module=module,
        file=f"{module}.so",
        style=InitStyle.MULTI_PHASE,
        declares=GilDeclaration.UNDECLARED,
        effect=effect,
        problem=problem,
    )


def audit(*rows: AuditRow, free_threaded: bool = True) -> Audit:
    return Audit(
        executable="python", python="3.13.5 experimental", soabi="cpython-313t", free_threaded=free_threaded, rows=rows
    )


GOOD = row("good.one", GilEffect.NONE)
BAD = row("triton._C.libtriton", GilEffect.SWITCHES_ON)
BROKEN = row("broken", GilEffect.UNKNOWN, "crashed with SIGSEGV")


@pytest.mark.parametrize(
    ("rows", "free_threaded", "said"),
    [
        ((), True, "There are no extension modules here."),
        ((GOOD,), True, "1 extension module, 0 of them switch the GIL on."),
        ((GOOD, BAD, BROKEN), True, "3 extension modules, 1 of them switch the GIL on; 1 could not be loaded."),
        ((GOOD, BROKEN), False, "2 extension modules; 1 could not be loaded. This build always has the GIL, so none"),
    ],
)
def test_sentence(rows: tuple[AuditRow, ...], free_threaded: bool, said: str) -> None:
    assert sentence(audit(*rows, free_threaded=free_threaded)).startswith(said)


def test_what_switches_the_gil_on_stands_first() -> None:
    assert telling(audit(BROKEN, GOOD, BAD)) == (BAD, BROKEN)
    console = Console(width=100, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(render(audit(GOOD, BROKEN, BAD)))
    lines = captured.get().splitlines()
    assert lines[3].split() == ["triton._C.libtriton", "multi-phase", "undeclared", "switches", "on"]
    assert any("crashed with SIGSEGV" in line for line in lines)


def test_the_reports_name_the_modules_and_harmless_ones_are_counted(quickstart: Any) -> None:
    audits = {"py3.13t-triton3.7.0": audit(GOOD, BAD, BROKEN)}
    text = markdown.render(quickstart.plan, quickstart.results, quickstart.verdict, audits)
    page = html.render(quickstart.plan, quickstart.results, quickstart.verdict, audits)
    for rendered in (cmarkgfm.github_flavored_markdown_to_html(text), page):
        assert "triton._C.libtriton" in rendered
        assert "crashed with SIGSEGV" in rendered
        assert "good.one" not in rendered


def test_a_hostile_module_name_stays_in_its_cell(quickstart: Any) -> None:
    hostile = row("a|b`</td>@someone", GilEffect.UNKNOWN, "x | y\n## z <b>@team</b>")
    text = markdown.render(quickstart.plan, quickstart.results, quickstart.verdict, {"e": audit(hostile)})
    rendered = cmarkgfm.github_flavored_markdown_to_html(text)
    table = next(part for part in rendered.split("</table>") if "<th>Declares</th>" in part).partition("<tbody>")[2]
    assert table.count("<td>") == 4
    assert "<b>" not in table
    assert "<h2>" not in table
