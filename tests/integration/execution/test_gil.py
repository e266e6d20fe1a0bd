"""The truth about the GIL, shown with a real extension module that does not declare `Py_mod_gil`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.model.words import GilMode, Status

pytestmark = [
    pytest.mark.interpreters,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to build the extension module with"),
]

SOURCE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "undeclared", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_undeclared(void) { return PyModule_Create(&module); }
"""
TESTS = """
    def test_before(): pass
    def test_imports(): import undeclared
    def test_after(): pass
"""


@pytest.mark.parametrize(
    ("mode", "at_start", "at_end", "by"),
    [(GilMode.OFF, False, False, None), (GilMode.DEFAULT, False, True, "undeclared"), (GilMode.ON, True, True, None)],
)
def test_each_mode_is_told_as_it_was(
    project: Any, ready_python: Callable[..., Path], mode: GilMode, at_start: bool, at_end: bool, by: str | None
) -> None:
    if project.build == "3.12":
        pytest.skip("a build with a GIL has one mode")
    include = subprocess.check_output(
        [project.python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"], text=True
    ).strip()
    source = project.write("undeclared.c", SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", source, "-o", project.root / "undeclared.so"], check=True)
    project.write("test_gil.py", TESTS)
    project.write("test_later.py", "def test_later(): pass\n")
    project.write("pytest.ini", "[pytest]\nfilterwarnings = ignore::RuntimeWarning\n")
    project.gil = mode
    result = project.run()
    assert result.status is Status.PASS, result.reason
    assert (result.gil.enabled_at_start, result.gil.enabled_at_end) == (at_start, at_end)
    assert result.gil.enabled_by == by
    assert result.gil.enabled_by_test == ("test_gil.py::test_imports" if by else None)
    assert [test.attempts[0].gil_enabled for test in result.tests] == [at_start, at_end, at_end, at_end]
    assert result.gil.enabled_after_files == {"test_gil.py": at_end, "test_later.py": at_end}
    first = {GilMode.ON: "test_gil.py::test_before", GilMode.DEFAULT: "test_gil.py::test_imports", GilMode.OFF: None}
    assert result.gil.first_test_enabled == first[mode]
