"""`triton-compat judge`: the results of an output folder to verdict.json; its exit status is the verdict."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from runner.commands.results import read_contrasts, read_plan, read_races, read_results, why_unusable
from runner.model.result import CellResult
from runner.verdict.attribution import attribute, notes_on_found, notes_on_unfinished
from runner.verdict.baseline import baseline_notes
from runner.verdict.compare import compare
from runner.verdict.judge import judge
from runner.verdict.races import race_findings


def run(options: argparse.Namespace) -> int:
    """Write verdict.json; exit 0 PASS, 1 FAIL, 3 CANNOT TELL."""
    plan = read_plan(options.out)
    results = read_results(plan, options.out)
    contrasts = read_contrasts(plan, options.out)
    findings = attribute(plan, results.values(), contrasts)
    races = read_races(plan, results, options.out)
    findings = (*findings, *race_findings(plan, races))
    verdict = judge(
        plan,
        results,
        today=datetime.now(UTC).date(),
        findings=findings,
        races=races,
        unusable=why_unusable(plan, results, options.out),
    )
    notes = (*verdict.notes, *notes_on_found(contrasts), *notes_on_unfinished(contrasts))
    notes = (*notes, *_since(options.baseline, results))
    verdict = verdict.model_copy(update={"notes": notes})
    verdict.write(options.out / "verdict.json")
    print(verdict.sentence)
    return verdict.verdict.exit_code


def _since(baseline: Path | None, results: Mapping[str, CellResult]) -> tuple[str, ...]:
    """What changed since the output folder of an earlier run; nothing is said where there is no baseline."""
    if baseline is None:
        return ()
    plan = read_plan(baseline)
    return baseline_notes(compare(read_results(plan, baseline), results), plan.created)
