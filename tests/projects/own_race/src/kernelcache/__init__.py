"""A bounded cache of compiled kernels that was written with one thread in mind."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SM90 = GPUTarget("cuda", 90, 32)


@triton.jit
def fill_kernel(x_ptr, BLOCK: tl.constexpr):
    """Sets `BLOCK` elements to one."""
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


def compile_fill(block):
    """Compiles `fill_kernel` for SM90."""
    source = ASTSource(fill_kernel, {"x_ptr": "*fp32", "BLOCK": "constexpr"}, constexprs={"BLOCK": block})
    return triton.compile(source, target=SM90)


class KernelCache:
    """Holds at most `limit` compiled kernels, and counts how often each block size was asked for.

    Neither of its dictionaries is guarded by a lock. These are the two races:

    - `uses[block] += 1` reads, adds and writes. With the GIL no other thread comes in between (Python 3.12 and 3.13 switch
      threads at calls and backward jumps alone); without it, counts are lost.
    - `get` chooses which kernel has to go before it compiles, and removes it afterwards. Another thread may have removed the
      same one by then, with the GIL and without: `KeyError`.
    """

    def __init__(self, limit):
        self.limit = limit
        self.kernels = {}
        self.uses = {}

    def get(self, block):
        """Returns the compiled kernel for `block`."""
        self.count(block)
        if block not in self.kernels:
            oldest = next(iter(self.kernels)) if len(self.kernels) >= self.limit else None
            kernel = compile_fill(block)
            if oldest is not None:
                del self.kernels[oldest]
            self.kernels[block] = kernel
        return self.kernels[block]

    def count(self, block):
        """Notes one use of `block`."""
        if block not in self.uses:
            self.uses[block] = 0
        self.uses[block] += 1
