"""Whether a GPU is here that the kernels can run on."""

import ctypes

COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76
"""Numbers of two CUdevice_attribute of the driver API."""


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
    driver.cuDeviceGetAttribute(ctypes.byref(major), COMPUTE_CAPABILITY_MAJOR, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), COMPUTE_CAPABILITY_MINOR, device)
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
