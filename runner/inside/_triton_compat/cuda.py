"""Whether the CUDA context of this process is still alive: asked after every test, of a driver that is loaded already.

A kernel that goes wrong leaves an error that every later call of the process returns, and nothing but a new process
helps. So the test after which the error is there is the one that caused it, whatever it reported itself.

Nothing here loads libcuda, initialises it, or makes a context.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

DEAD_CONTEXT_EXIT_CODE = 114
"""Of a worker that asks to be replaced."""
_LIBRARY = b"libcuda.so.1"
_NEEDED = (
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxSynchronize",
    "cuDeviceGetCount",
    "cuDevicePrimaryCtxGetState",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuGetErrorName",
)
# Answers that are no verdict on the context: out of memory, not (or no longer) initialised, no context, stream capture
# going on (900 to 908).
_HARMLESS = frozenset({0, 2, 3, 4, 201, *range(900, 909)})
_DESTROYED = 709


class _LoadedObject(ctypes.Structure):
    """The beginning of glibc's and musl's `dl_phdr_info`."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("headers", ctypes.c_void_p),
        ("header_count", ctypes.c_uint16),
        ("loads", ctypes.c_ulonglong),
    )


_Visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_LoadedObject), ctypes.c_size_t, ctypes.c_void_p)


def is_reset(error: str) -> bool:
    """Whether an error says no more than that the context was reset.

    A test may do so on purpose, and a context made anew works. But a reset also hides an error that stays, and then
    nothing works any more: from outside the two look alike.
    """
    return error.endswith(f"({_DESTROYED})")


class Probe:
    """Looks at the contexts of this process.

    Until libcuda is loaded a look reads one counter: how many libraries were ever loaded. Only when that has grown is
    the loader asked for libcuda, for that costs 17 microseconds and the counter half of one.
    """

    def __init__(self) -> None:
        self._cuda: Any = None
        self._devices = 0
        self._context = ctypes.c_void_p()
        self._loads = 0
        self._loads_before = -1
        self._visitor = _Visitor(self._read_loads)
        try:
            # With the GIL held: a thread that held it and unwound a C++ exception would wait for the loader's lock.
            self._visit: Any = ctypes.PyDLL(None).dl_iterate_phdr
            self._open = ctypes.CDLL(None).dlopen
        except (OSError, AttributeError):
            self._visit = None
        else:
            self._open.restype = ctypes.c_void_p
            self._open.argtypes = (ctypes.c_char_p, ctypes.c_int)

    def look(self) -> str | None:
        """Wait for the GPU to finish what the tests gave it, in every context that is in use.

        Returns:
            The error that a dead context left, such as `CUDA_ERROR_ILLEGAL_ADDRESS (700)`; None when all are alive or
            there is none.
        """
        cuda = self._cuda
        if cuda is None:
            cuda = self._find()
            if cuda is None:
                return None
        current = self._context
        device = -1
        code = cuda.cuCtxGetCurrent(ctypes.byref(current))
        if code == 0 and current.value:
            code = cuda.cuCtxSynchronize()
            if self._devices == 1 and code == 0:
                return None
            device = self._device_of_current()
        if code in _HARMLESS:
            code = self._look_at_primary_contexts(device)
        return None if code in _HARMLESS else self._name(code)

    def _look_at_primary_contexts(self, seen: int) -> int:
        """The first error of a primary context in use that is current in no thread, or in another one than this."""
        if not self._devices:
            count = ctypes.c_int(0)
            if self._cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:  # not initialised
                return 0
            self._devices = count.value
        flags, active, context = ctypes.c_uint(0), ctypes.c_int(0), ctypes.c_void_p()
        for device in range(self._devices):
            if device == seen:
                continue
            code = self._cuda.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
            if code == 0 and active.value:
                # It is in use, so this takes another reference and creates nothing.
                code = self._cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
                if code == 0:
                    code = self._synchronize(context)
                    self._cuda.cuDevicePrimaryCtxRelease_v2(device)
            if code not in _HARMLESS:
                return int(code)
        return 0

    def _synchronize(self, context: ctypes.c_void_p) -> int:
        code = self._cuda.cuCtxPushCurrent_v2(context)
        if code == 0:
            code = self._cuda.cuCtxSynchronize()
            self._cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        return int(code)

    def _device_of_current(self) -> int:
        device = ctypes.c_int(-1)
        return device.value if self._cuda.cuCtxGetDevice(ctypes.byref(device)) == 0 else -1

    def _name(self, code: int) -> str:
        name = ctypes.c_char_p()
        self._cuda.cuGetErrorName(code, ctypes.byref(name))
        return f"{(name.value or b'CUDA error').decode('ascii', 'replace')} ({code})"

    def _find(self) -> Any:
        """The driver, if it is loaded; kept from then on."""
        if self._visit is None:
            return None
        self._visit(self._visitor, None)
        if self._loads == self._loads_before:
            return None
        self._loads_before = self._loads
        if not self._open(_LIBRARY, os.RTLD_NOLOAD | os.RTLD_LAZY):
            return None
        cuda = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        if all(hasattr(cuda, name) for name in _NEEDED):
            cuda.cuCtxPushCurrent_v2.argtypes = (ctypes.c_void_p,)
            self._cuda = cuda
        else:
            self._visit = None  # a library of that name that is no driver
        return self._cuda

    def _read_loads(self, info: Any, _size: int, _data: int | None) -> int:
        self._loads = info.contents.loads
        return 1  # the counter stands in every entry; the first will do
