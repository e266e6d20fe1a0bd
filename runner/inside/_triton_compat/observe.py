"""What an environment really holds: packages, driver, GPUs. A script that prints its findings as lines of JSON.

Nothing is imported that the tests import, and no CUDA context is made: `cuInit` and questions to the driver alone.
A driver that crashes here costs a note, not a test.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import re
import signal
import sys
import uuid
from importlib import metadata
from typing import Any

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
_NAME_BYTES = 256
_PR_SET_PDEATHSIG = 1


def observe_packages() -> dict[str, str]:
    """Name (normalized) to version of every distribution on the import path; the first of two wins, as in imports."""
    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        try:
            name, version = distribution.metadata["Name"], distribution.version
        except Exception:  # noqa: BLE001, S112 - a damaged distribution is not this tool's business
            continue
        if name and version:
            found.setdefault(re.sub(r"[-_.]+", "-", str(name)).lower(), str(version))
    return dict(sorted(found.items()))


def observe_driver() -> tuple[str | None, list[dict[str, Any]]]:
    """Version of the driver and the GPUs that a process with these variables sees; (None, []) without a driver."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, []
    if cuda.cuInit(0) != 0:
        return _driver_version(None), []
    number, count = ctypes.c_int(0), ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(number))
    cuda.cuDeviceGetCount(ctypes.byref(count))
    return _driver_version(number.value), [_observe_gpu(cuda, index) for index in range(count.value)]


def _driver_version(cuda: int | None) -> str | None:
    api = f"CUDA {cuda // 1000}.{cuda % 1000 // 10}" if cuda else None
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as stream:
            match = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", stream.read())
    except OSError:
        match = None
    return f"{match[1]} ({api})" if match and api else match[1] if match else api


def _observe_gpu(cuda: Any, index: int) -> dict[str, Any]:
    device = ctypes.c_int(0)
    cuda.cuDeviceGet(ctypes.byref(device), index)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    cuda.cuDeviceGetName(name, _NAME_BYTES, device)
    major, minor, memory = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_size_t(0)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    raw = (ctypes.c_ubyte * 16)()
    has_uuid = cuda.cuDeviceGetUuid(ctypes.byref(raw), device) == 0
    return {
        "name": name.value.decode("utf-8", "replace"),
        "uuid": f"GPU-{uuid.UUID(bytes=bytes(raw))}" if has_uuid else None,
        "compute_capability": f"{major.value}.{minor.value}",
        "memory_bytes": memory.value,
    }


def main() -> None:
    """Print what was found; packages first, for the driver may end the process.

    The argument is the pid of the supervisor, with which this process dies: a driver may hang as well.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        return
    libc, version = platform.libc_ver()
    _say(
        {
            "packages": observe_packages(),
            "platform": f"{platform.system()}-{platform.release()}-{platform.machine()} {libc} {version}".strip(),
        }
    )
    driver, gpus = observe_driver()
    _say({"driver": driver, "gpus": gpus})


def _say(findings: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(findings) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
