"""`triton-compat judge`: the results of an output folder to verdict.json; its exit status is the verdict."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from runner.commands.results import Results, read_contrasts, read_plan, read_races, why_unusable
from runner.commands.rules import rules_of
from runner.evidence.observed import Observed, Observer
from runner.model.changes import Changes
from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.result import CellResult
from runner.verdict.attribution import findings_of, notes_on_found, notes_on_unfinished
from runner.verdict.baseline import baseline_notes, sum_up
from runner.verdict.compare import compare
from runner.verdict.judge import Judging
from runner.verdict.races import race_findings


def run(options: argparse.Namespace) -> int:
    """Write verdict.json; exit 0 PASS, 1 FAIL, 3 CANNOT TELL."""
    plan = read_plan(options.out)
    results, rules = Results(plan, options.out), rules_of(plan, options)
    judging, observer = Judging(plan, today=datetime.now(UTC).date()), Observer(rules)
    observed: dict[str, Observed] = {}
    races: dict[str, Races] = {}
    for cell in plan.cells:  # one result at a time: together they may not fit in memory
        result = results.get(cell.key.id)
        raced = read_races(result, options.out)
        judging.add(cell, result, raced)
        if result is not None:
            observed[cell.key.id] = observer.observe(result)
        if raced is not None:
            races[cell.key.id] = raced
    contrasts = read_contrasts(plan, options.out)
    findings = (*findings_of(observed, plan, contrasts, rules), *race_findings(plan, races, contrasts, rules))
    verdict = judging.verdict(findings, why_unusable(plan, results, options.out))
    notes = (*verdict.notes, *notes_on_found(contrasts), *notes_on_unfinished(contrasts))
    if options.baseline is not None:
        changes = _since(options.baseline, plan, results)
        notes = (*notes, *baseline_notes(changes))
        verdict = verdict.model_copy(update={"changes": changes})
    verdict = verdict.model_copy(update={"notes": notes})
    verdict.write(options.out / "verdict.json")
    print(verdict.sentence)
    return verdict.verdict.exit_code


def _since(baseline: Path, plan: Plan, results: Mapping[str, CellResult]) -> Changes:
    """What changed since the output folder of an earlier run."""
    earlier = read_plan(baseline)
    planned = {cell.key.id for cell in plan.cells}
    return sum_up(compare(Results(earlier, baseline), results), earlier.created, planned)
