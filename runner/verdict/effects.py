"""What changing one factor did to a root: counts of all cells together, and how surely it takes the failure away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.evidence.siblings import Comparison, Tally
from runner.evidence.statistics import Strength, strength
from runner.model.contrast import Contrast, Count
from runner.model.words import Confidence, Factor

_NOT_TRIED = frozenset({Factor.REPEAT, Factor.CONTROL})
_FACTORS = {factor: number for number, factor in enumerate(Factor)}


@dataclass(frozen=True)
class Effect:
    """What changing one factor to one value did, over all cells in which it was tried.

    Attributes:
        factor, before_value, after_value: what was changed, from what to what.
        before, after: pooled counts; no side of a contrast is counted twice.
        strength: how surely the change takes the failure away.
        sources: where the counts come from, each once.
    """

    factor: Factor
    before_value: str
    after_value: str
    before: Count
    after: Count
    strength: Strength
    sources: tuple[str, ...]

    @property
    def cures(self) -> bool:
        """The failure is surely enough there before and less so after."""
        return self.strength.confidence is not Confidence.CANNOT_TELL

    @property
    def rules_out(self) -> bool:
        """The same root is there with the factor changed, and no less so: the factor is not needed for it."""
        return self.after.failed > 0 and not self.cures


def effects_of(comparisons: Sequence[Comparison]) -> tuple[Effect, ...]:
    """The effects of all comparisons of one root, one for each value that a factor was changed to."""
    tried = max(1, len({one.factor for one in comparisons} - _NOT_TRIED))
    repeats = {tally.cell: tally for one in comparisons if one.factor is Factor.REPEAT for tally in one.after}
    groups: dict[tuple[Factor, str], list[Comparison]] = {}
    for one in comparisons:
        if one.factor is not Factor.REPEAT:
            groups.setdefault((one.factor, one.after[0].value), []).append(one)
    values = Counter(factor for factor, _ in groups)
    found = []
    for (factor, value), group in groups.items():
        before = [tally for one in group for tally in one.before]
        after = [tally for one in group for tally in one.after]
        seen, changed = pool(_seen(before, repeats, factor)), pool(_changed(after, repeats))
        found.append(
            Effect(
                factor,
                ", ".join(sorted({tally.value for tally in before})),
                value,
                seen,
                changed,
                strength(seen, changed, 1 if factor in _NOT_TRIED else tried * _chances(after, values[factor])),
                tuple(sorted({tally.source for tally in after})),
            )
        )
    return tuple(sorted(found, key=lambda effect: (_FACTORS[effect.factor], effect.after_value)))


def _chances(after: Sequence[Tally], values: int) -> int:
    """How many values could have been the one without the failure: a run was made for one, a matrix offers them all."""
    return 1 if any(tally.source == "run" for tally in after) else values


def pool(tallies: Iterable[Tally]) -> Count:
    """Several tallies together. One that several comparisons share (a cell, or one and the same run) counts once.

    Over different tests of a cell, the most attempts count, and among as many those that show the root most often.
    """
    once: dict[str | tuple[str, ...], Count] = {}
    for number, tally in enumerate(tallies):
        key: str | tuple[str, ...] = tally.source
        if key == "run":
            key = (tally.cell, tally.value, tally.started or str(number))
        known = once.get(key)
        if known is None or (tally.count.total, tally.count.failed) > (known.total, known.failed):
            once[key] = tally.count
    failed = other = total = processes = 0
    for count in once.values():
        failed, other, total = failed + count.failed, other + count.other, total + count.total
        processes += count.trials
    return Count(failed=failed, other=other, total=total, processes=processes)


def compared(contrast: Contrast) -> Comparison:
    """A contrast that was run. One that goes to the cache as found is read the other way: what a fresh one does."""
    factor, before, after = contrast.factor, contrast.before, contrast.after
    if factor is Factor.CACHE_AS_FOUND:
        factor, before, after = Factor.FRESH_CACHE, after, before
    sides = (Tally(contrast.cell, side.value, side.count, side.source, side.started) for side in (before, after))
    first, second = sides
    return Comparison(factor, (first,), (second,))


def _seen(tallies: Iterable[Tally], repeats: Mapping[str, Tally], factor: Factor) -> Iterator[Tally]:
    """Where the root was seen: a matrix run was looked at because it failed, so repetitions speak in its place.

    A side that was run stands for itself, and repetitions of a test alone say nothing about it in company.
    """
    for tally in tallies:
        again = repeats.get(tally.cell) if tally.source != "run" and factor is not Factor.ALONE else None
        yield tally if again is None else replace(again, value=tally.value)


def _changed(tallies: Iterable[Tally], repeats: Mapping[str, Tally]) -> Iterator[Tally]:
    """What was seen with the factor changed: where the same failure was repeated in a sibling, the repetitions."""
    for tally in tallies:
        again = repeats.get(tally.cell) if tally.source != "run" and tally.count.failed else None
        yield tally if again is None else replace(tally, count=again.count)
