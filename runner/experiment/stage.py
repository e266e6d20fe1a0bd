"""The experiment stage of one cell: its groups one after the other, each contrast written as soon as it is there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import ExecutionError
from runner.evidence.observed import Observed, Observer
from runner.evidence.signatures import Category, Rules
from runner.experiment.bench import DUMPED, Bench, Run, Selection, UnavailableError
from runner.experiment.candidates import ALONE, TOGETHER, World, candidates
from runner.experiment.conditions import Cache, Candidate, Conditions
from runner.experiment.dumps import collect_dump
from runner.experiment.groups import Group, count_races, count_run, groups_of, groups_of_races, leads_to_compiler
from runner.experiment.parts import PARTS, counted, from_other_cache, telling
from runner.experiment.procedure import LEAST_REPEATS, NONE, Start, find_start, is_left, next_run
from runner.experiment.workarounds import workarounds
from runner.model.contrast import Contrast, Contrasts, Count, FoundFailure, Side, Trial
from runner.model.plan import PlannedCell, PlannedEnvironment
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.words import Factor

CONTROL_RUNS = 6
"""Runs of the parts of the control that fail, and of those that a failure that comes and goes may be in."""


@dataclass(frozen=True)
class Known:
    """What the other cells of the matrix say already.

    Attributes:
        cells: by id, as planned.
        observed: by id, what was seen in them.
        raced: by id, what was seen where several threads ran their tests at once.
        rules: the signatures by which it was read.
    """

    cells: Mapping[str, PlannedCell]
    observed: Mapping[str, Observed]
    raced: Mapping[str, Observed]
    rules: Rules

    def answers(self, candidate: Candidate, cell: PlannedCell, group: Group) -> bool:
        """Whether a sibling cell shows the same root in the same test: then the factor is not needed for it."""
        after = candidate.after
        if (after.cache, after.threads) != (candidate.before.cache, candidate.before.threads):
            return False
        if after.commit is not None or after.cure is not None:
            return False
        observed = self.raced if group.threads else self.observed
        for other in self.cells.values():
            if (other.environment, other.key.gil) != (after.environment, after.gil) or other is cell:
                continue
            seen = observed.get(other.key.id)
            if _alike(other, cell) and seen is not None and group.root.id in seen.roots:
                return group.test in seen.roots[group.root.id].tests
        return False


def _alike(one: PlannedCell, other: PlannedCell) -> bool:
    left, right = one.settings, other.settings
    return (left.tests, left.pytest_args, left.env, left.workdir) == (
        right.tests,
        right.pytest_args,
        right.env,
        right.workdir,
    )


@dataclass
class _Seen:
    """Everything that was run under the same conditions for one group."""

    count: Count = NONE
    signatures: dict[str, None] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    def add(self, run: Run, count: Count, signatures: tuple[str, ...]) -> None:
        self.runs.append(run)
        self.count = Count(
            failed=self.count.failed + count.failed,
            other=self.count.other + count.other,
            total=self.count.total + count.total,
        )
        self.signatures.update(dict.fromkeys(signatures))

    def side(self, value: str) -> Side:
        first = self.runs[0]
        return Side(
            value=value,
            count=self.count,
            env=first.env,
            command=first.command,
            signatures=tuple(self.signatures),
            started=first.result.started or datetime.now(UTC).isoformat(),
            seconds=round(sum(run.result.seconds for run in self.runs), 3),
        )


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
        self._rules = known.rules
        self._observer = Observer(known.rules)
        self._race_observer = Observer(known.rules, raced=True)
        self._path, self._left = path, left
        self._as_found = as_found
        self._began = left()
        self._document = Contrasts(cell=result.cell.id)
        self._controls: list[Run] = []
        self._impossible: dict[Conditions, str] = {}
        self._starts: dict[str, Start] = {}
        self._signatures: frozenset[str] = frozenset()

    def run(self) -> Contrasts:
        """Make all contrasts of the cell that the budget allows; what was made before is read, not made again."""
        observed = self._observer.observe(self._result)
        groups = groups_of(self._result, observed, self._rules)
        if self._races is not None:
            raced = self._race_observer.observe(self._races.as_result())
            groups = (*groups, *groups_of_races(self._races, raced, self._rules))
        unfinished: list[str] = []
        is_certain = True
        self._signatures = frozenset(group.root.signature for group in groups)
        if self._as_found is not None:
            self._write(found=tuple(self._found(group) for group in groups))
        for number, group in enumerate(groups):
            if self._left() <= 0:
                unfinished.append(
                    f"{len(groups) - number} of {len(groups)} roots were not looked into: the budget was spent"
                )
                break
            is_certain = self._look_into(group, unfinished, with_control=number == 0) and is_certain
        if groups:
            self._control(unfinished, often=not is_certain)
            self._control_of_caches(groups)
            self._cures(groups)
            self._dumps(groups)
        self._write(unfinished=tuple(dict.fromkeys(unfinished)))
        return self._document

    def _found(self, group: Group) -> FoundFailure:
        return FoundFailure(
            root=group.root.id,
            tests=group.seen.tests,
            sample=group.seen.sample,
            count=group.seen.count,
            directory=", ".join((self._as_found or {}).values()),
        )

    def _look_into(self, group: Group, unfinished: list[str], *, with_control: bool) -> bool:
        """The contrasts of one group; whether its failure is certain."""
        seen: dict[Conditions, _Seen] = {}
        self._impossible = {}
        start = self._find_start(group, seen)
        if start is None:
            unfinished.append(f"{group.root.id}: the budget was spent before it was seen again")
            return False
        self._starts[group.root.id] = start
        if with_control:
            self._control(unfinished, often=not start.certain or bool(group.threads))
        plan = candidates(start.conditions, self._world, group.categories)
        answered = frozenset(one for one in plan if self._known.answers(one, self._cell, group))
        while True:
            counts = {conditions: one.count for conditions, one in seen.items()}
            start = replace(start, certain=_certain(counts.get(start.conditions, NONE)))
            asked = next_run(start, plan, counts, answered=answered, impossible=frozenset(self._impossible))
            if asked is None:
                break
            if self._left() <= 0:
                open_ones = [c for c in plan if c not in answered and is_left(c, counts)]
                named = ", ".join(f"{one.factor.value} {one.after_value}" for one in open_ones) or "more repetitions"
                unfinished.append(f"{group.root.id}: the budget was spent; not tried: {named}")
                break
            self._try(group, asked, seen)
            self._keep(group, start, plan, seen)
        unfinished += [f"{group.root.id}: {why}" for why in dict.fromkeys(self._impossible.values())]
        self._keep(group, start, plan, seen)
        return start.certain and not group.threads

    def _find_start(self, group: Group, seen: dict[Conditions, _Seen]) -> Start | None:
        cache = Cache.FRESH if self._as_found is None else Cache.FOUND
        alone = Conditions(self._cell.environment, self._cell.key.gil, cache, threads=group.threads)
        while self._left() > 0:
            counts = {conditions: one.count for conditions, one in seen.items()}
            has_company = bool(group.company) or group.test.startswith("<")
            found = find_start(alone, counts, has_company=has_company)
            if isinstance(found, Start):
                return found
            if found in self._impossible:
                return None
            self._try(group, found, seen)
        return None

    def _try(self, group: Group, conditions: Conditions, seen: dict[Conditions, _Seen]) -> None:
        one = seen.setdefault(conditions, _Seen())
        selection = _selection(group, conditions)
        self._bench.say(f"{self._cell.key.id}: {group.test} {_words(conditions)}, run {len(one.runs) + 1}")
        try:
            run = self._bench.run(self._cell, conditions, selection, len(one.runs))
        except (UnavailableError, ExecutionError) as error:
            self._impossible[conditions] = f"{_words(conditions)} could not be tried: {error.message}"
            if not one.runs:
                del seen[conditions]
            return
        if group.threads:
            count, signatures = count_races(run.races, self._race_observer, group)
        else:
            count, signatures = count_run(run.result, self._observer, group)
        one.add(run, count, signatures)
        if not count.total:  # skipped, or gone: it says nothing there, however often it is asked
            self._impossible[conditions] = f"{_words(conditions)}: the test was skipped or not found"

    def _keep(self, group: Group, start: Start, plan: tuple[Candidate, ...], seen: Mapping[Conditions, _Seen]) -> None:
        others = tuple(one for one in self._document.contrasts if one.root != group.root.id)
        self._write(contrasts=(*others, *self._contrasts(group, start, plan, seen)))

    def _contrasts(
        self, group: Group, start: Start, plan: tuple[Candidate, ...], seen: Mapping[Conditions, _Seen]
    ) -> Iterator[Contrast]:
        def contrast(factor: Factor, before: Side, after: Side) -> Contrast:
            return Contrast(
                cell=self._cell.key.id,
                root=group.root.id,
                tests=(group.test,),
                factor=factor,
                before=before,
                after=after,
            )

        matrix = Side(
            value="as it was",
            count=group.seen.count,
            source="run" if self._as_found else f"cell {self._cell.key.id}",
            signatures=(group.root.signature,) if group.root.signature else (),
        )
        repeated = seen.get(start.conditions)
        if repeated is None or not repeated.count.total:
            return
        yield contrast(Factor.REPEAT, matrix, repeated.side("again"))
        if start.conditions.alone and group.company:
            before = matrix.model_copy(update={"value": TOGETHER})
            yield contrast(Factor.ALONE, before, repeated.side(ALONE))
        for candidate in plan:
            one, other = seen.get(candidate.before), seen.get(candidate.after)
            if one and other and one.count.total and other.count.total:
                yield contrast(candidate.factor, one.side(candidate.before_value), other.side(candidate.after_value))

    def _control(self, unfinished: list[str], *, often: bool) -> None:
        """The control: once as a whole, then again what failed and, for a failure that comes and goes, its threads."""
        try:
            if not self._controls:
                self._bench.say(f"{self._cell.key.id}: the control, Triton alone")
                self._controls.append(self._bench.control(self._cell, None, 0))
            failed = telling(self._controls[0].result, self._observer, self._signatures)
            again = _again(failed, often=often)
            while again and len(self._controls) < CONTROL_RUNS:
                if self._left() <= 0:
                    unfinished.append(f"the control was run {len(self._controls)} times: the budget was spent")
                    break
                number = len(self._controls)
                self._bench.say(f"{self._cell.key.id}: {len(again)} parts of the control, run {number + 1}")
                self._controls.append(self._bench.control(self._cell, again, number))
        except (UnavailableError, ExecutionError) as error:
            unfinished.append(f"the control could not be run: {error.message}")
        self._write(control=counted(self._controls, self._observer))

    def _control_of_caches(self, groups: tuple[Group, ...]) -> None:
        """Triton's helper in a cache that another Python filled, where a failure hints at that."""
        if not any(Category.ABI in group.categories for group in groups):
            return
        filler = self._filler()
        if filler is None:
            return
        pairs: list[tuple[Run, Run]] = []
        while len(pairs) < LEAST_REPEATS and self._left() > 0:
            self._bench.say(f"{self._cell.key.id}: the control in a cache of {filler.id}, run {len(pairs) + 1}")
            try:
                pairs.append(self._bench.helper_from(self._cell, filler.id, len(pairs)))
            except (UnavailableError, ExecutionError):
                break
        parts = from_other_cache(pairs, filler.python, self._observer)
        self._write(control=(*counted(self._controls, self._observer), *parts))

    def _filler(self) -> PlannedEnvironment | None:
        """An environment with the same Triton and another Python; the other build of the same version first."""
        mine = self._world.get(self._cell.environment)
        others = [
            one
            for one in self._world.environments
            if one.triton == mine.triton and one.torch == mine.torch and one.python != mine.python
        ]
        return min(others, key=lambda one: (one.python.rstrip("t") != mine.python.rstrip("t"), one.id), default=None)

    def _cures(self, groups: tuple[Group, ...]) -> None:
        trials: list[Trial] = []
        for group in groups:
            if group.root.id not in self._starts:
                continue
            mine = [one for one in self._document.contrasts if one.root == group.root.id]
            trials += workarounds(group, mine, self._starts[group.root.id].conditions, self._by_running(group))
        self._write(workarounds=tuple(trials))

    def _dumps(self, groups: tuple[Group, ...]) -> None:
        """What the compiler worked on, from one more run of what it failed on."""
        made = []
        for group in groups:
            start = self._starts.get(group.root.id)
            if start is None or not leads_to_compiler(group) or self._left() <= 0:
                continue
            self._bench.say(f"{self._cell.key.id}: {group.test} once more, for the compiler's IR")
            with contextlib.suppress(UnavailableError, ExecutionError):
                run = self._bench.run(self._cell, start.conditions, _selection(group, start.conditions), 0, dumps=True)
                target = self._path.parent / "dumps" / group.root.id
                made.append(collect_dump(run.folder / DUMPED, target, root=group.root.id, test=group.test))
        self._write(dumps=tuple(one for one in made if one is not None))

    def _by_running(self, group: Group) -> Callable[[Conditions, int], Side | None]:
        """Runs a group's test with a workaround in place."""

        def run(conditions: Conditions, times: int) -> Side | None:
            seen: dict[Conditions, _Seen] = {}
            for _ in range(times):
                if self._left() > 0 and conditions not in self._impossible:
                    self._try(group, conditions, seen)
            return seen[conditions].side(str(conditions.cure)) if conditions in seen else None

        return run

    def _write(self, **changes: object) -> None:
        spent = round(max(0.0, self._began - self._left()), 1)
        self._document = self._document.model_copy(update={**changes, "spent_seconds": spent})
        self._document.write(self._path)


def _certain(count: Count) -> bool:
    return 0 < count.failed == count.total


def _again(failed: Iterable[str], *, often: bool) -> tuple[str, ...]:
    """Parts of the control that are worth repeating, each with its part for one thread."""
    names = set(failed)
    if often:
        names |= {name for name, part in PARTS.items() if part.threads > 1}
    names |= {single for name in names if name in PARTS and (single := PARTS[name].single)}
    return tuple(name for name in PARTS if name in names and not PARTS[name].mark)


def _selection(group: Group, conditions: Conditions) -> Selection:
    if group.test.startswith("<"):  # the session's own trouble: everything is needed to see it
        return Selection()
    file = group.test.split("::")[0]
    if group.is_file:
        return Selection(files=(file,)) if conditions.alone else Selection()
    if conditions.alone:
        return Selection(tests=(group.test,), files=(file,))
    return Selection(tests=(*group.company, group.test))


def _words(conditions: Conditions) -> str:
    where = "alone" if conditions.alone else "after the others"
    threads = f", {conditions.threads} thread{'' if conditions.threads == 1 else 's'}" if conditions.threads else ""
    cure = f", {conditions.cure.value.replace('_', ' ')}" if conditions.cure else ""
    commit = f", commit {conditions.commit[:12]}" if conditions.commit else ""
    return (
        f"{where} in {conditions.environment}, GIL {conditions.gil.value}, cache {conditions.cache.value}"
        f"{threads}{commit}{cure}"
    )
