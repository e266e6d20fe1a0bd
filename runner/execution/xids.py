"""Xids: what the NVIDIA driver reports of a GPU while tests run on it, and which of them no program can cause."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

EVENTS = Path(__file__).with_name("xid_events.py")
END_SECONDS = 5.0
OF_THE_MACHINE = {
    48: "double-bit ECC error",
    62: "internal micro-controller halt",
    64: "memory row could not be remapped",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    94: "contained ECC error",
    95: "uncontained ECC error",
    119: "the GPU's system processor does not answer",
    120: "error of the GPU's system processor",
    140: "unrecovered ECC error",
}
"""Numbers after which the hardware or the driver is to be looked at, from NVIDIA's list of Xids. Illegal addresses (13,
31), resets (43, 45) and the like are not among them: a kernel can cause those."""


class XidWatch:
    """Listens to one GPU; where NVML tells no Xids (an old driver, a virtual GPU) it hears none.

    Args:
        index: of the GPU, as NVML counts.
    """

    def __init__(self, index: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", str(EVENTS), str(index)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Of our session, so that it is never taken for what a worker left; not of the terminal's group.
            process_group=0,
        )
        self._heard: tuple[int, ...] | None = None

    def finish(self) -> tuple[int, ...]:
        """End it; every Xid that came while it listened, in their order."""
        if self._heard is None:
            # Until it listens, an end would be its death; it is readable too when it could not start.
            assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
            select.select([self._process.stdout], [], [], END_SECONDS)
            self._process.terminate()
            try:
                said, _ = self._process.communicate(timeout=END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                said, _ = self._process.communicate()
            self._heard = tuple(int(line) for line in said.split() if line.isdigit())
        return self._heard


def machine_xids(heard: tuple[int, ...]) -> str | None:
    """Those that no program can cause, in words, or None."""
    found = [f"Xid {number} ({OF_THE_MACHINE[number]})" for number in dict.fromkeys(heard) if number in OF_THE_MACHINE]
    return ", ".join(found) or None
