import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def double(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * 2)


def test_planted():
    assert compile_kernel(double, {"x_ptr": "*fp32", "out_ptr": "*fp32"}, {"BLOCK": 128}).asm["cubin"]
