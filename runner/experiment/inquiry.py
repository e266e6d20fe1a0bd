"""One group of failures that is looked into: what was run for it, under which conditions, and its contrasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import ExecutionError
from runner.evidence.observed import Observer
from runner.experiment.bench import DUMPED, Bench, Run, UnavailableError
from runner.experiment.candidates import ALONE, TOGETHER
from runner.experiment.conditions import Cache, Candidate, Conditions
from runner.experiment.groups import Group, count_races, count_run
from runner.experiment.invocation import Selection
from runner.experiment.procedure import NONE, Start, find_start
from runner.model.contrast import Contrast, Count, Side
from runner.model.plan import PlannedCell
from runner.model.words import Factor


@dataclass
class _Seen:
    """Everything that was run under the same conditions."""

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


class Inquiry:
    """The runs of one group.

    Args:
        group: the failures.
        cell: in which they were seen.
        bench: makes the runs.
        observer: reads the group's roots.
        left: seconds that the budget has left; asked before every run.

    Attributes:
        group: see above.
        impossible: conditions under which the test cannot be run, or says nothing, and why.
    """

    def __init__(
        self, group: Group, cell: PlannedCell, bench: Bench, observer: Observer, left: Callable[[], float]
    ) -> None:
        self.group = group
        self.impossible: dict[Conditions, str] = {}
        self._cell, self._bench, self._observer, self._left = cell, bench, observer, left
        self._seen: dict[Conditions, _Seen] = {}

    @property
    def counts(self) -> dict[Conditions, Count]:
        """What was seen so far."""
        return {conditions: one.count for conditions, one in self._seen.items()}

    def find_start(self, cache: Cache) -> Start | None:
        """The conditions under which the failure is seen again; None when the budget does not reach so far."""
        alone = Conditions(self._cell.environment, self._cell.key.gil, cache, threads=self.group.threads)
        has_company = bool(self.group.company) or self.group.test.startswith("<")
        while self._left() > 0:
            found = find_start(alone, self.counts, has_company=has_company)
            if isinstance(found, Start):
                return found
            if found in self.impossible:
                return None
            self.run(found)
        return None

    def run(self, conditions: Conditions) -> None:
        """Run the group's test once more under these conditions."""
        one = self._seen.setdefault(conditions, _Seen())
        self._bench.say(f"{self._cell.key.id}: {self.group.test} {_words(conditions)}, run {len(one.runs) + 1}")
        try:
            run = self._bench.run(self._cell, conditions, _selection(self.group, conditions), len(one.runs))
        except (UnavailableError, ExecutionError) as error:
            self.impossible[conditions] = f"{_words(conditions)} could not be tried: {error.message}"
            if not one.runs:
                del self._seen[conditions]
            return
        if self.group.threads:
            count, signatures = count_races(run.races, self._observer, self.group)
        else:
            count, signatures = count_run(run.result, self._observer, self.group)
        one.add(run, count, signatures)
        if not count.total:  # skipped, or gone: it says nothing there, however often it is asked
            self.impossible[conditions] = f"{_words(conditions)}: the test was skipped or not found"

    def with_cure(self, conditions: Conditions, times: int) -> Side | None:
        """Run the group's test with a workaround in place; None when that cannot be."""
        for _ in range(times):
            if self._left() > 0 and conditions not in self.impossible:
                self.run(conditions)
        return self._seen[conditions].side(str(conditions.cure)) if conditions in self._seen else None

    def dump(self, conditions: Conditions) -> Path:
        """Run the group's test once more, for what Triton's compiler worked on; the folder where it lies.

        Raises:
            UnavailableError, ExecutionError: the run could not be made.
        """
        self._bench.say(f"{self._cell.key.id}: {self.group.test} once more, for the compiler's IR")
        run = self._bench.run(self._cell, conditions, _selection(self.group, conditions), 0, dumps=True)
        return run.folder / DUMPED

    def contrasts(self, start: Start, plan: tuple[Candidate, ...], *, is_run: bool) -> Iterator[Contrast]:
        """What the runs make of contrasts so far.

        Args:
            start: where they start.
            plan: the contrasts that can be made.
            is_run: what was seen first is a run of this experiment, not the cell's own.
        """
        repeated = self._seen.get(start.conditions)
        if repeated is None or not repeated.count.total:
            return
        signature = self.group.root.signature
        matrix = Side(
            value="as it was",
            count=self.group.seen.count,
            source="run" if is_run else f"cell {self._cell.key.id}",
            signatures=(signature,) if signature else (),
        )
        yield self._contrast(Factor.REPEAT, matrix, repeated.side("again"))
        if start.conditions.alone and self.group.company:
            before = matrix.model_copy(update={"value": TOGETHER})
            yield self._contrast(Factor.ALONE, before, repeated.side(ALONE))
        for candidate in plan:
            one, other = self._seen.get(candidate.before), self._seen.get(candidate.after)
            if one and other and one.count.total and other.count.total:
                sides = one.side(candidate.before_value), other.side(candidate.after_value)
                yield self._contrast(candidate.factor, *sides)

    def _contrast(self, factor: Factor, before: Side, after: Side) -> Contrast:
        return Contrast(
            cell=self._cell.key.id,
            root=self.group.root.id,
            tests=(self.group.test,),
            factor=factor,
            before=before,
            after=after,
        )


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
