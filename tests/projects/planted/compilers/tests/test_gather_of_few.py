import pytest
import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def pick(x_ptr, out_ptr, ROWS: tl.constexpr, FROM: tl.constexpr, TO: tl.constexpr):
    source = tl.load(x_ptr + tl.reshape(tl.arange(0, ROWS * FROM), (ROWS, FROM)))
    places = tl.reshape(tl.arange(0, ROWS * TO), (ROWS, TO))
    tl.store(out_ptr + places, tl.gather(source, places % FROM, 1))


@pytest.mark.skipif(not hasattr(tl, "gather"), reason="this Triton has no tl.gather")
def test_planted():
    constants = {"ROWS": 8, "FROM": 2, "TO": 8}
    assert compile_kernel(pick, {"x_ptr": "*i32", "out_ptr": "*i32"}, constants, num_warps=2).asm["cubin"]
