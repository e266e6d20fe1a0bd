"""`triton-compat bisect`: over the Triton releases that have wheels for a cell's Python, the first that fails."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from runner.commands.index import open_index
from runner.commands.results import Results, read_plan
from runner.commands.rules import rules_of
from runner.errors import UsageError
from runner.evidence.observed import Observer
from runner.experiment.bench import Bench, UnavailableError
from runner.experiment.bisection import CERTAIN_REPEATS, Edge, NoEdge, next_release, repeats
from runner.experiment.conditions import Conditions
from runner.experiment.groups import Group, count_run, groups_of
from runner.experiment.invocation import Selection
from runner.experiment.neighbours import same_matrix, with_tritons
from runner.model.contrast import Count
from runner.model.plan import PlannedCell

RATE_RUNS = 10
"""Most runs of the release that fails, to learn how often it does."""


def run(options: argparse.Namespace) -> int:
    """Print the first release that fails, or from which on it does not, with the number of runs; exit 0."""
    plan = read_plan(options.out)
    cell = plan.cell(options.cell)
    results = Results(plan, options.out)
    result = results.get(options.cell)
    if cell is None or result is None or cell.key.triton is None:
        raise UsageError(f"{options.cell} is no cell with a result and a Triton release.", remedy="Run it first.")
    rules = rules_of(plan, options)
    observer = Observer(rules)
    group = _chosen(groups_of(result, observer.observe(result), rules), options.test, cell)
    with open_index(offline=options.offline, say=_say) as index:
        releases = index.catalogue.triton_releases()
        environments = with_tritons(same_matrix(plan), cell.key, releases, index)
    usable = {one.triton or "": one for one in environments if one.unavailable is None}
    usable[cell.key.triton] = plan.environment(cell.environment)
    bench = Bench(plan, options.out, {one.id: one for one in usable.values()}, say=_say, offline=options.offline)
    search = _Search(cell, group, bench, observer, {name: one.id for name, one in usable.items()})
    return search.run([name for name in releases if name in usable])


def _chosen(groups: Sequence[Group], test: str | None, cell: PlannedCell) -> Group:
    if not groups:
        raise UsageError(f"Nothing failed in {cell.key.id}.", remedy="Name a cell in which the test fails.")
    if test is None:
        return groups[0]
    for group in groups:
        if test in group.seen.tests:
            return replace(group, test=test)
    raise UsageError(f"{test} did not fail in {cell.key.id}.", remedy="Name a test that fails there; see the report.")


class _Search:
    """The runs of one bisection."""

    def __init__(
        self, cell: PlannedCell, group: Group, bench: Bench, observer: Observer, environments: dict[str, str]
    ) -> None:
        self._cell, self._group, self._bench, self._observer = cell, group, bench, observer
        self._environments = environments
        self._counts: dict[str, Count] = {}
        self._left_out: dict[str, str] = {}

    def run(self, releases: list[str]) -> int:
        bad = self._cell.key.triton or ""
        seen = self._try(bad, RATE_RUNS, until_failed=False)
        if seen is None or not seen.failed:
            said = seen or self._left_out[bad]
            raise UsageError(
                f"{self._group.test} does not fail with Triton {bad} when it is run alone: {said}.",
                remedy="It may need the tests before it; triton-compat experiment finds that out.",
            )
        known = {bad: True}
        while True:
            usable = [name for name in releases if name not in self._left_out]
            step = next_release(usable, bad, known)
            if not isinstance(step, str):
                print(self._answer(step, usable, bad))
                return 0
            count = self._try(step, repeats(self._counts[bad]), until_failed=True)
            if count is not None:
                known[step] = count.failed > 0

    def _try(self, release: str, most: int, *, until_failed: bool) -> Count | None:
        """Run the test with one release; None, and the release is left out, when that says nothing."""
        conditions = Conditions(self._environments[release], self._cell.key.gil)
        file = self._group.test.split("::")[0]
        selection = Selection(files=(file,), tests=None if self._group.is_file else (self._group.test,))
        failed = total = 0
        for number in range(most):
            _say(f"Triton {release}: {self._group.test}, run {number + 1}")
            try:
                run = self._bench.run(self._cell, conditions, selection, number)
            except UnavailableError as error:
                self._left_out[release] = error.message
                return None
            count, _ = count_run(run.result, self._observer, self._group)
            if count.other or not count.total:
                self._left_out[release] = "it fails in another way there" if count.other else "it was not run there"
                return None
            failed, total = failed + count.failed, total + count.total
            self._counts[release] = Count(failed=failed, total=total)
            if (until_failed and failed) or (failed == total == CERTAIN_REPEATS):
                break
        return self._counts[release]

    def _answer(self, step: Edge | NoEdge, usable: list[str], bad: str) -> str:
        runs = sum(count.total for count in self._counts.values())
        tried = f"{runs} runs of {len(self._counts)} releases"
        if isinstance(step, NoEdge):
            said = (
                f"Every Triton release that could be tried fails ({', '.join(usable)}): no release of it is the cause."
            )
        else:
            newer = usable.index(step.bad) > usable.index(step.good)
            bad_side = f"Triton {step.bad} ({self._counts[step.bad]} failed)"
            good_side = f"{step.good} ({self._counts[step.good]} failed)"
            said = (
                f"The first release that fails is {bad_side}; the last that passes before it is {good_side}."
                if newer
                else f"It fails up to {bad_side} and passes from {good_side} on."
            )
        left_out = [f"Not decided by {name}: {why}." for name, why in self._left_out.items()]
        return "\n".join([f"{self._group.test}: {said}", f"{tried}; it was asked about {bad}.", *left_out])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
