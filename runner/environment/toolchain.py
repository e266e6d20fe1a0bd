"""The compiler and the headers that a build of Python needs, by the names of Debian's packages."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from runner.environment.process import run

_HEADERS = {"zlib.h": "zlib1g-dev", "ffi.h": "libffi-dev"}
_WISHED = {"openssl/ssl.h": "libssl-dev"}


def missing_packages() -> list[str]:
    """Packages without which a build fails or gives a Python without zlib or ctypes, which is useless here."""
    compiler = _compiler()
    missing = [program for program in ("make",) if shutil.which(program) is None]
    if compiler is None:
        return ["gcc", "libc6-dev", *missing, *_HEADERS.values()]
    return missing + [package for header, package in _HEADERS.items() if not _has(compiler, header)]


def wished_packages() -> list[str]:
    """Packages without which the Python that is built has no ssl. uv downloads, and kernels do not need it."""
    compiler = _compiler()
    return [package for header, package in _WISHED.items() if compiler and not _has(compiler, header)]


def _compiler() -> str | None:
    return next((found for name in ("gcc", "cc", "clang") if (found := shutil.which(name))), None)


def _has(compiler: str, header: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "header.c"
        source.write_text(f"#include <{header}>\n", encoding="utf-8")
        return run([compiler, "-E", "-o", os.devnull, source], timeout=60).code == 0
