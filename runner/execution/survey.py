"""What NVML says of this machine's GPUs, as one line of JSON.

A program of its own, so that a broken driver that hangs or crashes costs its asker nothing. Run by path; it imports
nothing of ours, makes no CUDA context and changes nothing.
"""

from __future__ import annotations

import contextlib
import json
import pwd
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pynvml

_ON = 1  # of NVML's feature states
_TEXT = 100


def main() -> None:
    """Print driver, GPUs and, where they cannot be had, why."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        json.dump({"problem": _why_without(error)}, sys.stdout)
        return
    found: dict[str, Any] = {"driver": _asked(pynvml.nvmlSystemGetDriverVersion), "gpus": []}
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            found["gpus"].append(_gpu(index))
    except pynvml.NVMLError as error:
        found["problem"] = f"NVML lists no GPUs: {error}"
    json.dump(found, sys.stdout)


def _why_without(error: pynvml.NVMLError) -> str:
    if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        return "there is no NVIDIA driver here (no libnvidia-ml.so.1)"
    return f"NVML does not start: {error}"


def _gpu(index: int) -> dict[str, Any]:
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        mig = _asked(lambda: pynvml.nvmlDeviceGetMigMode(handle)[0]) == _ON
        found = {"index": index, **_device(handle), "instances": _instances(handle) if mig else None}
    except pynvml.NVMLError as error:
        # A lost GPU answers nothing but this; it must not hide the others.
        return {"index": index, "uuid": "", "name": f"GPU {index}", "trouble": str(error)}
    capability = _asked(lambda: pynvml.nvmlDeviceGetCudaComputeCapability(handle))
    for each in (found, *(found["instances"] or ())):
        each["compute_capability"] = "{}.{}".format(*capability) if capability else None
    return found


def _instances(handle: Any) -> list[dict[str, Any]]:
    """The MIG instances of a GPU. Their numbers have gaps."""
    found = []
    for number in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        instance = _asked(partial(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number))
        if instance is not None:
            found.append({**_device(instance), "uncorrected_errors": _uncorrected(handle)})
    return found


def _device(handle: Any) -> dict[str, Any]:
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    processes = _asked(lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
    return {
        "uuid": pynvml.nvmlDeviceGetUUID(handle),
        "name": pynvml.nvmlDeviceGetName(handle),
        "memory_bytes": int(memory.total),
        "free_bytes": int(memory.free),
        "uncorrected_errors": _uncorrected(handle),
        "processes": [_process(each) for each in processes],
    }


def _uncorrected(handle: Any) -> int | None:
    """Uncorrected ECC errors since the driver was loaded, or None where the GPU does not count them."""
    kind, since = pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
    count = _asked(lambda: pynvml.nvmlDeviceGetTotalEccErrors(handle, kind, since))
    return None if count is None else int(count)


def _process(each: Any) -> dict[str, Any]:
    folder = Path(f"/proc/{each.pid}")
    name: str | None = None
    owner: str | None = None
    with contextlib.suppress(OSError, KeyError):  # it may be of another container, or its user without a name
        name = (folder / "comm").read_text(errors="replace").strip()[:_TEXT]
        owner = pwd.getpwuid(folder.stat().st_uid).pw_name
    return {"pid": each.pid, "bytes": each.usedGpuMemory, "name": name, "user": owner}


def _asked(question: Callable[[], Any]) -> Any:
    """An answer, or None where this GPU or driver does not know that question."""
    try:
        return question()
    except pynvml.NVMLError:
        return None


if __name__ == "__main__":
    main()
