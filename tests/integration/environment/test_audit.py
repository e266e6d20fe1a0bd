"""The audit on real extension modules, compiled here for a real free-threaded interpreter, good and bad."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runner.environment.audit import audit
from runner.environment.interpreters import find_interpreter
from runner.model.audit import Audit, AuditRow, GilDeclaration, GilEffect, InitStyle
from runner.model.cell import PythonBuild

pytestmark = pytest.mark.interpreters

SINGLE = """
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, NULL}};
PyMODINIT_FUNC PyInit_{name}(void) {{ PyObject *module = PyModule_Create(&definition); {body} return module; }}
"""
MULTI = """
static int execute(PyObject *module) {{ {body} return 0; }}
static PyModuleDef_Slot slots[] = {{ {{Py_mod_exec, execute}}, {gil} {{0, NULL}} }};
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", NULL, 0, NULL, slots}};
PyMODINIT_FUNC PyInit_{name}(void) {{ return PyModuleDef_Init(&definition); }}
"""
SOURCES = {
    "single_silent": (SINGLE, "", ""),
    "single_declares": (SINGLE, "PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);", ""),
    "multi_silent": (MULTI, "", ""),
    "multi_not_used": (MULTI, "", "{Py_mod_gil, Py_MOD_GIL_NOT_USED},"),
    "multi_used": (MULTI, "", "{Py_mod_gil, Py_MOD_GIL_USED},"),
    "crashes": (SINGLE, "abort();", ""),
    "hangs": (SINGLE, "for (;;) pause();", ""),
    "exits": (SINGLE, "_exit(0);", ""),
    "raises": (SINGLE, 'Py_DECREF(module); PyErr_SetString(PyExc_ImportError, "no luck"); return NULL;', ""),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    python = find_interpreter(PythonBuild.parse("3.13t"))
    folder = tmp_path_factory.mktemp("modules")
    ask = "import sysconfig; print(sysconfig.get_path('include')); print(sysconfig.get_config_var('EXT_SUFFIX'))"
    include, suffix = subprocess.check_output([python.executable, "-c", ask], text=True).split()
    for name, (template, body, gil) in SOURCES.items():
        source = folder / f"{name}.c"
        text = template.format(name=name, body=body, gil=gil)
        source.write_text(f"#include <Python.h>\n#include <stdlib.h>\n#include <unistd.h>\n{text}")
        subprocess.run(
            ["gcc", "-shared", "-fPIC", f"-I{include}", source, "-o", folder / f"{name}{suffix}"], check=True
        )
    (folder / "other.cpython-312-x86_64-linux-gnu.so").write_bytes(b"\0PyInit_other\0")
    (folder / "no_module.so").write_bytes((folder / f"single_silent{suffix}").read_bytes())
    (folder / "empty.so").touch()
    return audit(python.executable, environ={**os.environ, "PYTHON_GIL": "1"}, caches=[folder], limit_seconds=10)


def row(report: Audit, module: str) -> AuditRow:
    (found,) = [row for row in report.rows if row.module == module]
    return found


@pytest.mark.parametrize(
    ("module", "style", "declares", "effect"),
    [
        ("single_silent", InitStyle.SINGLE_PHASE, GilDeclaration.UNDECLARED, GilEffect.SWITCHES_ON),
        ("single_declares", InitStyle.SINGLE_PHASE, GilDeclaration.NOT_USED, GilEffect.NONE),
        ("multi_silent", InitStyle.MULTI_PHASE, GilDeclaration.UNDECLARED, GilEffect.SWITCHES_ON),
        ("multi_not_used", InitStyle.MULTI_PHASE, GilDeclaration.NOT_USED, GilEffect.NONE),
        ("multi_used", InitStyle.MULTI_PHASE, GilDeclaration.USED, GilEffect.SWITCHES_ON),
    ],
)
def test_each_kind_of_module(
    report: Audit, module: str, style: InitStyle, declares: GilDeclaration, effect: GilEffect
) -> None:
    found = row(report, module)
    assert (found.style, found.declares, found.effect, found.problem) == (style, declares, effect, None)


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        ("crashes", "crashed with SIGABRT"),
        ("hangs", "hung: no answer within 10 s"),
        ("exits", "ended with exit status 0: it said nothing"),
        ("raises", "ImportError: no luck"),
        ("other", "its file name is another interpreter's"),
    ],
)
def test_what_cannot_be_loaded_is_a_row(report: Audit, module: str, problem: str) -> None:
    found = row(report, module)
    assert (found.problem, found.effect, found.run_time) == (problem, GilEffect.UNKNOWN, True)


def test_every_module_has_one_row_and_other_libraries_none(report: Audit) -> None:
    assert sorted(row.module for row in report.rows if row.run_time) == sorted([*SOURCES, "other"])
    assert report.free_threaded


def test_a_build_with_the_gil_has_no_effect_to_show(tmp_path: Path) -> None:
    python = find_interpreter(PythonBuild.parse("3.12"))
    answer = audit(python.executable, environ=os.environ, caches=[tmp_path])
    assert not answer.free_threaded
    assert all(row.effect is not GilEffect.SWITCHES_ON for row in answer.rows)
