"""A case: one root with everything that is known about it, in the terms of the decision table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from runner.evidence.observed import RootSeen
from runner.evidence.root import RootKey
from runner.evidence.siblings import Comparison
from runner.evidence.signatures import Rule
from runner.evidence.trace import frames
from runner.model.contrast import ControlPart, Count, Trial
from runner.model.words import Confidence, Factor, Status
from runner.verdict.effects import Effect, effects_of, pool

_RANK = {Confidence.PROVEN: 0, Confidence.LIKELY: 1, Confidence.CANNOT_TELL: 2}


@dataclass(frozen=True)
class Control:
    """The control suite in one cell, seen from one root."""

    parts: tuple[ControlPart, ...]
    root: RootKey

    @property
    def same(self) -> tuple[ControlPart, ...]:
        """Parts that fail with this very root or signature."""
        return tuple(
            part
            for part in self._failing
            if (self.root.signature and self.root.signature in part.signatures) or self.root.failure in part.roots
        )

    @property
    def others(self) -> tuple[ControlPart, ...]:
        """Parts that fail with other signatures, all of them known."""
        return tuple(part for part in self._failing if part not in self.same and part.signatures)

    @property
    def is_green(self) -> bool:
        """Something of it ran, and nothing failed but what is known to be of another root."""
        ran = [part for part in self.parts if part.count is not None and part.count.total and not part.mark]
        return bool(ran) and all(part in self.others for part in self._failing)

    @property
    def skipped(self) -> tuple[ControlPart, ...]:
        """Parts that were not run."""
        return tuple(part for part in self.parts if part.skipped is not None)

    @property
    def _failing(self) -> tuple[ControlPart, ...]:
        wrong = (part for part in self.parts if part.count and part.count.failed + part.count.other and not part.mark)
        return tuple(wrong)

    @property
    def state(self) -> str:
        """`same`, `green`, `other` (something else fails, unexplained) or `none` (not run)."""
        if self.same:
            return "same"
        if self.is_green:
            return "green"
        return "other" if self._failing else "none"


@dataclass(frozen=True)
class Case:
    """One root, the cells in which it was seen, and what changing one factor at a time did.

    Attributes:
        root, rule: the root, and its signature when it is a known one.
        seen: cell id to what was seen of it, in the plan's order.
        statuses: cell id to the cell's status.
        comparisons: those of these cells and this root, siblings first, then runs.
        controls: cell id to the control, for cells in which it was run.
        trials: workarounds that were run.
    """

    root: RootKey
    rule: Rule | None
    seen: dict[str, RootSeen]
    statuses: dict[str, Status]
    comparisons: tuple[Comparison, ...]
    controls: dict[str, Control]
    trials: tuple[Trial, ...] = ()

    @property
    def cells(self) -> tuple[str, ...]:
        """Ids of the cells that show it."""
        return tuple(self.seen)

    @property
    def tests(self) -> tuple[str, ...]:
        """Ids of the tests that show it, each once."""
        return tuple(dict.fromkeys(test for seen in self.seen.values() for test in seen.tests))

    @property
    def followers(self) -> tuple[str, ...]:
        """Ids of the tests that only follow it: they failed after the CUDA context was lost."""
        return tuple(dict.fromkeys(test for seen in self.seen.values() for test in seen.followers))

    @property
    def died_in_triton(self) -> bool:
        """Whether a file of Triton's is among the innermost frames of the process that died."""
        return any(label.startswith("triton/") for label in self.root.frames)

    @property
    def stood_in_own_code(self) -> bool:
        """Whether every thread was in code of the project or of Python itself when the test was stopped."""
        stacks = [frames(seen.sample.stack or "") for seen in self.seen.values()]
        return all(stacks) and all(not frame.is_foreign or frame.is_plain for stack in stacks for frame in stack)

    @cached_property
    def repeat(self) -> Count | None:
        """The repetitions under the same conditions, or None when there were none."""
        again = [one.after for one in self.comparisons if one.factor is Factor.REPEAT]
        return pool(tally for after in again for tally in after) if again else None

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """What each changed factor did, one for each value that it was changed to."""
        return effects_of(self.comparisons)

    @cached_property
    def count(self) -> Count:
        """How often it was seen: in the repetitions, or else in the matrix run."""
        if self.repeat is not None:
            return self.repeat
        counts = [seen.count for seen in self.seen.values()]
        return Count(
            failed=sum(count.failed for count in counts),
            other=sum(count.other for count in counts),
            total=sum(count.total for count in counts),
            processes=sum(count.trials for count in counts),
        )

    def cure(self, factor: Factor, *, not_to: str = "") -> Effect | None:
        """The surest effect of a factor, changed to something else than `not_to`, that takes the failure away.

        A failure that comes and goes by itself is also gone by chance, and many factors are tried: it takes a proof.
        """
        cures = [e for e in self.effects if e.factor is factor and e.cures and e.after_value != not_to]
        if self.comes_and_goes:
            cures = [e for e in cures if e.strength.confidence is Confidence.PROVEN]
        return min(cures, key=lambda e: (_RANK[e.strength.confidence], e.strength.p, e.after_value), default=None)

    @property
    def comes_and_goes(self) -> bool:
        """Whether repetitions under the same conditions both failed and passed."""
        repeat = self.repeat
        return repeat is not None and 0 < repeat.failed < repeat.total - repeat.other

    def rules_out(self, factor: Factor) -> Effect | None:
        """The effect that shows that a factor is not needed for the failure, or None."""
        if self.cure(factor):
            return None
        return next((effect for effect in self.effects if effect.factor is factor and effect.rules_out), None)

    @property
    def control_state(self) -> str:
        """The control over all cells: `same` if in any, `green` only if in every one, else `none` or `other`."""
        states = {self.controls[cell].state if cell in self.controls else "none" for cell in self.seen}
        if "same" in states:
            return "same"
        return states.pop() if len(states) == 1 else "none"

    @property
    def same_in_control(self) -> tuple[ControlPart, ...]:
        """Parts of the control that show this root, of all cells."""
        return tuple(part for cell in self.seen if cell in self.controls for part in self.controls[cell].same)

    def only(self, cells: Sequence[str]) -> Case:
        """The same root in some of its cells."""
        return Case(
            self.root,
            self.rule,
            {cell: seen for cell, seen in self.seen.items() if cell in cells},
            self.statuses,
            tuple(
                replace(one, before=before)
                for one in self.comparisons
                if any(tally.cell in cells for tally in one.before)
                and (before := tuple(t for t in one.before if t.cell in cells or t.cell not in self.seen))
            ),
            {cell: control for cell, control in self.controls.items() if cell in cells},
            self.trials,
        )
