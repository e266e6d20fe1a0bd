"""Which import failed when no test could run, and what to do: the environment is the user's."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from importlib.metadata import EntryPoint
from typing import Any


def why_no_pytest(error: Exception) -> str:
    """Why `import pytest` failed in this Python, and the command that mends it."""
    if not (isinstance(error, ModuleNotFoundError) and error.name == "pytest"):
        return f"pytest could not be imported in {sys.prefix}: {type(error).__name__}: {error}"
    python = shlex.quote(sys.executable)
    command = f"{python} -m pip install pytest"
    if importlib.util.find_spec("pip") is None:
        command = f"uv pip install --python {python} pytest"
    return f"pytest is not installed in {sys.prefix}; `{command}` installs it"


def name_plugins() -> None:
    """From now on the import of a pytest plugin that fails says which plugin it was: pytest itself does not."""
    original = EntryPoint.load

    def load(self: EntryPoint) -> Any:
        try:
            return original(self)
        except Exception as error:
            if self.group != "pytest11":
                raise
            raise ImportError(
                f"the pytest plugin {self.name} ({self.value}) could not be imported: {type(error).__name__}: {error}; "
                f"`-p no:{self.name}` leaves it out"
            ) from error

    EntryPoint.load = load  # type: ignore[method-assign]
