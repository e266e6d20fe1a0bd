"""Matrix product in float16 with float32 sums. On SM90 `tl.dot` becomes the warp-group instruction `wgmma`."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """One program computes one `BLOCK_M` x `BLOCK_N` tile of `c`, in steps of `BLOCK_K`."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    # Rows and columns beyond the edge wrap round, so that loads need no mask there; the store leaves them out.
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (columns % N)[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - start, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - start, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
LAUNCH = {"num_warps": 4, "num_stages": 3}


def matmul(a, b):
    """Returns `a @ b` for two float16 matrices."""
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty((m, n))
    grid = (triton.cdiv(m, BLOCKS["BLOCK_M"]), triton.cdiv(n, BLOCKS["BLOCK_N"]))
    matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), **BLOCKS, **LAUNCH)
    return c
