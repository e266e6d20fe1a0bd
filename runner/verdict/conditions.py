"""What the rows of the decision table are made of: conditions on a case, and how its counts give a confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.evidence.signatures import Category
from runner.evidence.statistics import PROVEN_TRIALS, strength
from runner.model.contrast import Count
from runner.model.words import Confidence, Factor, Outcome, Status
from runner.verdict.case import Case

LIKELY, PROVEN, CANNOT_TELL = Confidence.LIKELY, Confidence.PROVEN, Confidence.CANNOT_TELL


@dataclass(frozen=True)
class Condition:
    """A condition of a row, in words and in code."""

    words: str
    holds: Callable[[Case], bool]


@dataclass(frozen=True)
class Proof:
    """How a row's confidence comes from the counts, in words and in code."""

    words: str
    of: Callable[[Case], Confidence]


def cured_by(words: str, factor: Factor, *, not_to: str = "") -> Condition:
    """A condition: changing this factor, to another value than `not_to`, takes the failure away, at least likely."""
    return Condition(words, lambda case: case.cure(factor, not_to=not_to) is not None)


def strength_of(words: str, factor: Factor, *, not_to: str = "") -> Proof:
    """A proof: the confidence of the contrast of this factor."""

    def of(case: Case) -> Confidence:
        effect = case.cure(factor, not_to=not_to)
        return effect.strength.confidence if effect else CANNOT_TELL

    return Proof(f"the counts of {words}", of)


def points_to(*categories: Category) -> Condition:
    """A condition: the first category of the signature is one of these."""
    names = " or ".join(categories)
    return Condition(
        f"the signature points to {names}",
        lambda case: case.rule is not None and case.rule.categories[0] in categories,
    )


def weakest(proof: Proof, why: str = "no control covers all of Triton") -> Proof:
    """A proof that never says more than likely."""

    def of(case: Case) -> Confidence:
        return LIKELY if (found := proof.of(case)) is PROVEN else found

    return Proof(f"{proof.words}, at most likely: {why}", of)


def _states_elsewhere(case: Case) -> bool:
    return case.rule is not None and case.rule.states and case.rule.categories[0] is not Category.PROJECT


def _is_projects(case: Case) -> bool:
    """Whether nothing about the signature and the stack leads away from the project."""
    fails_elsewhere = case.rules_out(Factor.TRITON) is not None
    if case.rule is None:
        # Native code that Triton called ended the process: Triton's compiler, until other releases do the same.
        return fails_elsewhere or not (case.root.death and case.died_in_triton)
    if case.root.death == Outcome.TIMED_OUT.value:
        return case.stood_in_own_code
    if Category.PROJECT not in case.rule.categories:
        return False
    # A text that a compiler's fault leaves as well: only another Triton that fails the same speaks for the project.
    return Category.COMPILER not in case.rule.categories or fails_elsewhere


def control_counts(case: Case) -> Confidence:
    """The failure's counts against those of the control beside it, at most likely."""
    parts = [part for control in case.controls.values() for part in control.parts if not part.mark]
    passed = sum(part.count.total for part in parts if part.count is not None and part.count.failed == 0)
    found = strength(case.count, Count(failed=0, total=passed)).confidence
    return LIKELY if found is PROVEN else found


def control_shows(case: Case) -> Confidence:
    """How surely the control shows the same fact."""
    counts = [part.count for part in case.same_in_control if part.count is not None]
    certain = any(count.failed == count.total and count.trials >= PROVEN_TRIALS for count in counts)
    return PROVEN if certain and case.rule is not None and case.rule.states else LIKELY


def threads(case: Case) -> Confidence:
    """Compares the control's part with several threads to the same part with one, in each cell."""
    found = []
    for control in case.controls.values():
        by_id = {part.id: part for part in control.parts}
        for part in control.same:
            single = by_id.get(part.single or "")
            if part.threads > 1 and part.count and single and single.count:
                found.append(strength(part.count, single.count).confidence)
    if not found:
        return LIKELY
    return PROVEN if PROVEN in found else LIKELY if LIKELY in found else CANNOT_TELL


def base(case: Case) -> Confidence:
    """How surely the base commit fails too."""
    effect = case.rules_out(Factor.BASE_COMMIT)
    if effect is None:
        return CANNOT_TELL
    return PROVEN if effect.after.trials >= PROVEN_TRIALS and effect.after.failed == effect.after.total else LIKELY


def flaky(case: Case) -> Confidence:
    """Proven when repetitions both failed and passed."""
    return PROVEN if case.repeat and 0 < case.repeat.failed < case.repeat.total else LIKELY


def _is_flaky(case: Case) -> bool:
    if case.repeat is None or not case.repeat.total:
        return False
    passed = case.repeat.total - case.repeat.failed - case.repeat.other
    if case.root.raced and not case.repeat.failed:
        return False  # a race is repeated by itself: what the races before it left behind was changed too
    return passed > 0 if case.repeat.failed else passed >= PROVEN_TRIALS


def _has_lead(case: Case) -> bool:
    """Whether a factor was changed and the failure not seen, in too few attempts to tell."""
    return any(one.before.failed and one.after.total > one.after.failed + one.after.other for one in case.effects)


INFRA = Condition("every cell has status infra", lambda c: all(c.statuses[i] is Status.INFRA for i in c.cells))
CONTROL_SAME = Condition("the control shows the same signature", lambda case: case.control_state == "same")
CONTROL_GREEN = Condition("the control is green in every cell", lambda case: case.control_state == "green")
CONTROL_THREADS = Condition(
    "the control shows it in a part with several threads",
    lambda case: any(part.threads > 1 for part in case.same_in_control),
)
NOT_THREADS = Condition(
    "the signature points to neither threads nor the project",
    lambda case: case.rule is not None and case.rule.categories[0] not in (Category.THREAD_SAFETY, Category.PROJECT),
)
STATES = Condition("the text states the fact itself, and not of the project", _states_elsewhere)
UNSTATED = Condition("the text does not state another fact itself", lambda case: not _states_elsewhere(case))
FLAKY = Condition("repeated under the same conditions, it sometimes passes", _is_flaky)
ON_BASE = Condition("the base commit fails too", lambda case: case.rules_out(Factor.BASE_COMMIT) is not None)
PROJECTS = Condition(
    "nothing leads elsewhere (an illegal access and a death below Triton's frames do, until another Triton fails too; "
    "a test that did not end does, unless every thread stood in the project's or Python's own code)",
    _is_projects,
)
REPEATABLE = Condition(
    "repeated at least 3 times, it failed every time",
    lambda case: case.repeat is not None and case.repeat.failed == case.repeat.total >= PROVEN_TRIALS,
)
NO_LEAD = Condition("no changed factor with which it was not seen", lambda case: not _has_lead(case))
OF_CACHE = cured_by("a fresh cache takes it away", Factor.FRESH_CACHE)
OF_BASE = cured_by("it is not there on the base commit", Factor.BASE_COMMIT)
OF_TRITON = cured_by("another Triton takes it away", Factor.TRITON)
OF_GIL = cured_by("with the GIL on it is not there", Factor.GIL, not_to="off")
OF_THREADS = cured_by("as many calls from one thread do not show it", Factor.THREADS)
OF_BUILD = cured_by("the other build of the same Python takes it away", Factor.BUILD)
OF_PYTHON = cured_by("another Python version takes it away", Factor.PYTHON)
OF_COMPANY = cured_by("alone in a process it passes", Factor.ALONE)
