import ctypes
import importlib.util
import pathlib


def runtime():
    folder = pathlib.Path(importlib.util.find_spec("nvidia.cuda_runtime").submodule_search_locations[0])
    library = ctypes.CDLL(str(folder / "lib" / "libcudart.so.12"))
    library.cudaGetErrorString.restype = ctypes.c_char_p
    return library


def test_planted():
    cuda, count = runtime(), ctypes.c_int()
    if error := cuda.cudaGetDeviceCount(ctypes.byref(count)):
        raise RuntimeError(f"CUDA error: {cuda.cudaGetErrorString(error).decode()}")
