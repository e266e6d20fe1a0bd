import triton
import triton.language as tl
from sm90 import compile_kernel
from triton.runtime.errors import OutOfResources

SHARED_MEMORY = 232_448
"""Bytes that a block may have on an SM90; Triton asks the device for them when it loads a kernel."""


@triton.jit
def multiply(a_ptr, b_ptr, out_ptr, size, SIDE: tl.constexpr):
    i = tl.arange(0, SIDE)
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for start in range(0, size, SIDE):
        a = tl.load(a_ptr + i[:, None] * size + (start + i)[None, :])
        b = tl.load(b_ptr + (start + i)[:, None] * SIDE + i[None, :])
        total = tl.dot(a, b, total)
    tl.store(out_ptr + i[:, None] * SIDE + i[None, :], total)


def test_planted():
    types = {"a_ptr": "*fp16:16", "b_ptr": "*fp16:16", "out_ptr": "*fp32:16", "size": "i32:16"}
    needed = compile_kernel(multiply, types, {"SIDE": 128}, num_stages=6, num_warps=8).metadata.shared
    if needed > SHARED_MEMORY:  # as triton/compiler/compiler.py says it on the device
        raise OutOfResources(needed, SHARED_MEMORY, "shared memory")
