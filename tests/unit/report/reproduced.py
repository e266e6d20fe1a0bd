"""A finding as `triton-compat repro` sees it, its names hostile."""

from __future__ import annotations

from runner.model.cell import CellKey
from runner.model.contrast import Contrast, Contrasts, ControlPart, Count, FoundFailure, Side
from runner.model.plan import Pin, Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import Attempt, CellResult, GilState, Gpu, ObservedEnvironment, TestResult
from runner.model.verdict import Evidence, Finding
from runner.model.words import Cause, Confidence, Factor, GilMode, Outcome, Status
from runner.report.repro import Case

KEY = CellKey(id="py3.13t-gil-off-triton3.7.0", python="3.13t", gil=GilMode.OFF, triton="3.7.0", torch=None)
ROOT = "autotuner-nargs-none-3f2a91c4"
HOSTILE = "tests/test_a.py::test[$(touch owned)`touch owned`'\n```x\x1b[31m]"
ATTEMPT = Attempt(outcome=Outcome.FAILED, message="TypeError: 'NoneType'\n```\n@everyone", stack="File autotuner.py")
EVIDENCE = (
    Evidence(kind="contrast", text="gil: off 6 of 6 failed, on 6 of 6 failed; the GIL is ruled out as the cause"),
    Evidence(kind="contrast", text="Workaround 'lock' was run: 0 of 5 failed with it."),
    Evidence(kind="count", text="1 test in 1 cell shows it."),
)


def case(*, test: str = HOSTILE, cause: Cause = Cause.THREAD_SAFETY, control: bool = True, found: bool = False) -> Case:
    environment = PlannedEnvironment(
        id="py3.13t-triton3.7.0",
        python="3.13t",
        triton="3.7.0",
        torch=None,
        pins=(Pin(name="triton", version="3.7.0", filename="t.whl"),),
        local=("kernels; rm x",),
        extras=("[test]",),
        fingerprint="f",
    )
    settings = Settings(tests=("tests",), pytest_args=("-k", "a b"), env={"X": "1 $(y)"}, workdir=".")
    cell = PlannedCell(key=KEY, environment=environment.id, settings=settings)
    plan = Plan(
        matrix="m",
        matrix_file="m.yml",
        matrix_sha256="0",
        root="/a project",
        created="",
        tool="",
        gil_modes=(GilMode.OFF,),
        environments=(environment,),
        cells=(cell,),
    )
    observed = ObservedEnvironment(
        python="3.13.5",
        build="3.13.5 free-threading",
        soabi="cpython-313t",
        executable="python",
        triton="3.7.0",
        torch=None,
        gpus=(Gpu(name="NVIDIA H200", uuid="GPU-7", compute_capability="9.0"),),
    )
    result = CellResult(
        cell=KEY,
        environment=observed,
        gil=GilState(requested=GilMode.OFF, free_threaded_build=True, enabled_at_end=False),
        status=Status.FAIL,
        planned=1,
        tests=(TestResult(id=test, outcome=Outcome.FAILED, attempts=(ATTEMPT,)),),
    )
    count = Count(failed=6, total=6)
    side = Side(value="off", count=count)
    part = ControlPart(id="autotune", title="calling", count=count, threads=8, roots=(ROOT,), command=("python", "-m"))
    contrasts = Contrasts(
        cell=KEY.id,
        contrasts=(Contrast(cell=KEY.id, root=ROOT, tests=(test,), factor=Factor.GIL, before=side, after=side),),
        control=(part,) if control else (),
        found=(FoundFailure(root=ROOT, tests=(test,), sample=ATTEMPT, count=count, directory="/my cache"),)
        if found
        else (),
    )
    finding = Finding(
        id=f"{cause.value}-{ROOT}",
        cause=cause,
        title="TypeError\n$(touch owned)",
        cells=(KEY.id,),
        tests=(test,),
        confidence=Confidence.PROVEN,
        evidence=EVIDENCE,
        next_step="",
    )
    return Case(finding, plan, cell, environment, result, contrasts)
