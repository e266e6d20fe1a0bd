from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

from runner.model.cell import CellKey
from runner.model.contrast import Contrast, Contrasts, ControlPart, Count, Dump, FoundFailure, Side
from runner.model.plan import Pin, Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import Attempt, CellResult, GilState, Gpu, ObservedEnvironment, TestResult
from runner.model.verdict import Evidence, Finding
from runner.model.words import Cause, Confidence, Factor, GilMode, Outcome, Status
from runner.report.repro import Case, file_name, script, upstream_report

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


def test_the_script_says_everything_that_decides_the_run() -> None:
    text = script(case(test="tests/test_a.py::test"))
    assert "uv venv --python 3.13.5+freethreaded venv" in text
    assert "--only-binary :all: --no-deps triton==3.7.0" in text
    assert "uv pip install --python venv/bin/python --no-deps '/a project/kernels; rm x[test]'" in text
    assert "cd '/a project'" in text
    assert "CUDA_VISIBLE_DEVICES=GPU-7 PYTHON_GIL=0 X='1 $(y)' \"$work/venv/bin/python\"" in text
    assert "-m pytest -k 'a b' tests/test_a.py::test\n" in text
    assert 'export TRITON_CACHE_DIR="$work/cache"' in text


def test_a_cache_as_found_is_copied() -> None:
    text = script(case(found=True))
    assert "cp -a '/my cache' \"$work/cache\"" in text


def test_no_text_of_a_test_is_obeyed(tmp_path: Path) -> None:
    """The script with every program replaced by echo: bash runs it, and nothing else."""
    text = script(case())
    stand_ins = 'uv() { :; }\ncd() { :; }\ncp() { :; }\nmktemp() { echo "$PWD/w"; }\n'
    python = tmp_path / "w" / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > arguments\n')
    python.chmod(0o755)
    subprocess.run(["bash", "-c", stand_ins + text], cwd=tmp_path, check=True, capture_output=True)
    assert not (tmp_path / "owned").exists()
    assert (tmp_path / "arguments").read_bytes().decode().split("\0")[-2] == HOSTILE


def test_the_report_holds_versions_the_control_and_what_was_ruled_out() -> None:
    text = upstream_report(case())
    assert "- Python: `3.13.5 free-threading`" in text
    assert "- GPU: `NVIDIA H200 (SM 9.0)`" in text
    assert "## What was ruled out\n\n- gil: off 6 of 6 failed" in text
    assert "calling from 8 threads fails 6 of 6 times" in text
    assert "\x1b" not in text


def test_a_stack_is_without_pytest_and_without_this_machine() -> None:
    one = case()
    stack = (
        'Fatal Python error\n  File "/h/lib/site-packages/triton/a.py", line 1 in f\n'
        '  File "/a project/tests/t.py", line 2\n'
        '  File "/h/lib/site-packages/_pytest/python.py", line 3\n  File "/h/lib/site-packages/pluggy/x.py", line 3\n'
    )
    attempt = ATTEMPT.model_copy(update={"stack": stack})
    result = one.result.model_copy(
        update={"tests": (TestResult(id=HOSTILE, outcome=Outcome.FAILED, attempts=(attempt,)),)}
    )
    text = upstream_report(dataclasses.replace(one, result=result))
    assert 'File "triton/a.py", line 1 in f\n  File "tests/t.py", line 2\n  [frames of pytest]\n' in text


def test_only_what_may_be_tritons_is_reported() -> None:
    assert case().is_upstream
    assert not case(control=False).is_upstream, "a race that the control does not show is nobody's yet"
    assert not case(cause=Cause.PROJECT).is_upstream
    assert case(cause=Cause.TRITON_VERSION, control=False).is_upstream


def test_a_findings_folder_is_a_name_whatever_its_id_holds() -> None:
    finding = case().finding.model_copy(update={"id": "../../etc $(x)"})
    assert file_name(finding) == "etc-x"


def test_what_the_compiler_said_and_worked_on_is_in_the_report() -> None:
    one = case(cause=Cause.COMPILER, control=False)
    assert "What the compiler worked on" not in upstream_report(one)
    output = "  %0 = arith.constant dense<0>\nLLVM ERROR: Cannot select: i32\n/a project/t.py:8: error: x\nunrelated\n"
    attempt = ATTEMPT.model_copy(update={"output": output})
    tests = (TestResult(id=HOSTILE, outcome=Outcome.FAILED, attempts=(attempt,)),)
    assert one.contrasts is not None
    contrasts = one.contrasts.model_copy(
        update={"dumps": (Dump(root=ROOT, test=HOSTILE, reproducer="reproducer.mlir"),)}
    )
    result = one.result.model_copy(update={"tests": tests})
    text = upstream_report(dataclasses.replace(one, result=result, contrasts=contrasts))
    assert "```text\nLLVM ERROR: Cannot select: i32\nt.py:8: error: x\nFile autotuner.py" in text.replace("````", "```")
    assert "arith.constant" not in text
    assert "triton-opt --run-reproducer ir/reproducer.mlir" in text
