"""What the other cells of a matrix say already: a factor that they answer is not changed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.evidence.observed import Observed
from runner.evidence.signatures import Rules
from runner.experiment.conditions import Candidate
from runner.experiment.groups import Group
from runner.model.plan import PlannedCell


@dataclass(frozen=True)
class Known:
    """What was seen in the cells of a matrix.

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

    def silent(self, cell: PlannedCell, group: Group) -> frozenset[str]:
        """Ids of environments in which the group's test fails in another way alone, in the same GIL mode."""
        observed = self.raced if group.threads else self.observed
        found = set()
        for other in self.cells.values():
            seen = observed.get(other.key.id)
            if seen is None or other is cell or other.key.gil is not cell.key.gil or not _alike(other, cell):
                continue
            test = seen.tests.get(group.test)
            if test is not None and test.bad and group.root.id not in dict(test.bad):
                found.add(other.environment)
        return frozenset(found)


def _alike(one: PlannedCell, other: PlannedCell) -> bool:
    left, right = one.settings, other.settings
    return (left.tests, left.pytest_args, left.env, left.workdir) == (
        right.tests,
        right.pytest_args,
        right.env,
        right.workdir,
    )
