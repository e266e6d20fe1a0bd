"""The GPUs of this machine as NVML sees them, which of them are ours to use, and what speaks against one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.model.plan import GpuNeed

SURVEY = Path(__file__).with_name("survey.py")
SURVEY_SECONDS = 60.0
"""A driver that starts cold on a machine with eight GPUs takes several seconds; one that hangs never answers."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
ORDER = "CUDA_DEVICE_ORDER"
_GIB = 1 << 30


@dataclass(frozen=True)
class GpuProcess:
    """A process that computes on a GPU; what is unknown (it may be of another container) is None."""

    pid: int
    bytes: int | None = None
    name: str | None = None
    user: str | None = None

    def __str__(self) -> str:
        who = ", ".join(filter(None, (self.name, self.user and f"user {self.user}")))
        memory = "" if self.bytes is None else f" with {_gib(self.bytes)}"
        return f"process {self.pid}" + (f" ({who})" if who else "") + memory


@dataclass(frozen=True)
class GpuState:
    """A GPU, or a MIG instance of one, at one moment.

    Attributes:
        index: as NVML counts, in the order of the PCI bus; of the GPU, for an instance as well.
        uuid: `GPU-...` or `MIG-...`; empty when the GPU does not even answer that.
        name: such as `NVIDIA H200`.
        compute_capability: such as `9.0`, or None.
        memory_bytes, free_bytes: all of it, and what is free.
        uncorrected_errors: of the memory (ECC) since the driver was loaded, or None where they are not counted.
        processes: those that compute on it.
        trouble: what NVML answers instead of all this, or None.
        instances: MIG instances, or None when MIG is off.
    """

    index: int
    uuid: str
    name: str
    compute_capability: str | None = None
    memory_bytes: int = 0
    free_bytes: int = 0
    uncorrected_errors: int | None = None
    processes: tuple[GpuProcess, ...] = ()
    trouble: str | None = None
    instances: tuple[GpuState, ...] | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.uuid}".strip()


@dataclass(frozen=True)
class Survey:
    """All GPUs of this machine; `problem` says why there are none or not all."""

    driver: str | None = None
    gpus: tuple[GpuState, ...] = ()
    problem: str | None = None


def survey_gpus(seconds: float = SURVEY_SECONDS) -> Survey:
    """Ask NVML, in a process of its own: a driver that hangs or crashes is an answer as well."""
    try:
        finished = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", str(SURVEY)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return Survey(problem=f"the NVIDIA driver did not answer NVML within {seconds:g} s")
    if finished.returncode != 0:
        said = (finished.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
        return Survey(problem=f"asking NVML ended with status {finished.returncode}: {said[:500]}")
    found = json.loads(finished.stdout)
    return Survey(
        driver=found.get("driver"),
        gpus=tuple(_read_gpu(gpu, gpu["index"]) for gpu in found.get("gpus", ())),
        problem=found.get("problem"),
    )


def _read_gpu(found: Mapping[str, Any], index: int) -> GpuState:
    instances = found.get("instances")
    return GpuState(
        **{
            **found,
            "index": index,
            "processes": tuple(GpuProcess(**each) for each in found.get("processes", ())),
            "instances": None if instances is None else tuple(_read_gpu(each, index) for each in instances),
        }
    )


def visible_gpus(gpus: Sequence[GpuState], variables: Mapping[str, str]) -> tuple[tuple[GpuState, ...], str | None]:
    """The GPUs and MIG instances that a process with these variables may use, as CUDA reads CUDA_VISIBLE_DEVICES.

    The list ends at the first word that names no device. With MIG on, the instances stand for their GPU.

    Args:
        gpus: all of the machine.
        variables: of the process.

    Returns:
        The devices in the order of the variable, and a sentence when it names none or cannot be followed.
    """
    wanted = variables.get(VISIBLE)
    if wanted is None:
        return tuple(device for gpu in gpus for device in _devices(gpu)), None
    chosen: list[GpuState] = []
    for word in (part.strip() for part in wanted.split(",")):
        if word.isdigit() and len({gpu.name for gpu in gpus}) > 1 and variables.get(ORDER) != "PCI_BUS_ID":
            # CUDA counts the fastest GPU first and does not say which that is.
            return (), (
                f"{VISIBLE}={wanted} is not clear on a machine with different GPUs; "
                f"give UUIDs (nvidia-smi -L) or set {ORDER}=PCI_BUS_ID"
            )
        found = _find(word, gpus)
        if not found:
            break
        chosen += [device for device in found if device not in chosen]
    return tuple(chosen), None if chosen else f"{VISIBLE}={wanted} names no GPU of this machine"


def _devices(gpu: GpuState) -> tuple[GpuState, ...]:
    return (gpu,) if gpu.instances is None else gpu.instances


def _find(word: str, gpus: Sequence[GpuState]) -> tuple[GpuState, ...]:
    """What one word of CUDA_VISIBLE_DEVICES names: an index, a UUID, or the clear beginning of a GPU's UUID."""
    if word.isdigit():
        return _devices(gpus[int(word)]) if int(word) < len(gpus) else ()
    if word.startswith("MIG-"):
        return tuple(each for gpu in gpus for each in gpu.instances or () if each.uuid == word)
    fitting = [gpu for gpu in gpus if word.startswith("GPU-") and gpu.uuid.startswith(word)]
    return _devices(fitting[0]) if len(fitting) == 1 else ()


def why_unfit(gpu: GpuState, need: GpuNeed) -> str | None:
    """What lasts and speaks against a GPU: another architecture, too little memory, errors of its memory, a loss."""
    if gpu.trouble is not None:
        return f"{gpu}: {gpu.trouble}"
    if need.compute_capability is not None and gpu.compute_capability != need.compute_capability:
        return f"{gpu} has compute capability {gpu.compute_capability or '?'}, not {need.compute_capability}"
    if gpu.memory_bytes < need.free_memory_bytes:
        return f"{gpu} has {_gib(gpu.memory_bytes)} of memory, {_gib(need.free_memory_bytes)} are needed"
    if gpu.uncorrected_errors:
        return (
            f"{gpu} had {gpu.uncorrected_errors} uncorrected ECC errors since its driver was loaded; it needs a reset"
        )
    return None


def why_busy(gpu: GpuState, need: GpuNeed) -> str | None:
    """What may pass and speaks against a GPU whose lease is ours: processes of others, memory that is taken."""
    if gpu.processes:
        return f"{gpu} is not idle: {', '.join(map(str, gpu.processes[:5]))}"
    if gpu.free_bytes < need.free_memory_bytes:
        free = f"{_gib(gpu.free_bytes)} of {_gib(gpu.memory_bytes)}"
        return (
            f"{gpu} has {free} free, {_gib(need.free_memory_bytes)} are needed, and NVML shows no process that holds it"
        )
    return None


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
