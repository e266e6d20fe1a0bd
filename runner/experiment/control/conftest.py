"""What the control needs from the machine, and how threads are released together."""

import ctypes
import importlib.util
import os
import pathlib
import shutil
import subprocess
import threading

import pytest

THREADS = 8
WAIT_SECONDS = 60.0
COMPUTE_CAPABILITY_MAJOR = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
COMPUTE_CAPABILITY_MINOR = 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR


stand_ins = []
"""Drivers that were compiled here: they can be linked with, and launch nothing."""


@pytest.fixture(scope="session")
def driver():
    """libcuda; skips where there is none."""
    if stand_ins:
        pytest.skip("no CUDA driver (libcuda.so.1 not found)")
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        if "TRITON_LIBCUDA_PATH" not in os.environ:
            pytest.skip("no CUDA driver (libcuda.so.1 not found)")
        return ctypes.CDLL(os.path.join(os.environ["TRITON_LIBCUDA_PATH"], "libcuda.so.1"))


@pytest.fixture(scope="session")
def linkable_driver(tmp_path_factory):
    """libcuda, or one without a device that is compiled here: enough to link and load Triton's helper."""
    if "TRITON_LIBCUDA_PATH" in os.environ:
        return
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            pytest.skip("no CUDA driver (libcuda.so.1 not found), and no C compiler to make one to link with")
        folder = tmp_path_factory.mktemp("libcuda")
        library = folder / "libcuda.so.1"
        source = pathlib.Path(__file__).with_name("libcuda.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", source, "-o", library], check=True)
        (folder / "libcuda.so").symlink_to(library.name)  # the name that Triton 3.3 links with
        os.environ["TRITON_LIBCUDA_PATH"] = str(folder)
        # The helper asks the loader for libcuda.so.1, and a library that is loaded already answers to that name.
        stand_ins.append(ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL))


@pytest.fixture(scope="session")
def torch(driver):
    """A torch that can use a GPU of SM90; skips, in words, where either lacks."""
    if code := driver.cuInit(0):
        pytest.skip(f"the CUDA driver finds no usable GPU (cuInit gives error {code})")
    device, major, minor = (ctypes.c_int() for _ in range(3))
    if driver.cuDeviceGet(ctypes.byref(device), 0):
        pytest.skip("the CUDA driver finds no GPU")
    driver.cuDeviceGetAttribute(ctypes.byref(major), COMPUTE_CAPABILITY_MAJOR, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), COMPUTE_CAPABILITY_MINOR, device)
    if (major.value, minor.value) != (9, 0):
        pytest.skip(f"GPU 0 is SM{major.value}{minor.value}, the control's launches are for SM90")
    return pytest.importorskip("torch", reason="torch is not installed, so nothing can be launched")


@pytest.fixture(scope="session")
def autotuner():
    """Triton's autotuner; skips where making one needs what is not there."""
    import triton

    if triton.__version__.startswith("3.2.") and importlib.util.find_spec("torch") is None:
        pytest.skip("the autotuner of Triton 3.2 needs torch, which is not installed")


@pytest.fixture
def together():
    """Call a function in `THREADS` threads that are released together; its errors are counted, none is lost."""

    def call(function):
        barrier = threading.Barrier(THREADS)
        errors, lock = [], threading.Lock()

        def run(index):
            try:
                barrier.wait(WAIT_SECONDS)
                function(index)
            except BaseException as error:  # noqa: BLE001 - a SystemExit in a thread is a failure like any other
                with lock:
                    errors.append(error)

        threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_SECONDS)
        assert not any(thread.is_alive() for thread in threads), f"threads still run after {WAIT_SECONDS:.0f} s"
        if errors:  # the first as it was raised, so that its own traceback is read
            errors[0].add_note(f"{len(errors)} of {THREADS} threads failed")
            raise errors[0]

    return call
