"""Compiles kernels for SM90 where there is no GPU, with any Triton from 3.2 on."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

RELEASE = tuple(map(int, triton.__version__.split(".")[:2]))


def compile_kernel(kernel, types, constants, **options):
    if RELEASE >= (3, 3):
        types = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    return triton.compile(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 90, 32), options=options)
