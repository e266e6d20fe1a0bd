import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def copy(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for start in tl.range(0, size, BLOCK, warp_specialize=True):
        tl.store(out_ptr + start + i, tl.load(x_ptr + start + i))


def test_planted():
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "size": "i32"}
    assert compile_kernel(copy, types, {"BLOCK": 128}).asm["cubin"]
