from __future__ import annotations

import pytest

from runner.model.contrast import Dump
from runner.report.compiler_files import compiler_files


def told(**fields: object) -> str:
    return "\n".join(compiler_files(Dump.model_validate({"root": "r", "test": "t", **fields})))


def test_the_reproducer_is_named_with_its_command() -> None:
    text = told(reproducer="reproducer.mlir")
    assert "triton-opt --run-reproducer ir/reproducer.mlir\n" in text
    assert "The kernel after" not in text


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        (("k.ttir",), 'triton.compile("ir/k.ttir", target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})\''),
        (("k.ttir", "k.ttgir"), 'triton.compile("ir/k.ttgir", target=GPUTarget("cuda", 90, 32))\''),
        (("k.ttir", "k.ttgir", "k.llir", "k.ptx"), "ptxas -v --gpu-name=sm_90a ir/k.ptx -o kernel.cubin"),
    ],
)
def test_the_last_stage_goes_on_without_the_project(stages: tuple[str, ...], expected: str) -> None:
    text = told(stages=stages, architecture=90, warps=8)
    assert expected in text
    assert f"came to an end: {', '.join(f'`{name}`' for name in stages)}." in text


def test_nothing_is_guessed_where_the_target_is_not_known() -> None:
    assert "triton.compile" not in told(stages=("k.ttir",))
    assert "python" not in told(stages=("k.ttir", "k.ttgir", "k.llir"), architecture=90)


def test_what_was_too_large_is_said() -> None:
    assert "Left out: k.ptx holds 5,000,000 bytes" in told(left_out=("k.ptx holds 5,000,000 bytes",))


def test_a_kernels_name_closes_no_block() -> None:
    text = told(stages=("a```\n# x.ttir",), architecture=90)
    assert "\n# x" not in text
