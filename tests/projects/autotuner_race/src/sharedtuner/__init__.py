"""An autotuned kernel that is compiled for SM90 where a GPU would run it, so that tuning needs no GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime import KernelInterface

SM90 = GPUTarget("cuda", 90, 32)
CONFIGS = [triton.Config({"BLOCK": block}, num_warps=4) for block in (128, 256, 512, 1024)]


@triton.jit
def double_kernel(x_ptr, size, BLOCK: tl.constexpr):
    """Doubles `BLOCK` elements in place."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < size)
    tl.store(x_ptr + offsets, x + x, mask=offsets < size)


def compile_double(block, num_warps=4):
    """Compiles `double_kernel` for SM90, or takes it from Triton's cache; returns the compiled kernel."""
    signature = {"x_ptr": "*fp32", "size": "i32", "BLOCK": "constexpr"}
    source = ASTSource(double_kernel, signature, constexprs={"BLOCK": block})
    return triton.compile(source, target=SM90, options={"num_warps": num_warps})


class CompiledDouble(KernelInterface):
    """`double_kernel`, whose launch ends where the GPU would be needed: it is compiled, and not run."""

    fn = double_kernel
    arg_names = double_kernel.arg_names

    def run(self, *args, grid, warmup, BLOCK, num_warps, **_):
        return compile_double(BLOCK, num_warps)


def measure(kernel_call, quantiles):
    """Makes up the milliseconds: without a GPU there is nothing to measure, but the candidate is compiled."""
    kernel_call()
    return [1.0 for _ in quantiles]


def make_tuned_kernel():
    """Returns the kernel under an autotuner of its own; every new `size` is tuned anew, and the first config wins."""
    return triton.autotune(CONFIGS, key=["size"], do_bench=measure)(CompiledDouble())


double = make_tuned_kernel()
