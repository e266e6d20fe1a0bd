"""Matrices made of any names, for what is written about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from runner.github.body import Tested
from runner.model.cell import CellKey
from runner.model.plan import Job, Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import Attempt, CellResult, GilState, Gpu, ObservedEnvironment, TestResult
from runner.model.verdict import Evidence, Finding, Verdict
from runner.model.words import Cause, Confidence, GilMode, Outcome, Status
from runner.verdict.judge import judge

Name = Callable[[], str]
TESTED = Tested(
    head="ec26c3e57ca3a959ca5aad62de7213c562f8c821",
    head_url="https://github.com/octo/kernels/commit/ec26c3e57ca3a959ca5aad62de7213c562f8c821",
    base="f95f852bd8fca8fcc58a9a2d6c842781e32a215e",
    base_url="https://github.com/octo/kernels/commit/f95f852bd8fca8fcc58a9a2d6c842781e32a215e",
    run="run 41, attempt 1",
    run_url="https://github.com/octo/kernels/actions/runs/9001/attempts/1",
)


@dataclass(frozen=True)
class Matrix:
    plan: Plan
    results: dict[str, CellResult]
    verdict: Verdict


def usual() -> str:
    return "tests/test_add.py::test_add"


def make_matrix(
    statuses: Sequence[Status],
    *,
    name: Name = usual,
    tests: int = 3,
    bad: int = 1,
    findings: int = 0,
    columns: int = 3,
) -> Matrix:
    """A matrix with one cell for each status, `columns` to a row; `name` gives every text that a stranger chooses."""
    keys = [
        CellKey(
            id=f"cell-{index}",
            python=f"3.{12 + index // columns}t",
            gil=GilMode.OFF,
            triton=f"3.{index % columns}.0",
            torch=None,
        )
        for index in range(len(statuses))
    ]
    environments = tuple(
        PlannedEnvironment(
            id=f"env-{key.id}",
            python=key.python,
            triton=key.triton,
            torch=None,
            fingerprint=key.id,
            unavailable=name() if status is Status.UNAVAILABLE else None,
        )
        for key, status in zip(keys, statuses, strict=True)
    )
    plan = Plan(
        matrix=name(),
        matrix_file=name(),
        matrix_sha256="0" * 64,
        root="/project",
        created="2026-11-30T12:00:00+00:00",
        tool="0.1.0",
        gil_modes=(GilMode.OFF,),
        environments=environments,
        cells=tuple(PlannedCell(key=key, environment=f"env-{key.id}", settings=Settings()) for key in keys),
        jobs=tuple(Job(name=f"job-{key.id}", cells=(key.id,), runner=("ubuntu-latest",)) for key in keys),
    )
    results = {
        key.id: make_result(key, status, name, tests, bad)
        for key, status in zip(keys, statuses, strict=True)
        if status is not Status.NO_RESULT
    }
    failing = [key.id for key, status in zip(keys, statuses, strict=True) if status is Status.FAIL]
    found = [make_finding(number, failing, name) for number in range(findings)]
    verdict = judge(plan, results, today=date(2026, 12, 1), findings=found)
    return Matrix(plan, results, verdict.model_copy(update={"notes": (*verdict.notes, name())}))


def make_result(key: CellKey, status: Status, name: Name, tests: int, bad: int) -> CellResult:
    failing = bad if status is Status.FAIL else 0
    count = 0 if status is Status.UNAVAILABLE else tests
    return CellResult(
        cell=key,
        environment=ObservedEnvironment(
            python=f"{key.python.removesuffix('t')}.1",
            build="3.13",
            soabi="cpython-313t-x86_64-linux-gnu",
            executable="/env/bin/python",
            triton=key.triton,
            torch=None,
            driver=name(),
            gpus=(Gpu(name=name(), compute_capability="9.0"),),
            platform=name(),
        ),
        gil=GilState(
            requested=key.gil,
            free_threaded_build=True,
            enabled_at_start=False,
            enabled_at_end=False,
            enabled_by=name(),
        ),
        status=status,
        reason=name() if status is not Status.PASS else None,
        planned=count,
        tests=tuple(make_test(number, number < failing, name) for number in range(count)),
    )


def make_test(number: int, is_bad: bool, name: Name) -> TestResult:
    outcome = Outcome.FAILED if is_bad else Outcome.PASSED
    attempt = Attempt(outcome=outcome, message=name() if is_bad else None, stack=name() if is_bad else None)
    return TestResult(
        id=f"{name()}[{number}]",
        outcome=outcome,
        file=name() if is_bad else None,
        line=number + 1,
        attempts=(attempt,),
    )


def make_finding(number: int, cells: list[str], name: Name) -> Finding:
    return Finding(
        id=f"F{number}",
        cause=list(Cause)[number % len(Cause)],
        title=name(),
        cells=tuple(cells),
        tests=(name(), name()),
        confidence=Confidence.PROVEN,
        evidence=(Evidence(kind="contrast", text=name()), Evidence(kind=name(), text=name())),
        next_step=name(),
    )
