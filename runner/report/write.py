"""All formats of the report into the output folder."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from runner.model.audit import Audit
from runner.model.document import write_whole
from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.verdict import Verdict
from runner.report import html, junit, markdown, svg
from runner.report.markdown import NO_AUDITS
from runner.report.races import NO_RACES


def write_all(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    out: Path,
    audits: Mapping[str, Audit] = NO_AUDITS,
    races: Mapping[str, Races] = NO_RACES,
) -> tuple[Path, ...]:
    """Write report.md, report.html, matrix.svg, junit.xml, and cells/<id>/junit.xml where a planned cell has a result.

    Each file is written whole: a reader finds the old one or the new one. Returns the paths, in the order of writing.
    """
    written = []

    def put(name: str, text: str) -> None:
        write_whole(out / name, text)
        written.append(out / name)

    put("report.md", markdown.render(plan, results, verdict, audits, races))
    put("report.html", html.render(plan, results, verdict, audits, races))
    put("matrix.svg", svg.render(plan, results, verdict))
    suites = list(junit.suites(plan, results, races))
    put("junit.xml", junit.join(suites))
    for cell, own in groupby(suites, lambda suite: suite.cell):
        if cell in results:
            put(f"cells/{cell}/junit.xml", junit.join(own))
    return tuple(written)
