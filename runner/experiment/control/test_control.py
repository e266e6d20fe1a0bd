"""The control: Triton alone, no project code. What fails here is not the project's.

Each test is one part, and its name is the part's name in contrasts.json. Parts that need a driver, a GPU or torch
skip with the reason where it lacks.
"""

import importlib
import sys
import threading

import pytest
from conftest import THREADS


def gil_enabled():
    return getattr(sys, "_is_gil_enabled", lambda: True)()


GIL_BEFORE_TRITON = gil_enabled()


def test_import():
    import triton

    assert triton.__version__


def test_gil_declaration():
    import triton  # noqa: F401

    assert gil_enabled() == GIL_BEFORE_TRITON, "importing triton switched the GIL on"


def test_driver_helper(linkable_driver):
    """The module that Triton compiles at run time against libcuda, and loads from its cache."""
    from triton.backends.nvidia.driver import CudaUtils

    assert CudaUtils() is not None


def test_compile_add():
    from control_kernels import compile_add

    asm = compile_add(1024)
    assert asm["cubin"][:4] == b"\x7fELF"


def test_compile_dot():
    from control_kernels import compile_for_sm90, dot_kernel

    pointers = {"a_ptr": "*fp16:16", "b_ptr": "*fp16:16", "c_ptr": "*fp32:16"}
    asm = compile_for_sm90(dot_kernel, pointers, {"SIDE": 64}, num_warps=4)
    assert "wgmma" in asm["ptx"]


def test_compile_descriptor():
    import control_kernels

    if not control_kernels.HAS_DESCRIPTORS:
        pytest.skip("this Triton has no tl.make_tensor_descriptor")
    asm = control_kernels.compile_for_sm90(
        control_kernels.copy_by_descriptor_kernel,
        {"in_ptr": "*fp16:16", "out_ptr": "*fp16:16", "rows": "i32:16", "columns": "i32:16"},
        {"SIDE": 64},
        num_warps=4,
    )
    assert "cp.async.bulk.tensor" in asm["ptx"]


def test_compile_from_threads(together):
    from control_kernels import compile_add

    together(lambda index: compile_add(32 << index))


CALLS = 64


def autotuned_kernel():
    """An autotuned kernel whose benchmark waits as one on a GPU does, and measures nothing; nothing is launched."""
    import triton
    from control_kernels import add_kernel

    waiting = threading.Event()

    def benchmark(call, quantiles=None, **_):
        waiting.wait(0.0005)
        return [1.0, 1.0, 1.0]

    configs = [triton.Config({"BLOCK": 32 << index}) for index in range(3)]
    kernel = triton.autotune(configs=configs, key=["size"], do_bench=benchmark)(triton.jit(add_kernel.fn))
    kernel.fn.run = lambda *_, **__: None  # the tuner is what is controlled
    return kernel


def test_autotune_from_one_thread(autotuner):
    """The same calls as below, one after the other."""
    kernel = autotuned_kernel()
    for size in range(CALLS):
        kernel[(1,)](None, None, None, size)


def test_autotune_from_threads(autotuner, together):
    """One autotuned kernel called from many threads at once."""
    kernel = autotuned_kernel()

    def call_often(index):
        for call in range(CALLS // THREADS):
            kernel[(1,)](None, None, None, 1000 * index + call)

    together(call_often)


MODULES = 8
MODULE = """
import triton
import triton.language as tl

def benchmark(call, quantiles=None, **_):
    return [1.0, 1.0, 1.0]

@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["size"], do_bench=benchmark)
@triton.jit
def kernel(x_ptr, size, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, offsets, mask=offsets < size)
"""


@pytest.fixture
def modules(autotuner, tmp_path, monkeypatch):
    """Names of modules that jit and autotune while they are imported.

    They bring a benchmark of their own, because without one the decorator of Triton 3.3 asks for a GPU.
    """
    names = [f"control_module_{index}" for index in range(MODULES)]
    for name in names:
        (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield names
    for name in names:
        sys.modules.pop(name, None)


def test_import_of_kernels_from_one_thread(modules):
    for name in modules:
        importlib.import_module(name)


def test_import_of_kernels_from_threads(modules, together):
    together(lambda index: [importlib.import_module(modules[(index + step) % MODULES]) for step in range(MODULES)])


def launch_add(torch, block, size=4096):
    from control_kernels import add_kernel

    x, y = torch.rand(size, device="cuda"), torch.rand(size, device="cuda")
    out = torch.empty_like(x)
    add_kernel[((size + block - 1) // block,)](x, y, out, size, BLOCK=block)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_launch_add(torch):
    launch_add(torch, 1024)


def test_launch_dot(torch):
    from control_kernels import dot_kernel

    a, b = (torch.rand(64, 64, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty(64, 64, device="cuda", dtype=torch.float32)
    dot_kernel[(1,)](a, b, c, SIDE=64)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=1e-2)


def test_launch_descriptor(torch):
    import control_kernels
    import triton

    if not control_kernels.HAS_DESCRIPTORS:
        pytest.skip("this Triton has no tl.make_tensor_descriptor")
    if hasattr(triton, "set_allocator"):
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    source = torch.rand(64, 64, device="cuda", dtype=torch.float16)
    target = torch.empty_like(source)
    control_kernels.copy_by_descriptor_kernel[(1,)](source, target, 64, 64, SIDE=64)
    torch.testing.assert_close(target, source, rtol=0, atol=0)


def test_launch_autotuned(torch):
    import triton
    from control_kernels import add_kernel

    configs = [triton.Config({"BLOCK": block}) for block in (256, 512)]
    kernel = triton.autotune(configs=configs, key=["size"])(triton.jit(add_kernel.fn))
    x = torch.rand(4096, device="cuda")
    out = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(4096, meta["BLOCK"]),)](x, x, out, 4096)
    torch.testing.assert_close(out, x + x, rtol=0, atol=0)


def test_first_launch_of_one_kernel_from_threads(torch, together):
    def launch(_):
        torch.cuda.set_device(0)  # makes the context current in this thread
        launch_add(torch, 2048)

    together(launch)


def test_first_launch_of_distinct_kernels_from_threads(torch, together):
    def launch(index):
        torch.cuda.set_device(0)
        launch_add(torch, 8 << index)

    together(launch)
