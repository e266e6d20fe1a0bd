"""Which GPUs are visible, as CUDA reads CUDA_VISIBLE_DEVICES, and what speaks against one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.execution.gpus import GpuProcess, GpuState, visible_gpus, why_busy, why_unfit
from runner.model.plan import GpuNeed

GIB = 1 << 30
FIRST = GpuState(0, "GPU-aaaa-1", "NVIDIA H200", "9.0", 140 * GIB, 139 * GIB, 0)
SECOND = GpuState(1, "GPU-aabb-2", "NVIDIA H200", "9.0", 140 * GIB, 139 * GIB, 0)
SPLIT = GpuState(
    2,
    "GPU-cccc-3",
    "NVIDIA H200",
    "9.0",
    instances=(GpuState(2, "MIG-1", "NVIDIA H200 MIG 1g.18gb"), GpuState(2, "MIG-2", "NVIDIA H200 MIG 1g.18gb")),
)
MACHINE = (FIRST, SECOND, SPLIT)
NEED = GpuNeed(compute_capability="9.0", free_memory_bytes=16 * GIB, required=True)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        (None, ["GPU-aaaa-1", "GPU-aabb-2", "MIG-1", "MIG-2"]),
        ("0", ["GPU-aaaa-1"]),
        ("1,0", ["GPU-aabb-2", "GPU-aaaa-1"]),
        (" 1 , GPU-aaaa-1", ["GPU-aabb-2", "GPU-aaaa-1"]),
        ("1,1", ["GPU-aabb-2"]),
        ("GPU-aab", ["GPU-aabb-2"]),
        ("MIG-2", ["MIG-2"]),
        ("2", ["MIG-1", "MIG-2"]),
        ("1,9,0", ["GPU-aabb-2"]),
        ("1,-1,0", ["GPU-aabb-2"]),
    ],
)
def test_visible_devices_are_read_as_cuda_reads_them(variable: str | None, expected: list[str]) -> None:
    variables = {} if variable is None else {"CUDA_VISIBLE_DEVICES": variable}
    found, problem = visible_gpus(MACHINE, variables)
    assert [gpu.uuid for gpu in found] == expected
    assert problem is None


@pytest.mark.parametrize("variable", ["", "-1", "NoDevFiles", "GPU-", "GPU-aa", "MIG-3", "7", "MIG"])
def test_variables_that_name_nothing_say_so(variable: str) -> None:
    found, problem = visible_gpus(MACHINE, {"CUDA_VISIBLE_DEVICES": variable})
    assert found == ()
    assert problem == f"CUDA_VISIBLE_DEVICES={variable} names no GPU of this machine"


def test_numbers_are_not_guessed_on_a_machine_with_different_gpus() -> None:
    machine = (replace(FIRST, name="NVIDIA T1000"), SECOND)
    found, problem = visible_gpus(machine, {"CUDA_VISIBLE_DEVICES": "0"})
    assert found == ()
    assert "give UUIDs (nvidia-smi -L) or set CUDA_DEVICE_ORDER=PCI_BUS_ID" in (problem or "")
    ordered = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert visible_gpus(machine, ordered) == ((machine[0],), None)
    assert visible_gpus(machine, {"CUDA_VISIBLE_DEVICES": "GPU-aabb-2"}) == ((SECOND,), None)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"compute_capability": "7.5"}, "NVIDIA H200 GPU-aaaa-1 has compute capability 7.5, not 9.0"),
        ({"compute_capability": None}, "NVIDIA H200 GPU-aaaa-1 has compute capability ?, not 9.0"),
        ({"memory_bytes": 8 * GIB}, "NVIDIA H200 GPU-aaaa-1 has 8.0 GiB of memory, 16.0 GiB are needed"),
        (
            {"uncorrected_errors": 2},
            "NVIDIA H200 GPU-aaaa-1 had 2 uncorrected ECC errors since its driver was loaded; it needs a reset",
        ),
        ({"uncorrected_errors": None}, None),
        ({"trouble": "GPU is lost"}, "NVIDIA H200 GPU-aaaa-1: GPU is lost"),
    ],
)
def test_what_lasts_is_told_with_its_figures(change: dict[str, object], expected: str | None) -> None:
    assert why_unfit(replace(FIRST, **change), NEED) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        (
            {"processes": (GpuProcess(12, 3 * GIB, "python", "alice"), GpuProcess(13))},
            "NVIDIA H200 GPU-aaaa-1 is not idle: process 12 (python, user alice) with 3.0 GiB, process 13",
        ),
        (
            {"free_bytes": 4 * GIB},
            (
                "NVIDIA H200 GPU-aaaa-1 has 4.0 GiB of 140.0 GiB free, 16.0 GiB are needed, "
                "and NVML shows no process that holds it"
            ),
        ),
    ],
)
def test_what_may_pass_is_told_with_who_does_it(change: dict[str, object], expected: str | None) -> None:
    assert why_busy(replace(FIRST, **change), NEED) == expected  # type: ignore[arg-type]
