"""Loads one extension module in this process and says what it is: initialisation style, GIL declaration, effect.

Run as `python _triton_compat_audit.py file NAME PATH` (or `import NAME PATH`, or `list FOLDER...`); prints one JSON
line. One process for each module, because a module may crash, and because the GIL, once switched on, stays on.

Source of the layout: CPython's Include/moduleobject.h. `PyModuleDef` is a `PyModuleDef_Base` (object header, m_init,
m_index, m_copy) followed by m_name, m_doc, m_size, m_methods, m_slots. The header's size is `object.__basicsize__`,
which is right for both builds (16 bytes with the GIL, 32 without).
"""

import ctypes
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import mmap
import os
import sys
import sysconfig
import types
import warnings
from typing import Any

Loader = importlib.machinery.ExtensionFileLoader

SLOT_GIL = 4  # Py_mod_gil, CPython 3.13 and later
NOT_USED = 1  # Py_MOD_GIL_NOT_USED
POINTER = ctypes.sizeof(ctypes.c_void_p)


def gil_enabled() -> bool:
    """Whether the GIL is on; builds before 3.13 cannot be asked and always have it."""
    ask = getattr(sys, "_is_gil_enabled", None)
    return True if ask is None else bool(ask())


def initialisation(module: types.ModuleType) -> tuple[str, str]:
    """(style, declaration) of a loaded extension module.

    style: `multi-phase`, `single-phase`, or `unknown` when the module object has no definition.
    declaration: `not-used`, `used`, `undeclared`, or `unknown` where it cannot be read.
    """
    get_definition = ctypes.pythonapi.PyModule_GetDef
    get_definition.restype = ctypes.c_void_p
    get_definition.argtypes = [ctypes.py_object]
    try:
        definition = get_definition(module)
    except (SystemError, TypeError):  # Py_mod_create gave something that is no module
        return "unknown", "unknown"
    if not definition:
        return "unknown", "unknown"
    at_slots = object.__basicsize__ + 3 * POINTER + 4 * POINTER
    slots = ctypes.c_void_p.from_address(definition + at_slots).value
    if not slots:
        return "single-phase", "unknown"
    while identifier := ctypes.c_int.from_address(slots).value:
        if identifier == SLOT_GIL:
            value = ctypes.c_void_p.from_address(slots + POINTER).value
            return "multi-phase", "not-used" if value == NOT_USED else "used"
        slots += 2 * POINTER
    return "multi-phase", "undeclared"


def watch_create(name: str, row: dict[str, Any]) -> None:
    """Describe the module called `name` in the moment in which the import system creates it."""
    create, execute = Loader.create_module, Loader.exec_module

    def create_module(self: Loader, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        if spec.name != name:
            return create(self, spec)
        row["gil_before"] = gil_enabled()
        module = create(self, spec)
        row["style"], row["declares"] = initialisation(module)
        row["gil_after"] = gil_enabled()
        return module

    def exec_module(self: Loader, module: types.ModuleType) -> None:
        execute(self, module)
        if module.__name__ == name:
            row["gil_after"] = gil_enabled()

    Loader.create_module, Loader.exec_module = create_module, exec_module  # type: ignore[method-assign]


def audit(name: str, path: str, within_package: bool) -> dict[str, Any]:
    """Load one module and describe it: by its file alone, or imported by name with its packages."""
    row: dict[str, Any] = {
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "gil_before": gil_enabled(),
    }
    watch_create(name, row)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if within_package:
                importlib.import_module(name)
            else:
                loader = Loader(name, path)
                specification = importlib.machinery.ModuleSpec(name, loader, origin=path)
                loader.exec_module(importlib.util.module_from_spec(specification))
        except BaseException as error:  # noqa: BLE001 - a SystemExit in an initialiser is a row as well
            row["error"] = f"{type(error).__name__}: {error}"[:500]
    row["warnings"] = [str(warning.message)[:300] for warning in caught if name in str(warning.message)][:5]
    if row.get("style") == "single-phase" and row["free_threaded"] and not row["gil_before"]:
        # A single-phase module declares itself by a call while it initialises; the effect is what can be seen of it.
        row["declares"] = "undeclared" if row["gil_after"] else "not-used"
    return row


def survey(folders: list[str]) -> list[dict[str, Any]]:
    """Every extension module below the given folders that an interpreter could be asked to import.

    A shared library is a module when it exports an initialiser of its own name. Files for another interpreter
    (another tag in the name) are listed too: a cache or a package that holds them is worth knowing.
    """
    modules = []
    for folder in folders:
        for parent, children, files in os.walk(folder):
            children[:] = sorted(child for child in children if child != "__pycache__")
            for file in sorted(files):
                if not file.endswith(".so") or not os.path.isfile(os.path.join(parent, file)):
                    continue
                path = os.path.join(parent, file)
                stem = file.split(".", 1)[0]
                if not exports_initialiser(path, stem):
                    continue
                package = os.path.relpath(parent, folder)
                name = stem if package == "." else ".".join((*package.split(os.sep), stem))
                tag = file[len(stem) :]
                modules.append(
                    {"name": name, "path": path, "importable": tag in importlib.machinery.EXTENSION_SUFFIXES}
                )
    return modules


def exports_initialiser(path: str, stem: str) -> bool:
    """Whether the file has the string `PyInit_stem` or `PyModExport_stem` as a symbol's name."""
    with open(path, "rb") as stream:
        try:
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return any(
                    content.find(b"\0" + prefix + stem.encode() + b"\0") >= 0
                    for prefix in (b"PyInit_", b"PyModExport_")
                )
        except ValueError:  # an empty file
            return False


def distributions() -> dict[str, str]:
    """Path of each installed shared library to the distribution that brought it."""
    owner = {}
    for distribution in importlib.metadata.distributions():
        for file in distribution.files or ():
            if file.name.endswith(".so"):
                owner[os.path.realpath(str(distribution.locate_file(file)))] = distribution.metadata["Name"]
    return owner


def answer_list(extra: list[str]) -> dict[str, Any]:
    """What there is to audit: the environment's modules, those of the further folders, and who brought them."""
    paths = sysconfig.get_paths()
    folders = list(dict.fromkeys(os.path.realpath(paths[key]) for key in ("purelib", "platlib")))
    owner = distributions()
    modules = survey(folders)
    for folder in extra:
        modules += [
            {**module, "run_time": True, "name": module["name"].rpartition(".")[2]} for module in survey([folder])
        ]
    for module in modules:
        module["distribution"] = owner.get(os.path.realpath(module["path"]))
    return {
        "python": sys.version,
        "soabi": sysconfig.get_config_var("SOABI"),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "modules": modules,
    }


def main() -> None:
    """Answer one question: `list FOLDER...`, `file NAME PATH`, or `import NAME PATH`."""
    answer = os.fdopen(os.dup(1), "w")  # what a module prints must not mix with the answer
    os.dup2(2, 1)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    question, *words = sys.argv[1:]
    row = answer_list(words) if question == "list" else audit(words[0], words[1], question == "import")
    answer.write(json.dumps(row) + "\n")
    answer.flush()
    os._exit(0)  # destructors of a half-initialised module are none of our business


if __name__ == "__main__":
    main()
