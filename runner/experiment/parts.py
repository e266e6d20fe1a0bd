"""The parts of the control by name, and how its runs become counts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from runner.evidence.observed import Observer
from runner.experiment.bench import Run
from runner.model.contrast import ControlPart, Count
from runner.model.result import Attempt, CellResult, TestResult
from runner.model.words import Outcome

OTHER_CACHE = "test_driver_helper_from_cache_of_other_python"
THREADS = 8
"""As in the control's conftest.py."""
_DETAIL = 2000
_SPEAKS = frozenset({Outcome.PASSED, Outcome.XPASSED})


@dataclass(frozen=True)
class Part:
    """One part of the control.

    Attributes:
        title: what it does, in words.
        threads: that it uses.
        single: name of the same part with one thread.
        mark: see `ControlPart`.
        needs_gpu: whether it needs a GPU.
    """

    title: str
    threads: int = 1
    single: str | None = None
    mark: bool = False
    needs_gpu: bool = False


PARTS = {
    "test_import": Part("importing Triton"),
    "test_gil_declaration": Part("whether importing Triton switches the GIL on", mark=True),
    "test_driver_helper": Part("compiling and loading the driver helper"),
    "test_compile_add": Part("compiling a vector add for SM90"),
    "test_compile_dot": Part("compiling a tl.dot for SM90"),
    "test_compile_descriptor": Part("compiling a copy by tensor descriptor for SM90"),
    "test_compile_from_threads": Part("compiling distinct kernels at once", THREADS, "test_compile_add"),
    "test_autotune_from_one_thread": Part("calling one autotuned kernel from one thread"),
    "test_autotune_from_threads": Part("calling one autotuned kernel", THREADS, "test_autotune_from_one_thread"),
    "test_import_of_kernels_from_one_thread": Part("importing modules that jit and autotune from one thread"),
    "test_import_of_kernels_from_threads": Part(
        "importing modules that jit and autotune", THREADS, "test_import_of_kernels_from_one_thread"
    ),
    "test_launch_add": Part("launching a vector add", needs_gpu=True),
    "test_launch_dot": Part("launching a tl.dot", needs_gpu=True),
    "test_launch_descriptor": Part("launching a copy by tensor descriptor", needs_gpu=True),
    "test_launch_autotuned": Part("launching an autotuned kernel", needs_gpu=True),
    "test_first_launch_of_one_kernel_from_threads": Part(
        "first launch of one kernel", THREADS, "test_launch_add", needs_gpu=True
    ),
    "test_first_launch_of_distinct_kernels_from_threads": Part(
        "first launch of distinct kernels", THREADS, "test_launch_add", needs_gpu=True
    ),
}


def name_of(part: str) -> str:
    """`test_autotune_from_threads` as it stands in contrasts.json: `autotune-from-threads`."""
    return part.removeprefix("test_").replace("_", "-")


def failing(result: CellResult) -> tuple[str, ...]:
    """Names of the parts that went wrong in a run of the control, in their order."""
    return tuple(test.id.split("::")[-1] for test in result.tests if test.outcome.is_bad and "::" in test.id)


def telling(result: CellResult, observer: Observer, signatures: Collection[str]) -> tuple[str, ...]:
    """Names of the parts that went wrong, without those whose known signature is none of these: they clear nothing.

    Args:
        result: of the control.
        observer: reads roots.
        signatures: of the failures that are looked into.
    """
    named = {test.id.split("::")[-1]: test for test in result.tests}
    return tuple(name for name in failing(result) if _tells(named[name], observer, signatures))


def _tells(test: TestResult, observer: Observer, signatures: Collection[str]) -> bool:
    found = {observer.root(attempt).signature for attempt in test.attempts if attempt.outcome.is_bad}
    return not found or "" in found or not found.isdisjoint(signatures)


def counted(runs: Sequence[Run], observer: Observer) -> tuple[ControlPart, ...]:
    """Every part over all runs of the control in one environment; a run of some parts counts for those."""
    attempts: dict[str, list[tuple[Run, Attempt]]] = {}
    for run in runs:
        for test in run.result.tests:
            name = test.id.split("::")[-1] if "::" in test.id else test.id
            attempts.setdefault(name, []).extend((run, attempt) for attempt in test.attempts)
    return tuple(
        _part(name, PARTS.get(name, Part(f"collecting {name}")), made, observer) for name, made in attempts.items()
    )


def from_other_cache(pairs: Sequence[tuple[Run, Run]], filler: str, observer: Observer) -> tuple[ControlPart, ...]:
    """The part that loads the driver helper from a cache that another Python filled.

    Args:
        pairs: for each time, the run that filled the cache and the one that read it.
        filler: the Python that filled, in words.
        observer: reads roots.
    """
    read = [run for filled, run in pairs if not failing(filled.result)]
    if not read:
        return ()
    made = [(run, attempt) for run in read for test in run.result.tests for attempt in test.attempts]
    part = Part(f"loading the driver helper from a cache that Python {filler} filled")
    return (_part(OTHER_CACHE, part, made, observer),) if made else ()


def _part(name: str, part: Part, made: list[tuple[Run, Attempt]], observer: Observer) -> ControlPart:
    bad = [attempt for _, attempt in made if attempt.outcome.is_bad]
    good = [attempt for _, attempt in made if attempt.outcome in _SPEAKS]
    roots = [observer.root(attempt) for attempt in bad]
    run = made[0][0]
    skipped = None
    if not bad and not good:
        skipped = made[0][1].message or made[0][1].outcome.value
        skipped = skipped.removeprefix("Skipped: ")[:300]
    return ControlPart(
        id=name_of(name),
        title=part.title,
        count=None if skipped is not None else Count(failed=len(bad), total=len(bad) + len(good)),
        threads=part.threads,
        single=name_of(part.single) if part.single else None,
        mark=part.mark,
        needs_gpu=part.needs_gpu,
        skipped=skipped,
        signatures=tuple(dict.fromkeys(root.signature for root in roots if root.signature)),
        roots=tuple(dict.fromkeys(root.id for root in roots)),
        command=(*run.command, f"test_control.py::{name}") if name in PARTS else run.command,
        env=run.env,
        detail=_detail(bad[0]) if bad else None,
    )


def _detail(attempt: Attempt) -> str:
    return "\n".join(filter(None, (attempt.stack, attempt.message)))[-_DETAIL:]
