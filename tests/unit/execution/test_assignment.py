"""The search for a GPU, with the machine's state given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from runner.execution.assignment import assign_gpu, machine_fault
from runner.execution.gpus import GpuProcess, GpuState, Survey
from runner.execution.leases import GpuLock
from runner.model.plan import GpuNeed

GPU = GpuState(0, "GPU-1", "NVIDIA H200", "9.0", 1 << 40, 1 << 40, 0)
BUSY = replace(GPU, processes=(GpuProcess(7, 1 << 30, "python", "eve"),))
NEED = GpuNeed(compute_capability="9.0")


def test_a_cell_that_needs_no_gpu_asks_for_none() -> None:
    def never() -> Survey:
        raise AssertionError

    found = assign_gpu(GpuNeed(), cell="c", variables={}, seconds=1, tell=print, survey=never)
    assert (found.gpu, found.problem, found.variables) == (None, None, {})


def test_what_was_seen_before_a_wait_is_not_believed_after_it(tmp_path: Path) -> None:
    states = iter([Survey(gpus=(GPU,)), Survey(gpus=(BUSY,))])
    holder = GpuLock(tmp_path, GPU.uuid)
    assert holder.take("other")
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        holder.close()

    variables = {"TRITON_COMPAT_LOCKS": str(tmp_path)}
    with assign_gpu(
        NEED, cell="mine", variables=variables, seconds=60, tell=tell, survey=lambda: next(states)
    ) as found:
        assert found.gpu is None
        assert found.problem == "NVIDIA H200 GPU-1 is not idle: process 7 (python, user eve) with 1.0 GiB"
    assert told[0].startswith("mine waits for a GPU: NVIDIA H200 GPU-1 is held by other (process ")
    with GpuLock(tmp_path, GPU.uuid) as lock:
        assert lock.take("next"), "a GPU that is not used is not kept"


def test_a_folder_without_access_is_said(tmp_path: Path) -> None:
    variables = {"TRITON_COMPAT_LOCKS": str(tmp_path / "absent")}
    survey = Survey(gpus=(GPU,))
    found = assign_gpu(NEED, cell="c", variables=variables, seconds=1, tell=print, survey=lambda: survey)
    assert found.problem == (
        f"NVIDIA H200 GPU-1 cannot be leased: {tmp_path}/absent/triton-compat-GPU-1.lock: No such file or directory"
    )


def test_faults_of_the_machine_are_told_from_none() -> None:
    assert machine_fault(GPU, Survey(gpus=(BUSY,))) is None
    lost = Survey(gpus=(GpuState(0, "", "GPU 0", trouble="GPU is lost"),))
    assert machine_fault(GPU, lost) == "NVIDIA H200 GPU-1 was lost while the tests ran: GPU is lost"
    assert machine_fault(GPU, Survey(problem="no answer")) == (
        "NVIDIA H200 GPU-1 was lost while the tests ran: no answer"
    )
    worse = Survey(gpus=(replace(GPU, uncorrected_errors=3),))
    assert machine_fault(GPU, worse) == "NVIDIA H200 GPU-1 had 3 uncorrected ECC errors while the tests ran"
    assert machine_fault(GPU, Survey(gpus=(GPU,)), (31, 79, 79)) == (
        "NVIDIA H200 GPU-1 failed while the tests ran: Xid 79 (the GPU has fallen off the bus)"
    )
