"""`triton-compat doctor`: what this machine has and lacks, and what to do about it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.environment.doctor import Check, survey
from runner.execution.gpus import VISIBLE, GpuState, Survey, survey_gpus, visible_gpus, why_busy, why_unfit
from runner.model.plan import GpuNeed

SM90 = GpuNeed(compute_capability="9.0")
_WITHOUT = "nothing, to compile kernels for SM90; to run them use a machine with an SM90 GPU and its driver"
_GIB = 1 << 30


def run(options: argparse.Namespace) -> int:
    """Print one row for each thing that a cell needs; exit 0, for a machine that lacks a thing may not need it."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")  # a path that is cut off cannot be copied
    for check in (*survey(folder=options.out.parent), *gpu_checks(survey_gpus(), os.environ)):
        style = "green" if check.ok else "red" if check.needed else "yellow"
        mark = Text("ok" if check.ok else "lacks", style=style)
        text = Text(check.detail)
        if not check.ok and check.remedy:
            text.append(f"\n{check.remedy}", style="bold")
        table.add_row(mark, Text(check.name), text)
    Console().print(table)
    return 0


def gpu_checks(found: Survey, variables: Mapping[str, str]) -> Iterator[Check]:
    """What cells would say of this machine's GPUs: one check for each GPU or MIG instance that they may use.

    Args:
        found: what NVML says.
        variables: of this process; CUDA_VISIBLE_DEVICES bounds the GPUs.
    """
    devices, problem = visible_gpus(found.gpus, variables)
    said = found.problem or problem or ("" if found.gpus else "NVML lists no GPU")
    if said:
        remedy = f"correct {VISIBLE}, or unset it" if problem and found.gpus else _WITHOUT
        yield Check("GPU", ok=False, detail=said, remedy=remedy, needed=False)
    for gpu in devices:
        yield _gpu_check(gpu, found.driver)
    hidden = len(visible_gpus(found.gpus, {})[0]) - len(devices)
    if hidden and devices:
        detail = f"{hidden} more {'is' if hidden == 1 else 'are'} hidden by {VISIBLE}={variables[VISIBLE]}"
        yield Check("GPU", ok=True, detail=detail, needed=False)


def _gpu_check(gpu: GpuState, driver: str | None) -> Check:
    name = f"GPU {gpu.index}"
    if (unfit := why_unfit(gpu, SM90)) is not None:
        return Check(name, ok=False, detail=unfit, remedy=_WITHOUT, needed=False)
    if (busy := why_busy(gpu, SM90)) is not None:
        remedy = f"wait for it, end what is yours, or leave this GPU out with {VISIBLE}"
        return Check(name, ok=False, detail=busy, remedy=remedy, needed=False)
    free = f"{gpu.free_bytes / _GIB:.1f} of {gpu.memory_bytes / _GIB:.1f} GiB free"
    detail = f"{gpu}, compute capability {gpu.compute_capability}, driver {driver or '?'}, {free}"
    return Check(name, ok=True, detail=detail, needed=False)
