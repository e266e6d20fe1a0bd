"""CUDA for test suites that misbehave: the driver's own calls by ctypes and kernels in PTX; no torch, no Triton.

Copied beside such a suite. The same on an SM90 GPU and on the stub, which knows the kernels by their names.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

PTX = b"""
.version 7.8
.target sm_90
.address_size 64
.visible .entry do_nothing() { ret; }
.visible .entry do_trap() { trap; }
.visible .entry do_illegal()
{
    .reg .u64 %address;
    .reg .u32 %value;
    mov.u64 %address, 16;
    mov.u32 %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
.visible .entry do_spin()
{
    .reg .u64 %now;
again:
    mov.u64 %now, %clock64;
    bra again;
}
"""


def require(code: int) -> None:
    """Raise unless a call of the driver went well."""
    if code != 0:
        name = ctypes.c_char_p()
        driver().cuGetErrorName(code, ctypes.byref(name))
        raise RuntimeError(f"{(name.value or b'?').decode()} ({code})")


@functools.cache
def driver() -> Any:
    """The driver, initialised."""
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuCtxSetCurrent.argtypes = (ctypes.c_void_p,)
    cuda.cuModuleGetFunction.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
    cuda.cuLaunchKernel.argtypes = (ctypes.c_void_p, *(ctypes.c_uint,) * 7, *(ctypes.c_void_p,) * 3)
    if cuda.cuInit(0) != 0:
        raise RuntimeError("no CUDA device")
    return cuda


@functools.cache
def context(device: int = 0) -> ctypes.c_void_p:
    """The primary context of a device, as torch and Triton use it."""
    found = ctypes.c_void_p()
    require(driver().cuDevicePrimaryCtxRetain(ctypes.byref(found), device))
    return found


@functools.cache
def kernel(name: str, device: int = 0) -> ctypes.c_void_p:
    """A kernel, loaded into the current context."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    require(driver().cuModuleLoadData(ctypes.byref(module), PTX))
    require(driver().cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    return function


def use(device: int = 0) -> None:
    """Make the context of a device current in this thread."""
    require(driver().cuCtxSetCurrent(context(device)))


def launch(name: str, device: int = 0) -> None:
    """Ask for a kernel; what becomes of it shows later."""
    use(device)
    require(driver().cuLaunchKernel(kernel(name, device), 1, 1, 1, 1, 1, 1, 0, None, None, None))


def synchronize() -> None:
    """Wait for what was asked for."""
    require(driver().cuCtxSynchronize())
