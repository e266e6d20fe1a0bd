from __future__ import annotations

import dataclasses

from runner.model.contrast import Dump
from runner.model.result import TestResult
from runner.model.words import Cause, Outcome
from runner.report.upstream import upstream_report
from tests.unit.report.reproduced import ATTEMPT, HOSTILE, ROOT, case


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
