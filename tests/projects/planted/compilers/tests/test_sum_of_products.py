import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def multiply(a_ptr, b_ptr, out_ptr, SIDE: tl.constexpr):
    i = tl.arange(0, SIDE)
    places = i[:, None] * SIDE + i[None, :]
    a, b = tl.load(a_ptr + places), tl.load(b_ptr + places)
    tl.store(out_ptr + places, tl.sum(a[:, :, None] * b[None, :, :], 1))


def test_planted():
    types = dict.fromkeys(("a_ptr", "b_ptr", "out_ptr"), "*fp16")
    assert compile_kernel(multiply, types, {"SIDE": 16}).asm["cubin"]
