import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def invert(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "nott.b32 $0, $1;", "=r,r", [tl.load(x_ptr + i)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out_ptr + i, value)


def test_planted():
    assert compile_kernel(invert, {"x_ptr": "*i32", "out_ptr": "*i32"}, {"BLOCK": 128}).asm["cubin"]
