"""What an interpreter really is, by running it: a name on the PATH proves nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.environment.process import Finished, run
from runner.errors import InterpreterError
from runner.model.cell import PythonBuild

PROBE_SECONDS = 20.0
_MARK = "triton-compat-interpreter:"

# Runs in any Python 3, so that an old one is refused by its version and not by a syntax error.
_PROBE = f"""
import sys, json, os
try:
    import sysconfig, platform
    lacks = []
    for name in ("ctypes", "zlib", "ssl"):
        try:
            __import__(name)
        except Exception:
            lacks.append(name)
    answer = dict(
        executable=getattr(sys, "_base_executable", None) or sys.executable,
        implementation=platform.python_implementation(),
        version=platform.python_version(),
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        soabi=sysconfig.get_config_var("SOABI") or "",
        headers=os.path.isfile(os.path.join(sysconfig.get_path("include") or "", "Python.h")),
        lacks=lacks,
    )
except Exception:
    answer = dict(broken=repr(sys.exc_info()[1]))
print({_MARK!r} + json.dumps(answer))
"""

# ctypes: Triton's driver code and our own probe of the CUDA context. zlib: wheels are zip files, and pytest plugins
# read them. ssl is not needed: uv downloads, tests of kernels do not.
_NEEDED = ("ctypes", "zlib")


@dataclass(frozen=True)
class Interpreter:
    """A Python that was run and is what it says.

    Attributes:
        executable: absolute path; for a virtual environment that of the Python it was made from.
        version: `3.13.5`.
        free_threaded: the build without the GIL.
        soabi: `cpython-313t-x86_64-linux-gnu`.
        origin: where it came from, in words: `PATH`, `pyenv`, `built from Debian's source package`.
        headers: whether its Python.h is there. Triton compiles its launcher against it at run time.
        has_ssl: whether it can `import ssl`.
    """

    executable: Path
    version: str
    free_threaded: bool
    soabi: str
    origin: str
    headers: bool
    has_ssl: bool

    @property
    def name(self) -> str:
        """`3.13.5t`."""
        return self.version + ("t" if self.free_threaded else "")


def probe(executable: Path, origin: str, *, seconds: float = PROBE_SECONDS) -> Interpreter:
    """Run a Python, isolated from environment variables, site-packages and the folder it stands in.

    Args:
        executable: what to run.
        origin: for `Interpreter.origin`.
        seconds: how long it may take.

    Raises:
        InterpreterError: it could not be started, hung, crashed, or is no CPython that can be used; one clause.
    """
    try:
        finished = run([executable, "-I", "-S", "-B", "-c", _PROBE], timeout=seconds)
    except OSError as error:
        raise InterpreterError(f"could not be started: {error.strerror or error}") from error
    answer = _answer(finished)
    if "broken" in answer:
        raise InterpreterError(f"has a broken standard library: {str(answer['broken'])[:200]}")
    if answer["implementation"] != "CPython":
        raise InterpreterError(f"is {str(answer['implementation'])[:40]}, not CPython")
    lacks = [str(name) for name in answer["lacks"]]
    if missing := [name for name in _NEEDED if name in lacks]:
        raise InterpreterError(f"was built without {' and '.join(missing)}")
    real = Path(str(answer["executable"]))
    if not real.is_absolute() or not real.is_file():
        raise InterpreterError(f"does not know its own path (it says {str(real)[:200]!r})")
    return Interpreter(
        executable=real,
        version=str(answer["version"]),
        free_threaded=bool(answer["free_threaded"]),
        soabi=str(answer["soabi"]),
        origin=origin,
        headers=bool(answer["headers"]),
        has_ssl="ssl" not in lacks,
    )


def build_of(executable: Path) -> PythonBuild:
    """What a Python that the matrix file names really is, by running it.

    Raises:
        InterpreterError: as `probe` does.
    """
    return PythonBuild.parse(probe(executable, "the matrix file").name)


def check(interpreter: Interpreter, build: PythonBuild) -> None:
    """Refuse an interpreter that is not exactly the build.

    Raises:
        InterpreterError: another version or another GIL build; one clause.
    """
    number = interpreter.version
    minor = ".".join(number.split(".")[:2])
    if minor != build.version or (build.patch is not None and number != build.patch):
        raise InterpreterError(f"is {interpreter.name}")
    if interpreter.free_threaded != build.free_threaded:
        kind = "the free-threaded build" if interpreter.free_threaded else "a build with the GIL"
        raise InterpreterError(f"is {interpreter.name}, {kind}")


def _answer(finished: Finished) -> dict[str, Any]:
    line = next((line for line in finished.output.splitlines() if line.startswith(_MARK)), None)
    if line is None or finished.code != 0:
        said = finished.last_lines(1, 200)
        raise InterpreterError(finished.end + (f" and said {said!r}" if said else " and said nothing"))
    try:
        answer = json.loads(line.removeprefix(_MARK))
    except ValueError:
        answer = None
    needed = {"executable", "implementation", "version", "free_threaded", "soabi", "headers", "lacks"}
    if not isinstance(answer, dict) or not ("broken" in answer or needed <= answer.keys()):
        raise InterpreterError("answered something that no Python would")
    return answer
