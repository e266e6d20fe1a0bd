"""The experiment stage of one cell: its groups one after the other, each contrast written as soon as it is there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from runner.errors import ExecutionError
from runner.evidence.observed import Observer
from runner.evidence.signatures import Category
from runner.experiment.bench import Bench, UnavailableError
from runner.experiment.candidates import World, candidates
from runner.experiment.conditions import Cache, Candidate
from runner.experiment.controls import Controls
from runner.experiment.dumps import collect_dump
from runner.experiment.groups import Group, groups_of, groups_of_races, leads_to_compiler
from runner.experiment.inquiry import Inquiry
from runner.experiment.known import Known
from runner.experiment.procedure import NONE, Start, is_left, next_run
from runner.experiment.workarounds import workarounds
from runner.model.contrast import Contrasts, Count, FoundFailure, Trial
from runner.model.race import Races
from runner.model.result import CellResult


class Stage:
    """The experiments of one cell.

    Args:
        result: what became of the cell.
        races: what became of its tests in several threads at once, or None.
        known: what the other cells say.
        bench: makes the runs.
        world: what there is to change.
        path: of contrasts.json.
        left: seconds that the budget has left; asked before every run.
        as_found: the user's cache directories by variable when `result` was got with copies of them; else None.
    """

    def __init__(
        self,
        result: CellResult,
        races: Races | None = None,
        *,
        known: Known,
        bench: Bench,
        world: World,
        path: Path,
        left: Callable[[], float],
        as_found: Mapping[str, str] | None = None,
    ) -> None:
        self._cell, self._result, self._races = known.cells[result.cell.id], result, races
        self._known, self._bench, self._world = known, bench, world
        self._observer = Observer(known.rules)
        self._race_observer = Observer(known.rules, raced=True)
        self._controls = Controls(self._cell, bench, self._observer, left)
        self._path, self._left, self._as_found = path, left, as_found
        self._began = left()
        self._document = Contrasts(cell=result.cell.id)
        self._unfinished: dict[str, None] = {}
        self._looked_into: list[tuple[Inquiry, Start]] = []

    def run(self) -> Contrasts:
        """Make all contrasts of the cell that the budget allows; what was made before is read, not made again."""
        groups = self._groups()
        signatures = frozenset(group.root.signature for group in groups)
        if self._as_found is not None:
            self._write(found=tuple(self._found(group) for group in groups))
        is_certain = True
        for number, group in enumerate(groups):
            if self._left() <= 0:
                left = f"{len(groups) - number} of {len(groups)} roots"
                self._leave(f"{left} were not looked into: the budget was spent")
                break
            inquiry, start = self._begin(group)
            if start is None:
                self._leave(f"{group.root.id}: the budget was spent before it was seen again")
                is_certain = False
                continue
            if number == 0:
                self._control(signatures, often=not start.certain or bool(group.threads))
            start = self._look_into(inquiry, start)
            is_certain = is_certain and start.certain and not group.threads
        if groups:
            self._control(signatures, often=not is_certain)
            if any(Category.ABI in group.categories for group in groups):
                self._write(control=(*self._controls.parts, *self._controls.of_caches(self._world)))
            self._cures()
            self._dumps()
        self._write(unfinished=tuple(self._unfinished))
        return self._document

    def _groups(self) -> tuple[Group, ...]:
        rules = self._known.rules
        groups = groups_of(self._result, self._observer.observe(self._result), rules)
        if self._races is None:
            return groups
        raced = self._race_observer.observe(self._races.as_result())
        return (*groups, *groups_of_races(self._races, raced, rules))

    def _found(self, group: Group) -> FoundFailure:
        return FoundFailure(
            root=group.root.id,
            tests=group.seen.tests,
            sample=group.seen.sample,
            count=group.seen.count,
            directory=", ".join((self._as_found or {}).values()),
        )

    def _begin(self, group: Group) -> tuple[Inquiry, Start | None]:
        observer = self._race_observer if group.threads else self._observer
        inquiry = Inquiry(group, self._cell, self._bench, observer, self._left)
        return inquiry, inquiry.find_start(Cache.FRESH if self._as_found is None else Cache.FOUND)

    def _look_into(self, inquiry: Inquiry, start: Start) -> Start:
        """The contrasts of one group; where they started, and whether its failure is certain."""
        group = inquiry.group
        self._looked_into.append((inquiry, start))
        silent = self._known.silent(self._cell, group)
        plan = candidates(start.conditions, self._world, group.categories, silent=silent)
        answered = frozenset(one for one in plan if self._known.answers(one, self._cell, group))
        while True:
            counts = inquiry.counts
            start = replace(start, certain=_certain(counts.get(start.conditions, NONE)))
            asked = next_run(start, plan, counts, answered=answered, impossible=frozenset(inquiry.impossible))
            if asked is None:
                break
            if self._left() <= 0:
                open_ones = [c for c in plan if c not in answered and is_left(c, counts)]
                named = ", ".join(f"{one.factor.value} {one.after_value}" for one in open_ones) or "more repetitions"
                self._leave(f"{group.root.id}: the budget was spent; not tried: {named}")
                break
            inquiry.run(asked)
            self._keep(inquiry, start, plan)
        for why in inquiry.impossible.values():
            self._leave(f"{group.root.id}: {why}")
        self._keep(inquiry, start, plan)
        return start

    def _keep(self, inquiry: Inquiry, start: Start, plan: tuple[Candidate, ...]) -> None:
        others = tuple(one for one in self._document.contrasts if one.root != inquiry.group.root.id)
        made = inquiry.contrasts(start, plan, is_run=self._as_found is not None)
        self._write(contrasts=(*others, *made))

    def _control(self, signatures: frozenset[str], *, often: bool) -> None:
        trouble = self._controls.run(signatures, often=often)
        if trouble is not None:
            self._leave(trouble)
        self._write(control=self._controls.parts)

    def _cures(self) -> None:
        trials: list[Trial] = []
        for inquiry, start in self._looked_into:
            mine = [one for one in self._document.contrasts if one.root == inquiry.group.root.id]
            trials += workarounds(inquiry.group, mine, start.conditions, inquiry.with_cure)
        self._write(workarounds=tuple(trials))

    def _dumps(self) -> None:
        """What the compiler worked on, from one more run of what it failed on."""
        made = []
        for inquiry, start in self._looked_into:
            root = inquiry.group.root.id
            if leads_to_compiler(inquiry.group) and self._left() > 0:
                with contextlib.suppress(UnavailableError, ExecutionError):
                    folder, target = inquiry.dump(start.conditions), self._path.parent / "dumps" / root
                    made.append(collect_dump(folder, target, root=root, test=inquiry.group.test))
        self._write(dumps=tuple(one for one in made if one is not None))

    def _leave(self, sentence: str) -> None:
        """Keep what could not be done."""
        self._unfinished[sentence] = None

    def _write(self, **changes: object) -> None:
        spent = round(max(0.0, self._began - self._left()), 1)
        self._document = self._document.model_copy(update={**changes, "spent_seconds": spent})
        self._document.write(self._path)


def _certain(count: Count) -> bool:
    return 0 < count.failed == count.total
