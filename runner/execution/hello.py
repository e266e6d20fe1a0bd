"""What a worker says of its Python when it comes up. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.model.cell import PythonBuild


def check_hello(hello: Mapping[str, Any]) -> None:
    """Refuse what no Python says of itself.

    Raises:
        KeyError, TypeError: a field lacks or is no text.
    """
    if not all(isinstance(hello[name], str) for name in ("python", "build", "executable")):
        raise TypeError("no Python says this of itself")


def why_another_python(hello: Mapping[str, Any], build: PythonBuild | None) -> str | None:
    """Why the cell is over when another Python came up than was asked for: its results would stand in the wrong row.

    Args:
        hello: what it said.
        build: what was asked for; None where a named environment says for itself.
    """
    if build is None:
        return None
    version = ".".join(str(hello["python"]).split(".")[:2])
    if version == build.version and bool(hello["free_threaded_build"]) is build.free_threaded:
        return None
    got = version + ("t" if hello["free_threaded_build"] else "")
    return f"asked for Python {build}, but {hello['executable']} is a {got}"
