"""The doctor's table: narrow as the terminal may be, a path stays whole; and what it says of GPUs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner import cli
from runner.commands import doctor
from runner.commands.doctor import gpu_checks
from runner.environment.doctor import Check
from runner.execution.gpus import GpuProcess, GpuState, Survey

LONG = "/a/very/long/path" * 10
GIB = 1 << 30
H200 = GpuState(0, "GPU-aaaa", "NVIDIA H200", "9.0", 140 * GIB, 139 * GIB, 0)
A100 = GpuState(1, "GPU-bbbb", "NVIDIA A100", "8.0", 80 * GIB, 80 * GIB, 0)


def test_a_long_path_is_folded_and_not_cut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def survey(folder: Path) -> tuple[Check, ...]:
        return (Check(name=f"disk of {LONG}", ok=True, detail=f"at {LONG}", remedy="", needed=True),)

    monkeypatch.setattr(doctor, "survey", survey)
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in said
    assert all(len(row) <= 60 for row in said.splitlines())
    assert said.count("/") >= 2 * LONG.count("/")


def test_an_sm90_gpu_is_ok_and_another_says_what_it_is() -> None:
    first, second = gpu_checks(Survey("580.65.06", (H200, A100)), {})
    assert (first.ok, first.name) == (True, "GPU 0")
    assert first.detail == "NVIDIA H200 GPU-aaaa, compute capability 9.0, driver 580.65.06, 139.0 of 140.0 GiB free"
    assert (second.ok, second.name) == (False, "GPU 1")
    assert second.detail == "NVIDIA A100 GPU-bbbb has compute capability 8.0, not 9.0"
    assert "use a machine with an SM90 GPU" in second.remedy


def test_what_would_keep_a_cell_waiting_is_said_with_the_evidence() -> None:
    busy = replace(H200, processes=(GpuProcess(4711, 70 * GIB, "python", "ann"),))
    (check,) = gpu_checks(Survey("580", (busy,)), {})
    assert not check.ok
    assert check.detail == "NVIDIA H200 GPU-aaaa is not idle: process 4711 (python, user ann) with 70.0 GiB"


@pytest.mark.parametrize(
    ("found", "variables", "details"),
    [
        (Survey(), {}, ["NVML lists no GPU"]),
        (Survey(problem="there is no NVIDIA driver here"), {}, ["there is no NVIDIA driver here"]),
        (
            Survey("580", (H200,)),
            {"CUDA_VISIBLE_DEVICES": "7"},
            ["CUDA_VISIBLE_DEVICES=7 names no GPU of this machine"],
        ),
        (
            Survey("580", (H200, A100)),
            {"CUDA_VISIBLE_DEVICES": "GPU-bbbb"},
            [
                "NVIDIA A100 GPU-bbbb has compute capability 8.0, not 9.0",
                "1 more is hidden by CUDA_VISIBLE_DEVICES=GPU-bbbb",
            ],
        ),
    ],
)
def test_why_there_is_no_gpu_to_use_is_said(found: Survey, variables: dict[str, str], details: list[str]) -> None:
    assert [check.detail for check in gpu_checks(found, variables)] == details


def test_without_the_gpus_that_a_variable_hides_the_variable_is_to_blame() -> None:
    (check,) = gpu_checks(Survey("580", (H200,)), {"CUDA_VISIBLE_DEVICES": "7"})
    assert check.remedy == "correct CUDA_VISIBLE_DEVICES, or unset it"
