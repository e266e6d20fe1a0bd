"""Kernels that kill the CUDA context: the test is named, and the tests after it run in a new process.

Played by a stub of libcuda, or on a real SM90 GPU where there is one; the suites are the same.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.model.plan import Limits
from runner.model.result import CellResult, TestResult
from runner.model.words import Status
from tests.stubs.machine import HERE, StubGpu, StubMachine, compile_stubs

pytestmark = pytest.mark.interpreters

SIX = """
    import pytest
    from kernels import launch, synchronize
    def test_1(): launch("do_nothing")
    def test_2(): launch("do_nothing"); synchronize()
    def test_3(): launch("do_illegal")
    def test_4(): launch("do_nothing"); synchronize()
    def test_5(): launch("do_trap"); synchronize()
    def test_6(): launch("do_nothing"); synchronize()
"""


@pytest.fixture(params=["stub", pytest.param("real", marks=pytest.mark.gpu)])
def gpu_project(request: pytest.FixtureRequest, project: Any, tmp_path: Path) -> Any:
    """A project with the kernels beside its tests."""
    if request.param == "stub":
        machine = StubMachine(compile_stubs(tmp_path), tmp_path / "machine")
        machine.write()
        project.env = machine.variables
    elif shutil.which("nvidia-smi") is None:
        pytest.skip("no GPU here")
    shutil.copy(HERE / "kernels.py", project.root)
    return project


def outcomes(result: CellResult) -> dict[str, str]:
    return {test.id.split("::")[-1]: test.outcome.value for test in result.tests}


def entry(result: CellResult, name: str) -> TestResult:
    return next(test for test in result.tests if test.id.split("::")[-1] == name)


def test_a_dead_context_costs_one_test_and_one_process(gpu_project: Any) -> None:
    gpu_project.write("test_six.py", SIX)
    result = gpu_project.run()
    assert outcomes(result) == {
        "test_1": "passed",
        "test_2": "passed",
        "test_3": "error",
        "test_4": "passed",
        "test_5": "failed",
        "test_6": "passed",
    }
    unnoticed, noticed = (entry(result, name).attempts[0] for name in ("test_3", "test_5"))
    assert unnoticed.message == "the CUDA context was dead after this test: CUDA_ERROR_ILLEGAL_ADDRESS (700)"
    assert unnoticed.phase == "synchronize"
    said, note = (noticed.message or "").splitlines()
    assert said == "RuntimeError: CUDA_ERROR_LAUNCH_FAILED (719)"
    assert note == "the CUDA context was dead after this test: CUDA_ERROR_LAUNCH_FAILED (719)"
    assert [left.reason for left in result.workers] == [
        "replaced: its CUDA context was dead, CUDA_ERROR_ILLEGAL_ADDRESS (700)",
        "replaced: its CUDA context was dead, CUDA_ERROR_LAUNCH_FAILED (719)",
        "finished",
    ]
    assert result.status is Status.FAIL
    assert result.reason == "2 of 6 went wrong: 1 failed, 1 error"
    assert result.is_complete


def test_a_context_that_is_current_in_no_thread_is_looked_at_too(gpu_project: Any) -> None:
    gpu_project.write(
        "test_thread.py",
        """
    import threading
    from kernels import launch
    def test_kills():
        thread = threading.Thread(target=launch, args=("do_illegal",))
        thread.start()
        thread.join()
    def test_after(): launch("do_nothing")
    """,
    )
    assert outcomes(gpu_project.run()) == {"test_kills": "error", "test_after": "passed"}


def test_what_kills_the_context_at_import_is_not_a_test(gpu_project: Any) -> None:
    gpu_project.write("test_a.py", "from kernels import launch\nlaunch('do_illegal')\ndef test_never(): pass\n")
    gpu_project.write("test_b.py", "from kernels import launch\ndef test_fine(): launch('do_nothing')\n")
    result = gpu_project.run()
    assert outcomes(result) == {"test_a.py": "error", "test_fine": "passed"}
    message = "the CUDA context was dead after the import of this file: CUDA_ERROR_ILLEGAL_ADDRESS (700)"
    assert entry(result, "test_a.py").attempts[0].message == message


def test_an_expected_failure_stays_one_and_says_it(gpu_project: Any) -> None:
    gpu_project.write(
        "test_expected.py",
        """
    import pytest
    from kernels import launch, synchronize
    @pytest.mark.xfail(reason="known")
    def test_expected(): launch("do_trap"); synchronize()
    def test_after(): launch("do_nothing")
    """,
    )
    result = gpu_project.run()
    assert outcomes(result) == {"test_expected": "xfailed", "test_after": "passed"}
    message = entry(result, "test_expected").attempts[0].message or ""
    assert message == "known\nthe CUDA context was dead after this test: CUDA_ERROR_LAUNCH_FAILED (719)"


def test_a_reset_hides_no_error_from_the_tests_after_it(gpu_project: Any) -> None:
    gpu_project.write(
        "test_reset.py",
        """
    from kernels import driver, launch, synchronize
    def test_resets():
        launch("do_illegal")
        driver().cuDevicePrimaryCtxReset_v2(0)
    def test_after(): launch("do_nothing"); synchronize()
    """,
    )
    result = gpu_project.run()
    assert outcomes(result) == {"test_resets": "passed", "test_after": "passed"}
    assert entry(result, "test_resets").attempts[0].message == (
        "the CUDA context was reset in this test, CUDA_ERROR_CONTEXT_IS_DESTROYED (709); "
        "the tests after it run in a new process"
    )
    assert len(result.workers) == 2


def test_a_kernel_that_spins_times_its_own_test_out(gpu_project: Any) -> None:
    gpu_project.write(
        "test_spin.py",
        """
    from kernels import launch, synchronize
    def test_waits(): launch("do_spin"); synchronize()
    def test_between(): launch("do_nothing")
    def test_leaves_it(): launch("do_spin")
    def test_after(): launch("do_nothing")
    """,
    )
    gpu_project.limits = Limits(test_seconds=2, cell_seconds=100)
    result = gpu_project.run()
    assert outcomes(result) == {
        "test_waits": "timed_out",
        "test_between": "passed",
        "test_leaves_it": "timed_out",
        "test_after": "passed",
    }
    waits, leaves = (entry(result, name).attempts[0] for name in ("test_waits", "test_leaves_it"))
    assert "in test_waits" in (waits.stack or "")
    assert leaves.phase == "synchronize"
    assert "stopped while it waited for what this test had left running on the GPU" in (leaves.message or "")


def test_the_second_of_two_gpus_is_looked_at_too(project: Any, tmp_path: Path) -> None:
    machine = StubMachine(compile_stubs(tmp_path), tmp_path / "machine", gpus=[StubGpu(0), StubGpu(1)])
    machine.write()
    project.env = machine.variables
    shutil.copy(HERE / "kernels.py", project.root)
    project.write(
        "test_two.py",
        """
    from kernels import launch, use
    def test_both(): launch("do_nothing", 1); launch("do_nothing", 0)
    def test_kills(): launch("do_illegal", 1); use(0)
    def test_after(): launch("do_nothing", 1)
    """,
    )
    assert outcomes(project.run()) == {"test_both": "passed", "test_kills": "error", "test_after": "passed"}


def test_a_process_without_cuda_never_loads_it(project: Any, tmp_path: Path) -> None:
    machine = StubMachine(compile_stubs(tmp_path), tmp_path / "machine")
    machine.write()
    project.env = machine.variables
    project.write(
        "test_plain.py",
        """
    def test_first(): pass
    def test_second(): assert "libcuda" not in open("/proc/self/maps").read()
    """,
    )
    assert outcomes(project.run()) == {"test_first": "passed", "test_second": "passed"}
