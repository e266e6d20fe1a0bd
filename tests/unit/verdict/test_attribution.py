from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.evidence.root import fingerprint
from runner.model.contrast import Contrast, Contrasts, ControlPart, Count, Trial
from runner.model.result import Attempt
from runner.model.words import Cause, Confidence, Factor, GilMode, Outcome, Status
from runner.verdict.attribution import attribute, findings_of_cell
from tests.unit.verdict.building import GOOD, GREEN, contrast, contrasts, only, part, plan, result, results, said
from tests.unit.verdict.examples import (
    EXAMPLES,
    HELPER,
    NARGS,
    NO_CC,
    OFF,
    ON,
    PTXAS,
    RACE,
    RESOURCE,
    SELECT,
    SITE,
    STUCK,
    WRONG,
    crashed,
    failed,
)

MATRIX = plan(("3.12", "3.13", "3.13t"), ("3.3.1", "3.7.0"))
ONE = plan(gils=(GilMode.OFF,))
ILLEGAL = failed("RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered", "tests/test_a.py:test")


def alone(attempt: Attempt, *made: Contrast, control: tuple[ControlPart, ...] = ()) -> tuple[Cause, Confidence, str]:
    """Cause, confidence and words for one failing cell with these contrasts."""
    finding = only(ONE, results(ONE, {"off": attempt}), contrasts(OFF, *made, control=control))
    return finding.cause, finding.confidence, said(finding)


class TestGrouping:
    def test_500_tests_of_one_root_are_one_finding(self) -> None:
        tests = {
            f"test_a.py::test_{i}": failed("ValueError: 7 is bad", f"test_a.py:test_{i}", "src/p/k.py:f")
            for i in range(500)
        }
        (finding,) = attribute(ONE, [result(ONE, OFF, tests)])
        assert len(finding.tests) == 500
        assert "500 tests in 1 cell show it." in said(finding, "count")

    def test_different_roots_are_different_findings(self) -> None:
        tests = {"a": WRONG, "b": RACE, "c": RESOURCE, "d": GOOD}
        found = attribute(ONE, [result(ONE, OFF, tests)])
        assert sorted(finding.tests for finding in found) == [("a",), ("b",), ("c",)]

    def test_a_green_matrix_has_no_findings(self) -> None:
        assert attribute(MATRIX, results(MATRIX, {})) == ()

    def test_what_follows_a_dead_context_is_secondary(self) -> None:
        later = failed("RuntimeError: CUDA error: unspecified launch failure", "tests/test_a.py:other")
        unrelated = failed("KeyError: 'x'", "src/p/k.py:g")
        tests = {"first": ILLEGAL, "second": later, "third": unrelated, "fourth": later.model_copy(update={"pid": 2})}
        found = {finding.tests: finding for finding in attribute(ONE, [result(ONE, OFF, tests)])}
        assert set(found) == {("first", "second"), ("third",), ("fourth",)}
        assert "Secondary, after the CUDA context was lost to it: 1 test: second." in said(found["first", "second"])

    def test_what_the_compiler_said_is_in_the_title(self) -> None:
        text = "python: a.cpp:3: void mlir::f(): Assertion `idx < size()' failed."
        died = crashed(f"{SITE}/triton/backends/nvidia/compiler.py:make_llir", signal="SIGABRT", before=text)
        (finding,) = attribute(ONE, results(ONE, {"off": died}))
        place = "triton/backends/nvidia/compiler.py:make_llir"
        assert finding.title == f"The process died (SIGABRT), in {place}: idx < size()"
        gone = failed("ModuleNotFoundError: No module named 'einops'", "tests/test_a.py:test")
        (finding,) = attribute(ONE, results(ONE, {"off": gone}))
        assert finding.title == "ModuleNotFoundError: No module named 'einops'"

    def test_a_cell_that_is_not_in_the_plan_is_left_out(self) -> None:
        assert attribute(ONE, results(MATRIX, {"gil-on": WRONG})) == ()

    def test_findings_of_one_cell(self) -> None:
        found = attribute(MATRIX, results(MATRIX, {"3.13t-gil-off-triton3.3.1": WRONG}))
        assert findings_of_cell(found, OFF) == found
        assert findings_of_cell(found, ON) == ()


class TestCounts:
    def test_one_and_the_same_run_counts_once(self) -> None:
        """The repetitions stand in for the cell beside its sibling, and they are a contrast's first side as well."""
        both = plan(gils=(GilMode.ON, GilMode.OFF))
        gil = contrast(OFF, WRONG, Factor.GIL, ("off", 6, 6), ("on", 0, 6))
        repeat = contrast(OFF, WRONG, Factor.REPEAT, ("as it was", 1, 1), ("again", 6, 6))
        repeat = repeat.model_copy(update={"after": gil.before.model_copy(update={"value": "again"})})
        finding = only(both, results(both, {"gil-off": WRONG}), contrasts(OFF, repeat, gil))
        assert "gil: off 6 of 6 failed, on 0 of 7 failed" in said(finding, "contrast")


class TestWhose:
    def test_a_race_in_both_gil_modes_is_not_tritons_without_the_control(self) -> None:
        cause, confidence, words = alone(NARGS, contrast(OFF, NARGS, Factor.GIL, ("off", 9, 20), ("on", 11, 20)))
        assert (cause, confidence) == (Cause.UNEXPLAINED, Confidence.CANNOT_TELL)
        assert "A lead to thread-safety" in words
        assert "Triton's" not in words

    def test_the_control_with_one_thread_that_fails_as_well_is_no_race(self) -> None:
        control = (
            part("autotune-threads", 6, 6, "autotuner-nargs-none", threads=8, single="autotune"),
            part("autotune", 6, 6, "autotuner-nargs-none"),
        )
        assert alone(NARGS, control=control)[0] is Cause.UNEXPLAINED

    def test_a_known_failure_of_another_root_does_not_take_the_green_away(self) -> None:
        """Triton's own autotuner race is in every control; a project's race stays the project's."""
        control = (*GREEN, part("autotune-threads", 14, 20, "autotuner-nargs-none", threads=8))
        gil = contrast(OFF, RACE, Factor.GIL, ("off", 6, 6), ("on", 0, 6))
        cause, confidence, words = alone(RACE, gil, control=control)
        assert (cause, confidence) == (Cause.PROJECT, Confidence.LIKELY)
        assert "autotune threads fails with another signature (autotuner-nargs-none)" in words

    @pytest.mark.parametrize(
        ("waits_in", "cause"),
        [
            ("src/p/queue.py", Cause.PROJECT),
            ("/usr/lib/python3.13t/threading.py", Cause.PROJECT),
            (f"{SITE}/triton/runtime/jit.py", Cause.THREAD_SAFETY),
            (f"{SITE}/torch/cuda/__init__.py", Cause.THREAD_SAFETY),
        ],
    )
    def test_a_hang_is_the_projects_where_every_thread_is_in_its_own_code(self, waits_in: str, cause: Cause) -> None:
        stack = (
            f'Thread 0x00007f3a5c0d1741 (most recent call first):\n  File "{waits_in}", line 9 in wait\n\n'
            "Current thread 0x00007f3a5c0d1740 (most recent call first):\n"
            '  File "/usr/lib/python3.13t/threading.py", line 359 in join\n  File "tests/test_a.py", line 8 in test\n'
            f'  File "{SITE}/_pytest/python.py", line 187 in pytest_pyfunc_call\n'
        )
        hang = Attempt(outcome=Outcome.TIMED_OUT, stack=stack, message="took longer than 3 s", pid=1)
        gil = contrast(OFF, hang, Factor.GIL, ("off", 6, 6), ("on", 0, 6))
        found, confidence, words = alone(hang, gil, control=GREEN)
        assert (found, confidence) == (cause, Confidence.LIKELY)
        assert "no race between threads" not in words

    def test_a_death_below_tritons_frames_is_not_the_projects_whatever_is_said(self) -> None:
        """The text that LLVM or MLIR printed may be new, or lost."""
        died = crashed(f"{SITE}/triton/backends/nvidia/compiler.py:make_llir", "tests/test_a.py:test", signal="SIGABRT")
        repeat = contrast(OFF, died, Factor.REPEAT, ("as it was", 1, 1), ("again", 5, 5))
        assert fingerprint(died).signature == ""
        assert alone(died, repeat, control=GREEN)[0] is Cause.UNEXPLAINED
        same = contrast(OFF, died, Factor.TRITON, ("3.3.1", 5, 5), ("3.6.0", 5, 5))
        assert alone(died, repeat, same, control=GREEN)[0] is Cause.PROJECT

    def test_an_unexplained_failure_of_the_control_does(self) -> None:
        gil = contrast(OFF, RACE, Factor.GIL, ("off", 6, 6), ("on", 0, 6))
        cause, _, words = alone(RACE, gil, control=(*GREEN, part("launch", 1, 6)))
        assert cause is Cause.THREAD_SAFETY
        assert "does not clear Triton" in words

    def test_a_control_of_which_nothing_ran_clears_nobody(self) -> None:
        skipped = ControlPart(id="launch", title="launch", needs_gpu=True, skipped="no SM90 GPU here")
        cause, _, words = alone(WRONG, contrast(OFF, WRONG, Factor.REPEAT, ("", 1, 1), ("", 6, 6)), control=(skipped,))
        assert cause is Cause.UNEXPLAINED
        assert "Not run: launch (no SM90 GPU here)." in words
        gil = contrast(OFF, RACE, Factor.GIL, ("off", 6, 6), ("on", 0, 6))
        assert alone(RACE, gil, control=(skipped,))[0] is Cause.THREAD_SAFETY

    def test_a_mark_is_no_failure_of_the_control(self) -> None:
        mark = part("gil-declaration", 6, 6).model_copy(update={"mark": True})
        repeat = contrast(OFF, WRONG, Factor.REPEAT, ("", 1, 1), ("", 6, 6))
        assert alone(WRONG, repeat, control=(*GREEN, mark))[0] is Cause.PROJECT

    def test_the_projects_needs_the_control_in_every_cell(self) -> None:
        both = plan(gils=(GilMode.ON, GilMode.OFF))
        repeat = contrast(OFF, WRONG, Factor.REPEAT, ("", 1, 1), ("", 6, 6))
        found = attribute(both, results(both, {"gil-o": WRONG}), [contrasts(OFF, repeat, control=GREEN)])
        assert {finding.cells: finding.cause for finding in found} == {
            (OFF,): Cause.PROJECT,
            (ON,): Cause.UNEXPLAINED,
        }

    def test_the_projects_is_said_only_of_what_was_repeated_and_has_no_lead_left(self) -> None:
        repeat = contrast(OFF, WRONG, Factor.REPEAT, ("", 1, 1), ("", 6, 6))
        lead = contrast(OFF, WRONG, Factor.TRITON, ("3.3.1", 6, 6), ("3.7.0", 0, 1))
        answered = contrast(OFF, WRONG, Factor.TRITON, ("3.3.1", 6, 6), ("3.7.0", 1, 1))
        assert alone(WRONG, control=GREEN)[0] is Cause.UNEXPLAINED
        assert alone(WRONG, repeat, lead, control=GREEN)[0] is Cause.UNEXPLAINED
        assert alone(WRONG, repeat, answered, control=GREEN)[0] is Cause.PROJECT

    def test_what_comes_and_goes_by_itself_is_put_down_to_no_factor_without_a_proof(self) -> None:
        repeat = contrast(OFF, WRONG, Factor.REPEAT, ("", 1, 1), ("", 4, 10))
        chance = contrast(OFF, WRONG, Factor.BUILD, ("3.13t", 5, 11), ("3.13", 0, 10))
        proof = contrast(OFF, WRONG, Factor.BUILD, ("3.13t", 12, 20), ("3.13", 0, 20))
        cause, _, words = alone(WRONG, repeat, chance, control=GREEN)
        assert cause is Cause.FLAKY
        assert "this may be chance" in words
        assert alone(WRONG, repeat, proof, control=GREEN)[0] is Cause.PYTHON_ABI

    def test_an_illegal_access_is_the_projects_only_when_another_triton_fails_too(self) -> None:
        repeat = contrast(OFF, ILLEGAL, Factor.REPEAT, ("", 1, 1), ("", 6, 6))
        same = contrast(OFF, ILLEGAL, Factor.TRITON, ("3.3.1", 6, 6), ("3.7.0", 6, 6))
        cured = contrast(OFF, ILLEGAL, Factor.TRITON, ("3.3.1", 6, 6), ("3.7.0", 0, 6))
        assert alone(ILLEGAL, repeat, control=GREEN)[0] is Cause.UNEXPLAINED
        assert alone(ILLEGAL, repeat, same, control=GREEN)[:2] == (Cause.PROJECT, Confidence.LIKELY)
        assert alone(ILLEGAL, repeat, cured, control=GREEN)[:2] == (Cause.COMPILER, Confidence.PROVEN)


class TestContrasts:
    def test_the_segfault_in_create_module(self) -> None:
        cause, confidence, words = alone(
            HELPER,
            contrast(OFF, HELPER, Factor.FRESH_CACHE, ("as found", 6, 6), ("fresh", 0, 6)),
            contrast(OFF, HELPER, Factor.GIL, ("off", 6, 6), ("on", 6, 6)),
        )
        assert (cause, confidence) == (Cause.STALE_CACHE, Confidence.PROVEN)
        assert "as found 6 of 6 failed, fresh 0 of 6 failed; the cache decides it, proven" in words
        assert "off 6 of 6 failed, on 6 of 6 failed; the GIL is ruled out as the cause" in words
        assert "One thread was there" in words

    def test_a_contrast_to_the_cache_as_found_is_the_same_the_other_way_round(self) -> None:
        found = contrast(OFF, HELPER, Factor.CACHE_AS_FOUND, ("fresh", 0, 6), ("as found", 6, 6))
        assert alone(HELPER, found)[:2] == (Cause.STALE_CACHE, Confidence.PROVEN)

    @pytest.mark.parametrize("n", [1, 2])
    def test_too_few_attempts_are_a_lead_with_the_number_that_it_takes(self, n: int) -> None:
        cause, _, words = alone(HELPER, contrast(OFF, HELPER, Factor.FRESH_CACHE, ("as found", n, n), ("fresh", 0, n)))
        assert cause is Cause.UNEXPLAINED
        assert "a lead, too few attempts to tell" in words
        assert "5 on each side would prove" in words

    def test_the_surest_of_several_values_of_a_factor_counts(self) -> None:
        weak = contrast(OFF, SELECT, Factor.TRITON, ("3.3.1", 6, 6), ("3.6.0", 0, 3))
        sure = contrast(OFF, SELECT, Factor.TRITON, ("3.3.1", 6, 6), ("3.7.0", 0, 6))
        assert alone(SELECT, weak)[:2] == (Cause.COMPILER, Confidence.LIKELY)
        assert alone(SELECT, weak, sure)[:2] == (Cause.COMPILER, Confidence.PROVEN)

    def test_a_failure_of_another_kind_is_no_cure(self) -> None:
        other = contrast(OFF, WRONG, Factor.TRITON, ("3.3.1", 6, 6), ("3.7.0", 0, 6), other=6)
        cause, _, words = alone(WRONG, other)
        assert cause is Cause.UNEXPLAINED
        assert "it fails in another way there" in words

    def test_a_failure_that_goes_away_without_the_gil_is_not_called_thread_safety(self) -> None:
        on = plan(gils=(GilMode.ON,))
        made = contrast(ON, WRONG, Factor.GIL, ("on", 6, 6), ("off", 0, 6))
        assert only(on, results(on, {"on": WRONG}), contrasts(ON, made)).cause is Cause.UNEXPLAINED

    def test_a_flaky_failure_is_not_explained_by_the_cell_in_which_it_happened(self) -> None:
        """Failed once with the GIL off, passed once with it on, and fails in 2 of 20 repetitions."""
        repeat = contrast(OFF, WRONG, Factor.REPEAT, ("", 1, 1), ("", 2, 20))
        finding = only(plan(), results(plan(), {"off": WRONG}), contrasts(OFF, repeat))
        assert (finding.cause, finding.confidence) == (Cause.FLAKY, Confidence.PROVEN)
        assert "2 of 20 (10%, 95 % interval 1.2% to 31.7%)" in said(finding)
        assert "29 repeats show it" in said(finding)

    def test_retries_in_the_run_are_repetitions(self) -> None:
        retried = (WRONG, *[GOOD.model_copy(update={"pid": n}) for n in (2, 3, 4)])
        (finding,) = attribute(ONE, [result(ONE, OFF, {"t": retried})])
        assert (finding.cause, finding.confidence) == (Cause.FLAKY, Confidence.LIKELY)

    def test_a_race_that_the_gil_hides_wins_over_flaky(self) -> None:
        repeat = contrast(OFF, RACE, Factor.REPEAT, ("", 1, 1), ("", 12, 20))
        gil = contrast(OFF, RACE, Factor.GIL, ("off", 12, 20), ("on", 0, 20))
        assert alone(RACE, repeat, gil, control=GREEN)[0] is Cause.PROJECT

    def test_a_workaround_that_was_run_comes_first(self) -> None:
        root = fingerprint(HELPER).id
        trials = (
            Trial(root=root, title="set PYTHON_GIL=1", count=Count(failed=6, total=6)),
            Trial(root=root, title="delete the cache", count=Count(failed=0, total=6)),
        )
        document = Contrasts(cell=OFF, workarounds=trials)
        finding = only(ONE, results(ONE, {"off": HELPER}), document)
        assert finding.next_step.startswith("Workaround that was run: delete the cache (0 of 6 failed with it).")
        assert "'set PYTHON_GIL=1' was run: 6 of 6 failed with it" in said(finding)

    def test_two_different_contrasts_of_siblings_and_runs_are_pooled(self) -> None:
        made = contrast(OFF, WRONG, Factor.GIL, ("off", 4, 4), ("on", 0, 4))
        finding = only(
            plan(gils=(GilMode.OFF, GilMode.ON)),
            results(plan(gils=(GilMode.OFF, GilMode.ON)), {"off": WRONG}),
            contrasts(OFF, made),
        )
        assert "off 5 of 5 failed, on 0 of 5 failed" in said(finding)

    def test_the_word_regression_needs_a_base(self) -> None:
        everything = "\n".join(
            f"{finding.cause} {finding.title} {said(finding)} {finding.next_step}"
            for example in EXAMPLES
            if not any(c.factor is Factor.BASE_COMMIT for document in example.contrasts for c in document.contrasts)
            for finding in attribute(example.plan, example.results, example.contrasts)
        )
        assert "regress" not in everything.lower()


def test_hostile_text_is_bounded_and_plain() -> None:
    hostile = "ValueError: \x1b[31m<script>\x00\u202e" + "A" * 100_000
    (finding,) = attribute(
        ONE, [result(ONE, OFF, {"t": Attempt(outcome=Outcome.FAILED, message=hostile, stack=hostile)})]
    )
    assert len(finding.title) < 300
    assert finding.title.isprintable()


def test_a_machine_at_fault_is_likely_never_proven() -> None:
    (finding,) = attribute(ONE, [result(ONE, OFF, {"t": WRONG}, status=Status.INFRA)])
    assert (finding.cause, finding.confidence) == (Cause.INFRA, Confidence.LIKELY)


ATTEMPTS = (
    HELPER,
    NARGS,
    RACE,
    WRONG,
    SELECT,
    PTXAS,
    NO_CC,
    RESOURCE,
    STUCK,
    ILLEGAL,
    Attempt(outcome=Outcome.TIMED_OUT),
)
COUNTS = st.integers(0, 8).flatmap(lambda n: st.tuples(st.just("v"), st.integers(0, n), st.just(n)))


@st.composite
def documents(draw: st.DrawFn, attempt: Attempt) -> Contrasts:
    made = [
        contrast(OFF, attempt, factor, draw(COUNTS), ("w", *draw(COUNTS)[1:]))
        for factor in draw(st.lists(st.sampled_from(list(Factor)), max_size=6))
    ]
    signature = fingerprint(attempt).signature
    control = draw(st.sampled_from([(), GREEN, (part("p", 6, 6, signature, threads=2),), (part("p", 3, 6),)]))
    return contrasts(OFF, *made, control=control)


@given(st.data(), st.sampled_from(ATTEMPTS))
def test_nothing_is_proven_or_blamed_without_its_evidence(data: st.DataObject, attempt: Attempt) -> None:
    document = data.draw(documents(attempt))
    (finding,) = attribute(ONE, results(ONE, {"off": attempt}), [document])
    if finding.confidence is Confidence.PROVEN:
        assert document.contrasts or document.control
    if finding.cause is Cause.PROJECT:
        assert document.control == GREEN
        assert finding.confidence is not Confidence.PROVEN
    if "so it is Triton's" in said(finding):
        assert "with the same signature" in said(finding, "control")
    if finding.cause in (Cause.REGRESSION, Cause.PRE_EXISTING):
        assert any(one.factor is Factor.BASE_COMMIT for one in document.contrasts)
    assert (finding.cause is Cause.UNEXPLAINED) == (finding.confidence is Confidence.CANNOT_TELL)


@given(st.sampled_from(ATTEMPTS))
def test_no_contrast_no_cause_but_what_the_text_states(attempt: Attempt) -> None:
    (finding,) = attribute(ONE, results(ONE, {"off": attempt}))
    assert finding.confidence is not Confidence.PROVEN
    assert finding.cause in (Cause.UNEXPLAINED, Cause.RESOURCE, Cause.ENVIRONMENT)


@given(st.data(), st.randoms(use_true_random=False))
def test_the_order_of_what_comes_in_does_not_matter(data: st.DataObject, chance: random.Random) -> None:
    attempts = data.draw(st.lists(st.sampled_from(ATTEMPTS), min_size=len(MATRIX.cells), max_size=len(MATRIX.cells)))
    cells = [
        result(MATRIX, cell.key.id, {"a": attempt, "b": GOOD})
        for cell, attempt in zip(MATRIX.cells, attempts, strict=True)
    ]
    papers = [data.draw(documents(attempts[i])).model_copy(update={"cell": MATRIX.cells[i].key.id}) for i in (0, 3, 5)]
    first = attribute(MATRIX, cells, papers)
    shuffled = [
        paper.model_copy(update={"contrasts": tuple(chance.sample(paper.contrasts, len(paper.contrasts)))})
        for paper in papers
    ]
    chance.shuffle(cells)
    chance.shuffle(shuffled)
    assert attribute(MATRIX, cells, shuffled) == first
    assert len({finding.id for finding in first}) == len(first)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_coin_is_no_contrast(rate: float) -> None:
    """A test that fails by luck alone, in a matrix large enough for luck to look like a pattern."""
    matrix = plan(
        ("3.12", "3.13", "3.13t", "3.14", "3.14t"),
        ("3.3.1", "3.4.0", "3.5.0", "3.5.1", "3.6.0", "3.7.0", "3.8.0", "3.9.0"),
        (GilMode.ON, GilMode.OFF),
    )
    seen = []
    for seed in range(60):
        luck = random.Random(seed)  # noqa: S311 - a simulation
        tests = [
            result(matrix, cell.key.id, {"test_a.py::test": WRONG if luck.random() < rate else GOOD})
            for cell in matrix.cells
        ]
        seen += [finding.confidence for finding in attribute(matrix, tests)]
    assert seen.count(Confidence.PROVEN) <= 0.01 * len(seen) + 1
    assert seen.count(Confidence.LIKELY) <= 0.10 * len(seen)


def test_a_cell_of_the_same_value_that_passes_counts_on_the_side_that_was_seen() -> None:
    failing = [cell.key.id for cell in MATRIX.cells if "3.7.0" in cell.key.id][:2]
    finding = only(MATRIX, results(MATRIX, dict.fromkeys(failing, WRONG)))
    assert finding.cause is Cause.UNEXPLAINED
    assert "python: 3.12, 3.13 1 of 2 failed" not in said(finding)
