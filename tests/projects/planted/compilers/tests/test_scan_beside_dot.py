import triton
import triton.language as tl
from sm90 import compile_kernel


@triton.jit
def decay(out_ptr, BLOCK: tl.constexpr):
    q = tl.zeros([BLOCK, 16], dtype=tl.float32)
    weights = tl.cumsum(tl.zeros([BLOCK, 1], dtype=tl.float32), axis=0) * tl.dot(q, tl.trans(q))
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i[:, None] * BLOCK + i[None, :], weights)


def test_planted():
    assert compile_kernel(decay, {"out_ptr": "*fp32"}, {"BLOCK": 64}, num_warps=4).asm["cubin"]
