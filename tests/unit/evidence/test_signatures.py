from __future__ import annotations

import tracemalloc

import pytest

from runner.evidence.rulefile import built_in, read_rules
from runner.evidence.signatures import Category, Rules
from runner.evidence.trace import MAX_TEXT
from runner.model.result import Attempt
from runner.model.words import Cause, Outcome
from tests.unit.evidence.samples import CREATE, SAMPLES, Sample, dump, traceback
from tests.unit.evidence.unrelated import LOGS

RULES = built_in()


def attempt(sample: Sample) -> Attempt:
    return Attempt(outcome=sample.outcome, signal=sample.signal, exit_code=sample.exit_code, stack=sample.text or None)


@pytest.mark.parametrize("sample", SAMPLES, ids=[f"{i}-{sample.rule}" for i, sample in enumerate(SAMPLES)])
def test_every_text_of_the_table_gives_its_lead(sample: Sample) -> None:
    match = RULES.read_attempt(attempt(sample))
    assert match is not None
    assert (match.rule.id, match.rule.categories[0]) == (sample.rule, sample.category)


def test_every_rule_has_a_sample_or_is_a_mark() -> None:
    assert {rule.id for rule in RULES.rules if not rule.mark} == {sample.rule for sample in SAMPLES}


def test_there_are_many_unrelated_logs() -> None:
    assert len(set(LOGS)) >= 200


@pytest.mark.parametrize("log", LOGS, ids=range(len(LOGS)))
def test_an_unrelated_log_is_unexplained(log: str) -> None:
    assert RULES.read_attempt(Attempt(outcome=Outcome.FAILED, stack=log)) is None


def test_every_rule_tells_a_person_what_to_do() -> None:
    for rule in RULES.rules:
        assert rule.meaning.endswith(".")
        assert rule.next_step.endswith(".")
        assert rule.sources
        assert rule.versions


def test_the_mark_is_no_failure() -> None:
    warning = (
        "RuntimeWarning: The global interpreter lock (GIL) has been enabled to load module 'triton._C.libtriton', which"
        " has not declared that it can run safely without the GIL."
    )
    assert RULES.read(warning) is None
    (mark,) = RULES.marks(f"collecting\n{warning}")
    assert (mark.rule.id, mark.line) == ("gil-enabled-by-module", 2)


class TestFirstRoot:
    def test_the_earliest_of_several_is_the_root(self) -> None:
        log = "\n".join(
            [
                *(f"test {i} ok" for i in range(5000)),
                "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
                *["RuntimeError: CUDA driver version is insufficient for CUDA runtime version"] * 50,
            ]
        )
        match = RULES.read(log)
        assert match is not None
        assert (match.rule.id, match.line) == ("cuda-illegal-access", 5001)
        assert match.quote == "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered"

    def test_the_cause_of_a_chained_exception_is_the_root(self) -> None:
        first = traceback("triton/runtime/build.py:_build", error="RuntimeError: Failed to find C compiler.")
        log = f"{first}\n\nThe above exception was the direct cause of the following exception:\n\n" + traceback(
            "a.py:f", error="RuntimeError: PassManager::run failed"
        )
        match = RULES.read(log)
        assert match is not None
        assert match.rule.id == "no-c-compiler"

    def test_only_the_thread_that_died_counts(self) -> None:
        """Other threads stand in Triton's helper; the one that died was importing something else."""
        match = RULES.read(dump(*CREATE, "/x/site-packages/viztracer/__init__.py:<module>", others=2))
        assert match is not None
        assert match.rule.id == "other-extension-segfault"

    def test_a_text_wins_over_the_way_the_process_ended(self) -> None:
        match = RULES.read("LLVM ERROR: Cannot select: 0x1", ("exit 137",))
        assert match is not None
        assert match.rule.id == "llvm-cannot-select"

    def test_a_traceback_speaks_against_the_lack_of_memory(self) -> None:
        assert RULES.read(traceback("a.py:f", error="KeyError: 3"), ("SIGKILL",)) is None

    def test_colours_do_not_hide_it(self) -> None:
        assert RULES.read("\x1b[31mE   RuntimeError: PassManager::\x1b[0mrun failed\x1b[0m") is not None

    def test_the_root_at_the_end_of_a_long_log_is_found(self) -> None:
        assert RULES.read("x\n" * MAX_TEXT + "LLVM ERROR: Cannot select: 0x1") is not None


HOSTILE = {
    "one letter": "a" * 3_000_000,
    "words of a rule again and again": "Assertion " * 300_000,
    "halves of two rules": "FileNotFoundError .triton/cache/ " * 100_000,
    "frames without an end": 'File "' * 500_000,
    "blanks": " " * 3_000_000,
    "open quotes": "module 'triton" * 200_000,
    "lines": "\n" * 3_000_000,
    "fatal": "Fatal Python error: Segmentation fault\nCurrent thread 0x1 (most recent call first):\n" * 40_000,
    "digits": "out of resource: threads, Required: " + "9" * 3_000_000,
    "colours": "\x1b[" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_log_takes_bounded_memory_and_ends(name: str) -> None:
    """Every pattern has bounded repeats alone (test_rulefile holds that), so the time is linear; here the memory."""
    tracemalloc.start()
    try:
        RULES.read(HOSTILE[name])
        assert tracemalloc.get_traced_memory()[1] < 64 * MAX_TEXT
    finally:
        tracemalloc.stop()


def test_rules_of_a_user_go_first_and_replace() -> None:
    text = "- {id: no-c-compiler, categories: [infra], patterns: [Failed to find C], meaning: m., next_step: n.}"
    rules = RULES + read_rules(text, "mine.yml")
    match = rules.read("RuntimeError: Failed to find C compiler.")
    assert match is not None
    assert match.rule.categories == (Category.INFRA,)
    assert len(rules.rules) == len(RULES.rules)


def test_every_category_has_a_cause() -> None:
    assert {category.cause for category in Category} <= set(Cause)
    assert Category.ABI.cause is Cause.PYTHON_ABI


def test_rules_are_found_by_their_id() -> None:
    assert RULES["hang"].id == "hang"
    assert RULES.get("nothing") is None
    with pytest.raises(KeyError):
        Rules(())["hang"]


def test_what_a_function_could_have_raised_is_not_what_it_did() -> None:
    """pytest shows the source of the innermost function, all its messages among it."""
    stack = """
    def _build(name, src, srcdir, library_dirs, include_dirs, libraries, ccflags):
        cc = os.environ.get("CC")
        if cc is None:
            raise RuntimeError("Failed to find C compiler. Please specify via CC environment variable.")
>       raise OSError(f"{src} cannot be read")
E       OSError: main.c cannot be read

/opt/venv/lib/python3.12/site-packages/triton/runtime/build.py:32: OSError"""
    failed = Attempt(outcome=Outcome.FAILED, stack=stack, message="OSError: main.c cannot be read")
    assert RULES.read_attempt(failed) is None
    native = 'Traceback:\n  File "b.py", line 3, in build\n    raise X("Failed to find C compiler")\n    ^^^^^\nX'
    assert RULES.read_attempt(Attempt(outcome=Outcome.FAILED, stack=native)) is None
    said = f"{stack}\nE       RuntimeError: Failed to find C compiler."
    match = RULES.read_attempt(Attempt(outcome=Outcome.FAILED, stack=said))
    assert match is not None
    assert match.rule.id == "no-c-compiler"
