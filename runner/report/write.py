"""All formats of the report into the output folder. Each file is written whole: a reader finds the old or the new."""

from __future__ import annotations

import tempfile
from collections import Counter
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


def write_pages(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    out: Path,
    audits: Mapping[str, Audit] = NO_AUDITS,
    races: Mapping[str, Races] = NO_RACES,
) -> tuple[Path, ...]:
    """Write report.md, report.html and matrix.svg; returns the paths.

    Tests that passed at once stand in none of them, so results may come without them.
    """
    texts = {
        "report.md": markdown.render(plan, results, verdict, audits, races),
        "report.html": html.render(plan, results, verdict, audits, races),
        "matrix.svg": svg.render(plan, results, verdict),
    }
    for name, text in texts.items():
        write_whole(out / name, text)
    return tuple(out / name for name in texts)


def write_junit(
    plan: Plan, results: Mapping[str, CellResult], out: Path, races: Mapping[str, Races] = NO_RACES
) -> tuple[Path, ...]:
    """Write cells/<id>/junit.xml where a planned cell has a result, and junit.xml with all of them; returns the paths.

    Each result is asked for once, and no two are needed at the same time.
    """
    written = []
    counts: Counter[str] = Counter()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile("w+", dir=out, encoding="utf-8", errors="backslashreplace", newline="\n") as bodies:
        for cell, found in groupby(junit.suites(plan, results, races), lambda suite: suite.cell):
            own = list(found)
            for suite in own:
                bodies.write(suite.text)
                counts.update(suite.counts)
            if own[0].has_result:
                path = out / "cells" / cell / "junit.xml"
                write_whole(path, junit.join(own))
                written.append(path)
        bodies.seek(0)
        write_whole(out / "junit.xml", junit.document(counts, bodies))
    return (*written, out / "junit.xml")
