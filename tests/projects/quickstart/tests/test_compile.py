"""Every kernel through the real compiler, down to an SM90 binary. No GPU is needed."""

import re

import pytest
from variants import SHARED_MEMORY_BYTES, VARIANTS, histogram_variant, matmul_variant, threads_per_block


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda variant: variant.name)
def compiled(request):
    """A variant and what the compiler made of it; compiled once for all tests of this file."""
    return request.param, request.param.compile()


def test_binary_is_a_cubin(compiled):
    _, result = compiled
    assert result.asm["cubin"].startswith(b"\x7fELF")


def test_ptx_is_for_sm90(compiled):
    _, result = compiled
    assert re.search(r"^\.target sm_90a?$", result.asm["ptx"], re.MULTILINE)


def test_ptx_has_the_kernel_as_its_entry(compiled):
    variant, result = compiled
    assert f".visible .entry {variant.kernel.__name__}(" in result.asm["ptx"]
    assert result.metadata.name == variant.kernel.__name__


def test_threads_are_those_asked_for(compiled):
    variant, result = compiled
    assert result.metadata.num_warps == variant.options["num_warps"]
    assert threads_per_block(result.asm["ptx"]) == 32 * variant.options["num_warps"]


def test_shared_memory_fits_an_sm90(compiled):
    _, result = compiled
    assert result.metadata.shared <= SHARED_MEMORY_BYTES


def test_matmul_uses_warp_group_instructions():
    result = matmul_variant().compile()
    assert "wgmma.mma_async" in result.asm["ptx"]
    assert result.metadata.shared > 0


def test_histogram_adds_atomically_without_order():
    atomics = re.findall(r"\b(?:atom|red)\.\S+", histogram_variant().compile().asm["ptx"])
    assert atomics
    # Whether the old value is read (`atom`) or not (`red`) is the compiler's choice.
    assert {name.partition(".")[2] for name in atomics} == {"global.gpu.relaxed.add.u32"}
