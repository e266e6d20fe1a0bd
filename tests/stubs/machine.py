"""The stub libraries compiled, and the machine that they play, so that code for GPUs is tested without one."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = {"cuda.c": "libcuda.so.1", "nvml.c": "libnvidia-ml.so.1"}
MIB = 1 << 20


def compile_stubs(folder: Path) -> Path:
    """Compile libcuda and NVML into a folder of their own below `folder`, once for each state of the sources."""
    sources = b"".join((HERE / name).read_bytes() for name in ("machine.h", *LIBRARIES))
    target = folder / f"stubs-{hashlib.sha256(sources).hexdigest()[:12]}"
    target.mkdir(parents=True, exist_ok=True)
    for source, library in LIBRARIES.items():
        if not (target / library).exists():
            making = target / f"{library}.{os.getpid()}"
            words = ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-pthread", f"-Wl,-soname,{library}"]
            subprocess.run([*words, "-o", making, HERE / source], check=True)
            making.rename(target / library)
    return target


@dataclass(frozen=True)
class StubGpu:
    """One GPU of the played machine; sizes in MiB."""

    number: int = 0
    name: str = "NVIDIA H200"
    capability: str = "9.0"
    total: int = 143_771
    free: int = 143_000
    ecc: int = 0
    processes: Sequence[tuple[int, int]] = ()
    instances: int = 0

    @property
    def uuid(self) -> str:
        return f"GPU-0000000{self.number}-aaaa-bbbb-cccc-dddddddddddd"

    def instance(self, number: int) -> str:
        """UUID of a MIG instance."""
        return f"MIG-0000000{self.number}-aaaa-bbbb-cccc-00000000000{number}"

    def lines(self) -> list[str]:
        """As machine.h reads it."""
        words = (self.uuid, self.capability, self.total, self.free, self.ecc, self.name)
        found = ["gpu " + " ".join(map(str, words)), *(f"process {pid} {size}" for pid, size in self.processes)]
        return found + [f"mig {self.instance(number)} 18000 17900" for number in range(self.instances)]


@dataclass
class StubMachine:
    """A machine with these GPUs and a driver.

    Attributes:
        libraries: the folder of the compiled stubs.
        path: of the file that describes the machine to them.
    """

    libraries: Path
    path: Path
    gpus: list[StubGpu] = field(default_factory=lambda: [StubGpu()])
    more: tuple[str, ...] = ()

    def write(self) -> None:
        """Make it as its attributes say. Processes that look later see the new state."""
        lines = ["driver 580.65.06 13000", *self.more, *(line for gpu in self.gpus for line in gpu.lines())]
        making = self.path.with_suffix(".new")
        making.write_text("\n".join(lines) + "\n", encoding="utf-8")
        making.replace(self.path)

    @property
    def variables(self) -> dict[str, str]:
        """For processes that shall find themselves on this machine."""
        return {"LD_LIBRARY_PATH": str(self.libraries), "STUB_MACHINE": str(self.path)}
