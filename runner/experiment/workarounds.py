"""Workarounds that were run: what a contrast showed to help, and what is tried because a signature suggests it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from runner.evidence.signatures import Category
from runner.evidence.statistics import strength
from runner.experiment.conditions import Conditions, Cure
from runner.experiment.groups import Group
from runner.model.contrast import Contrast, Side, Trial
from runner.model.words import Confidence, Factor

Try = Callable[[Conditions, int], Side | None]
TIMES = 5
"""Runs with a workaround in place."""
_AUTOTUNER = "autotuner-nargs-none"


def workarounds(group: Group, contrasts: Sequence[Contrast], start: Conditions, run: Try) -> Iterator[Trial]:
    """What was run and helped, from the contrasts, and what is run now.

    Args:
        group: the failures.
        contrasts: of their root, in this cell.
        start: the conditions under which they are seen.
        run: runs the group's test so many times under the given conditions; None when it cannot.
    """
    for contrast in contrasts:
        title = _title(contrast)
        helps = strength(contrast.before.count, contrast.after.count).confidence is not Confidence.CANNOT_TELL
        if title is not None and helps:
            after = contrast.after
            yield Trial(root=group.root.id, title=title, command=after.command, env=after.env, count=after.count)
    if group.root.signature == _AUTOTUNER or Category.THREAD_SAFETY in group.categories[:1]:
        side = run(replace(start, cure=Cure.AUTOTUNER_LOCK), TIMES)
        if side is not None and side.count.total:
            yield Trial(
                root=group.root.id,
                title="put one lock around every call of an autotuned kernel (pytest plugin autotuner_lock)",
                command=side.command,
                env=side.env,
                count=side.count,
            )


def _title(contrast: Contrast) -> str | None:
    after = contrast.after
    match contrast.factor:
        case Factor.FRESH_CACHE:
            return "give every environment cache directories of its own, or delete the old ones"
        case Factor.GIL if after.value == "on":
            return "run with PYTHON_GIL=1"
        case Factor.TRITON:
            return f"use Triton {after.value}"
        case Factor.BUILD | Factor.PYTHON:
            return f"use Python {after.value}"
        case Factor.ALONE:
            return "run this test in a process of its own"
        case _:
            return None
