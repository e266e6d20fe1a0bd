"""Compiles kernels for SM90 where there is no GPU."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def compile_kernel(kernel, types, constants, **options):
    """Types are as Triton writes them; `*fp16:16` is an address that is a multiple of 16 bytes."""
    parts = [types.get(name, "constexpr").partition(":") for name in kernel.arg_names]
    source = ASTSource(
        kernel,
        {name: part[0] for name, part in zip(kernel.arg_names, parts)},
        constexprs=constants,
        attrs={(i,): [["tt.divisibility", int(part[2])]] for i, part in enumerate(parts) if part[2]},
    )
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
