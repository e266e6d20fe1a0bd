"""Every kernel of the package with the types and constants that the tests compile it for."""

import re
from dataclasses import dataclass

import triton
from tinykernels.add import add_kernel
from tinykernels.histogram import histogram_kernel
from tinykernels.layer_norm import CONFIGS, layer_norm_kernel
from tinykernels.matmul import BLOCKS, LAUNCH, matmul_kernel
from tinykernels.softmax import softmax_kernel
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SM90 = GPUTarget("cuda", 90, 32)
SHARED_MEMORY_BYTES = 232_448
"""What one block of an SM90 may use (227 KiB)."""


@dataclass(frozen=True)
class Variant:
    """One kernel with everything that the compiler needs to know.

    Attributes:
        name: for test ids.
        kernel: the `triton.jit` function.
        types: of the run-time arguments, such as `i32`, or `*fp32:16` for an address that is a multiple of 16 bytes, which
            a launch with torch tensors finds out by itself; the other arguments are in `constants`.
        constants: the `tl.constexpr` arguments.
        options: such as `num_warps`.
    """

    name: str
    kernel: object
    types: dict
    constants: dict
    options: dict

    def compile(self):
        """Compiles for SM90, on any machine, or takes the result from `TRITON_CACHE_DIR`."""
        types = {name: self.types.get(name, "constexpr").partition(":") for name in self.kernel.arg_names}
        signature = {name: type_ for name, (type_, _, _) in types.items()}
        multiples = {
            (index,): [["tt.divisibility", int(multiple)]]
            for index, (_, _, multiple) in enumerate(types.values())
            if multiple
        }
        source = ASTSource(self.kernel, signature, constexprs=self.constants, attrs=multiples)
        return triton.compile(source, target=SM90, options=self.options)


def add_variant(block=1024, num_warps=4):
    types = {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16", "out_ptr": "*fp32:16", "size": "i32"}
    return Variant(f"add-{block}", add_kernel, types, {"BLOCK": block}, {"num_warps": num_warps})


def softmax_variant(block=1024, num_warps=4):
    types = {"x_ptr": "*fp32:16", "out_ptr": "*fp32:16", "columns": "i32", "row_stride": "i32"}
    return Variant(f"softmax-{block}", softmax_kernel, types, {"BLOCK": block}, {"num_warps": num_warps})


def histogram_variant(block=1024, num_warps=4):
    types = {"values_ptr": "*i32:16", "counts_ptr": "*i32:16", "size": "i32", "bins": "i32"}
    return Variant(f"histogram-{block}", histogram_kernel, types, {"BLOCK": block}, {"num_warps": num_warps})


def matmul_variant():
    """Row-major matrices with sides that are multiples of 16: what lets the compiler pipeline the loads."""
    pointers = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16:16")
    numbers = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32:16")
    # Triton compiles an argument that is one into the kernel.
    ones = dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1)
    return Variant("matmul", matmul_kernel, {**pointers, **numbers}, {**BLOCKS, **ones}, LAUNCH)


def layer_norm_variant(config):
    types = {
        **dict.fromkeys(("x_ptr", "weight_ptr", "bias_ptr", "out_ptr"), "*fp32:16"),
        "columns": "i32",
        "row_stride": "i32",
        "eps": "fp32",
    }
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return Variant(f"layer_norm-{config.kwargs['BLOCK']}", layer_norm_kernel.fn, types, config.kwargs, options)


VARIANTS = [
    add_variant(),
    softmax_variant(),
    histogram_variant(),
    matmul_variant(),
    *(layer_norm_variant(config) for config in CONFIGS),
]


def threads_per_block(ptx):
    """Returns what the PTX asks for; Triton up to 3.3 writes `.maxntid`, later ones `.reqntid`."""
    found = re.search(r"^\s*\.(?:reqntid|maxntid)\s+(\d+)", ptx, re.MULTILINE)
    assert found, "the PTX names no number of threads per block"
    return int(found[1])
