"""What the tests need in order to compile for SM90 and to find out whether such a GPU is here."""

import ctypes
import re
from dataclasses import dataclass

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tinykernels import add, histogram, layer_norm, matmul, softmax  # noqa: F401 - the package's public face imports
from tinykernels.add import add_kernel
from tinykernels.histogram import histogram_kernel
from tinykernels.layer_norm import CONFIGS, layer_norm_kernel
from tinykernels.matmul import BLOCKS, LAUNCH, matmul_kernel
from tinykernels.softmax import softmax_kernel

SM90 = GPUTarget("cuda", 90, 32)
SHARED_MEMORY_BYTES = 232_448
"""What one block of an SM90 may use (227 KiB)."""


@dataclass(frozen=True)
class Variant:
    """One kernel with everything that the compiler needs to know.

    Attributes:
        name: for test ids.
        kernel: the `triton.jit` function.
        types: of the run-time arguments, such as `*fp32` or `i32`; the other arguments are in `constants`.
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
        signature = {name: self.types.get(name, "constexpr") for name in self.kernel.arg_names}
        # 16-byte alignment is what a launch with torch tensors finds out by itself.
        aligned = {
            (index,): [["tt.divisibility", 16]] for index, type_ in enumerate(signature.values()) if type_[0] == "*"
        }
        source = ASTSource(self.kernel, signature, constexprs=self.constants, attrs=aligned)
        return triton.compile(source, target=SM90, options=self.options)


def add_variant(block=1024, num_warps=4):
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "size": "i32"}
    return Variant(f"add-{block}", add_kernel, types, {"BLOCK": block}, {"num_warps": num_warps})


def softmax_variant(block=1024, num_warps=4):
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "columns": "i32", "row_stride": "i32"}
    return Variant(f"softmax-{block}", softmax_kernel, types, {"BLOCK": block}, {"num_warps": num_warps})


def histogram_variant(block=1024, num_warps=4):
    types = {"values_ptr": "*i32", "counts_ptr": "*i32", "size": "i32", "bins": "i32"}
    return Variant(f"histogram-{block}", histogram_kernel, types, {"BLOCK": block}, {"num_warps": num_warps})


def matmul_variant():
    pointers = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16")
    numbers = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32")
    # The inner strides of row-major matrices are one, and Triton compiles that number in.
    ones = dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1)
    return Variant("matmul", matmul_kernel, {**pointers, **numbers}, {**BLOCKS, **ones}, LAUNCH)


def layer_norm_variant(config):
    types = {
        **dict.fromkeys(("x_ptr", "weight_ptr", "bias_ptr", "out_ptr"), "*fp32"),
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


def missing_for_gpu_tests():
    """Returns what keeps the tests from running on GPU 0, in words, or None when nothing does."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver (libcuda.so.1 not found)"
    if code := driver.cuInit(0):
        return f"the CUDA driver finds no usable GPU (cuInit gives error {code})"
    count, device, major, minor = (ctypes.c_int() for _ in range(4))
    driver.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        return "the CUDA driver finds no GPU"
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)  # compute capability, major and minor
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    if (major.value, minor.value) != (9, 0):
        return f"GPU 0 is SM{major.value}{minor.value}, these need SM90"
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise  # torch is there and broken: that is a failure, not a reason to skip
        return "torch is not installed"
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} cannot use the GPU (torch.cuda.is_available() is False)"
    return None
