"""The control's kernels: Triton alone, as small as they can be."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SM90 = GPUTarget("cuda", 90, 32)
IS_3_2 = triton.__version__.startswith("3.2.")


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, size, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, SIDE: tl.constexpr):
    rows = tl.arange(0, SIDE)[:, None]
    columns = tl.arange(0, SIDE)[None, :]
    offsets = rows * SIDE + columns
    product = tl.dot(tl.load(a_ptr + offsets), tl.load(b_ptr + offsets))
    tl.store(c_ptr + offsets, product)


@triton.jit
def copy_by_descriptor_kernel(in_ptr, out_ptr, rows, columns, SIDE: tl.constexpr):
    source = tl.make_tensor_descriptor(in_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[SIDE, SIDE])
    target = tl.make_tensor_descriptor(out_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[SIDE, SIDE])
    target.store([0, 0], source.load([0, 0]))


HAS_DESCRIPTORS = hasattr(tl, "make_tensor_descriptor")
"""Triton 3.4 and later; before, the name is `_experimental_make_tensor_descriptor` and its kernels differ."""


def compile_for_sm90(kernel, types, constants, **options):
    """Compile one kernel for SM90 on any machine.

    Args:
        kernel: a `triton.jit` function.
        types: run-time arguments to their types; `*fp32:16` is an address that is a multiple of 16 bytes.
        constants: `tl.constexpr` arguments to their values.
        options: such as `num_warps`.

    Returns:
        The compiled kernel's `asm`: a mapping of `ttir`, `ptx`, `cubin` and others.
    """
    parts = {name: types.get(name, "constexpr").partition(":") for name in kernel.arg_names}
    multiples = {i: int(part[2]) for i, part in enumerate(parts.values()) if part[2]}
    signature = {name: part[0] for name, part in parts.items()}
    if IS_3_2:  # it has another form for what is known of the arguments, and constants are none of them
        from triton.backends.compiler import AttrsDescriptor

        known = {"arg_properties": {"tt.divisibility": list(multiples)}, "cls": "AttrsDescriptor"}
        attrs = AttrsDescriptor.from_dict(known)
        signature = {name: types[name].partition(":")[0] for name in kernel.arg_names if name in types}
    else:
        attrs = {(i,): [["tt.divisibility", multiple]] for i, multiple in multiples.items()}
    source = ASTSource(kernel, signature, constants, attrs)
    return triton.compile(source, target=SM90, options=options).asm


def compile_add(block, num_warps=4):
    """The vector add for one block size: distinct sizes are distinct kernels."""
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "out_ptr"), "*fp32:16")
    return compile_for_sm90(add_kernel, {**pointers, "size": "i32"}, {"BLOCK": block}, num_warps=num_warps)
