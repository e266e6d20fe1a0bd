import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def add_up(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if size > 10:
        first = tl.load(x_ptr)
    else:
        first = tl.load(x_ptr + 1)
    total = tl.zeros((BLOCK,), tl.int32)
    for step in range(first, size):
        total += tl.load(x_ptr + step + i)
    tl.store(out_ptr + i, total)


def test_planted():
    types = {"x_ptr": "*i32", "out_ptr": "*i32", "size": "i32"}
    assert compile_kernel(add_up, types, {"BLOCK": 128}).asm["cubin"]
