"""Layer norm over the rows of a matrix. How much of a row one step takes is autotuned."""

import triton
import triton.language as tl
import triton.testing

CONFIGS = [
    triton.Config({"BLOCK": 256}, num_warps=2),
    triton.Config({"BLOCK": 512}, num_warps=4),
    triton.Config({"BLOCK": 1024}, num_warps=4),
    triton.Config({"BLOCK": 2048}, num_warps=8),
]


def measure(kernel_call, quantiles):
    """Times one candidate, in milliseconds.

    It is what Triton would use by itself. Named here, it is looked up when a kernel first runs; left to Triton 3.3, the
    decorator asks for the GPU at once, and the package could not be imported on a machine that has none.
    """
    return triton.testing.do_bench(kernel_call, quantiles=quantiles)


@triton.autotune(CONFIGS, key=["columns"], do_bench=measure)
@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, row_stride, eps, BLOCK: tl.constexpr):
    """One program normalizes one row in three passes: mean, variance, result."""
    x_ptr += tl.program_id(0) * row_stride
    out_ptr += tl.program_id(0) * row_stride
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / columns
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
        distance = tl.where(offsets < columns, x - mean, 0.0)
        squares += distance * distance
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=inside)
        bias = tl.load(bias_ptr + offsets, mask=inside)
        tl.store(out_ptr + offsets, (x - mean) * scale * weight + bias, mask=inside)


def layer_norm(x, weight, bias, eps=1e-5):
    """Returns the layer norm of each row of the contiguous matrix `x`; computed in float32."""
    rows, columns = x.shape
    out = x.new_empty(x.shape)
    layer_norm_kernel[(rows,)](x, weight, bias, out, columns, x.stride(0), eps)
    return out
