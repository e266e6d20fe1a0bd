"""The decision table: which evidence gives which cause, with which confidence.

Read it from the top: the first row whose conditions all hold decides. docs/attribution.md is made from it, with an
example for each row.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.evidence.signatures import Category
from runner.model.words import Cause, Confidence, Factor
from runner.verdict.case import Case
from runner.verdict.conditions import (
    CANNOT_TELL,
    CONTROL_GREEN,
    CONTROL_SAME,
    CONTROL_THREADS,
    FLAKY,
    INFRA,
    LIKELY,
    NO_LEAD,
    NOT_THREADS,
    OF_BASE,
    OF_BUILD,
    OF_CACHE,
    OF_COMPANY,
    OF_GIL,
    OF_PYTHON,
    OF_THREADS,
    OF_TRITON,
    ON_BASE,
    PROJECTS,
    REPEATABLE,
    STATES,
    UNSTATED,
    Condition,
    Proof,
    base,
    control_counts,
    control_shows,
    flaky,
    points_to,
    strength_of,
    threads,
    weakest,
)


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
        id: stable name.
        when: all must hold.
        cause: what the finding says; None for what the signature points to.
        proof: see `Proof`.
        sentence: what it means, for the finding's first piece of evidence.
        next_step: what a person can do, where the signature has nothing more exact.
    """

    id: str
    when: tuple[Condition, ...]
    cause: Cause | None
    proof: Proof
    sentence: str
    next_step: str = ""

    def fits(self, case: Case) -> bool:
        """Whether every condition holds."""
        return all(condition.holds(case) for condition in self.when)


_TRITON = strength_of("both Triton versions", Factor.TRITON)
_GIL = strength_of("both GIL modes", Factor.GIL, not_to="off")
_THREADS = strength_of("several threads and one", Factor.THREADS)
_BISECT = "Run triton-compat bisect for the first release that fails, and pin a release that passes until then."

TABLE: tuple[Row, ...] = (
    Row(
        "infra",
        (INFRA,),
        Cause.INFRA,
        Proof("at most likely: an observation, not a contrast", lambda _: LIKELY),
        "There is positive evidence that the machine is at fault.",
        "Run the cell again on another machine, and read the cell's reason for what this one lacks.",
    ),
    Row(
        "stale-cache",
        (OF_CACHE,),
        Cause.STALE_CACHE,
        strength_of("the cache as found and a fresh one", Factor.FRESH_CACHE),
        "The cache directory holds something that this environment cannot use; with a fresh one the failure is gone.",
        "Delete the cache directory, and give every environment a TRITON_CACHE_DIR of its own.",
    ),
    Row(
        "regression",
        (OF_BASE,),
        Cause.REGRESSION,
        strength_of("this commit and the base commit", Factor.BASE_COMMIT),
        "The base commit passes under the same conditions, so the change brought it.",
        "Read the change for what this test touches; triton-compat repro prints the commands for both commits.",
    ),
    Row(
        "threads-in-control",
        (CONTROL_SAME, points_to(Category.THREAD_SAFETY), CONTROL_THREADS),
        Cause.THREAD_SAFETY,
        Proof("the control's part with several threads against the same with one; without that, likely", threads),
        "Triton alone shows it from several threads, so it is Triton's.",
        "Put one lock around the calls, and report the control's part to Triton.",
    ),
    Row(
        "compiler",
        (OF_TRITON, points_to(Category.COMPILER)),
        Cause.COMPILER,
        _TRITON,
        "The same test compiles with another Triton, so it is this Triton's compiler.",
        _BISECT,
    ),
    Row(
        "toolchain",
        (OF_TRITON, points_to(Category.TOOLCHAIN)),
        Cause.TOOLCHAIN,
        _TRITON,
        "The same test passes with another Triton, which brings another ptxas.",
        _BISECT,
    ),
    Row(
        "triton-version",
        (OF_TRITON,),
        Cause.TRITON_VERSION,
        _TRITON,
        "It depends on the Triton version alone.",
        _BISECT,
    ),
    Row(
        "gil-in-control",
        (OF_GIL, CONTROL_SAME),
        Cause.THREAD_SAFETY,
        _GIL,
        "It depends on the GIL mode alone, and Triton alone shows it too, so it is Triton's.",
        "Run these cells with PYTHON_GIL=1, and report the control's part to Triton.",
    ),
    Row(
        "gil-in-project",
        (OF_GIL, CONTROL_GREEN, PROJECTS),
        Cause.PROJECT,
        weakest(_GIL),
        "It depends on the GIL mode alone, and the control is green, so it is the project's own.",
        "Look for state that threads share without a lock, from the stack's innermost frame on. Meanwhile PYTHON_GIL=1 "
        "avoids it.",
    ),
    Row(
        "gil",
        (OF_GIL,),
        Cause.THREAD_SAFETY,
        weakest(_GIL, "whose it is was not found out"),
        "It depends on the GIL mode alone. Whose it is cannot be told before the control has run in these cells.",
        "Run these cells with PYTHON_GIL=1 meanwhile, and run triton-compat experiment for the control.",
    ),
    Row(
        "threads-in-project",
        (OF_THREADS, UNSTATED, CONTROL_GREEN, PROJECTS),
        Cause.PROJECT,
        weakest(_THREADS),
        "It takes several threads at once, and Triton alone works from several threads, so it is the project's own.",
        "Look for state that these calls share without a lock, from the stack's innermost frame on. What fails with "
        "the GIL on as well is no matter of free threading.",
    ),
    Row(
        "threads",
        (OF_THREADS, UNSTATED),
        Cause.THREAD_SAFETY,
        weakest(_THREADS, "whose it is was not found out"),
        "It takes several threads at once. Whose it is cannot be told from the control in these cells.",
        "Look at what these calls share, in the frame that the stack ends in. What fails with the GIL on as well is no "
        "matter of free threading.",
    ),
    Row(
        "build",
        (OF_BUILD,),
        Cause.PYTHON_ABI,
        strength_of("both builds, each with the GIL on", Factor.BUILD),
        "It depends on the build of Python, with the GIL on in both.",
        "Run triton-compat audit in this cell: it names the extension modules that are not built for this interpreter.",
    ),
    Row(
        "python",
        (OF_PYTHON,),
        Cause.PYTHON_ABI,
        strength_of("both Python versions", Factor.PYTHON),
        "It depends on the Python version alone.",
        "Read what changed between these two Python versions in what the stack's innermost frames call.",
    ),
    Row(
        "control",
        (CONTROL_SAME, NOT_THREADS),
        None,
        Proof(
            "proven when the text states the fact and the control's part fails every time; else likely", control_shows
        ),
        "The control shows it without any project code.",
    ),
    Row(
        "stated",
        (STATES,),
        None,
        Proof("at most likely without a contrast", lambda _: LIKELY),
        "The message itself states what is missing or exceeded.",
    ),
    Row(
        "order",
        (OF_COMPANY, CONTROL_GREEN, PROJECTS),
        Cause.PROJECT,
        weakest(strength_of("alone and together with the other tests", Factor.ALONE)),
        "Alone it passes: another test in the same process leaves something behind.",
        "Run the file in halves before this test to find which one; then undo what it changes in a fixture.",
    ),
    Row(
        "flaky",
        (FLAKY,),
        Cause.FLAKY,
        Proof("proven when repetitions both fail and pass; likely when only the matrix run failed", flaky),
        "Nothing was changed, and it sometimes passes.",
        "Repeat it as often as the evidence says before and after a fix; a single pass says nothing.",
    ),
    Row(
        "pre-existing",
        (ON_BASE,),
        Cause.PRE_EXISTING,
        Proof("proven when the base commit fails every time, at least 3 times; else likely", base),
        "The base commit fails as well, so this change did not bring it.",
        "Fix it apart from this change, or record it under expect: with an owner, a link and an expiry.",
    ),
    Row(
        "project",
        (CONTROL_GREEN, PROJECTS, REPEATABLE, NO_LEAD),
        Cause.PROJECT,
        Proof(
            "its counts against those of the control, at most likely: no control covers all of Triton", control_counts
        ),
        "It fails every time, no changed factor takes it away, and Triton alone works here.",
        "Start at the innermost frame of the project in the stack.",
    ),
    Row(
        "unexplained",
        (),
        Cause.UNEXPLAINED,
        Proof("cannot tell", lambda _: CANNOT_TELL),
        "No contrast decides it.",
        "Run triton-compat experiment with a larger --budget, so that one factor at a time is changed.",
    ),
)


def decide(case: Case) -> tuple[Row, Confidence]:
    """The first row that fits and has at least some confidence; the last row fits everything."""
    for row in TABLE:
        if row.fits(case) and ((found := row.proof.of(case)) is not CANNOT_TELL or row is TABLE[-1]):
            return row, found
    raise AssertionError("the last row fits every case")
