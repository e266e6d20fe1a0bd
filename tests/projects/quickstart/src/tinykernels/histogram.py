"""Counts how often each small integer occurs, with one atomic addition per element."""

import triton
import triton.language as tl


@triton.jit
def histogram_kernel(values_ptr, counts_ptr, size, bins, BLOCK: tl.constexpr):
    """Adds one to `counts[v]` for each `v` of `BLOCK` values; values outside `[0, bins)` are not counted."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(values_ptr + offsets, mask=offsets < size, other=-1)
    tl.atomic_add(counts_ptr + values, 1, mask=(values >= 0) & (values < bins), sem="relaxed")


def histogram(values, bins):
    """Returns how often each of `0` to `bins - 1` occurs in the contiguous int32 tensor `values`, as int32."""
    counts = values.new_zeros(bins)
    block = 1024
    histogram_kernel[(triton.cdiv(values.numel(), block),)](values, counts, values.numel(), bins, BLOCK=block)
    return counts
