"""Gives Triton a CUDA driver to link its helper with, where the machine has none."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("libcuda.c")


def pytest_configure(config):
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        folder = tempfile.TemporaryDirectory(prefix="libcuda-")
        config.add_cleanup(folder.cleanup)
        provide_driver(Path(folder.name))


def provide_driver(folder):
    """Builds a driver without a device in `folder` and lets this process and Triton find it."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise pytest.UsageError("no C compiler: install gcc or set CC; Triton needs one too")
    library = folder / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", SOURCE, "-o", library], check=True)
    (folder / "libcuda.so").symlink_to(library.name)  # the name that Triton 3.3 links with
    os.environ["TRITON_LIBCUDA_PATH"] = str(folder)
    # The helper asks the loader for libcuda.so.1, and a library that is loaded already answers to that name.
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
