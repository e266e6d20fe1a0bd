import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def narrow(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.bfloat16))


def test_planted():
    assert compile_kernel(narrow, {"x_ptr": "*fp64", "out_ptr": "*bf16"}, {"BLOCK": 128}).asm["cubin"]
