"""Pythons, environments and cells: what a matrix is made of, and their stable, readable ids."""

from __future__ import annotations

import re
from typing import Self

from pydantic import model_validator

from runner.model.document import Value
from runner.model.words import GilMode

_PYTHON = re.compile(r"(?P<version>3\.\d{1,2})(?P<patch>\.\d{1,3}(?:(?:a|b|rc)\d{1,2})?)?(?P<t>t?)")


class PythonBuild(Value):
    """A CPython release line and whether it is the free-threaded build: `3.13`, `3.13t`, or exactly `3.13.5t`.

    Attributes:
        version: major.minor, such as `3.13`.
        patch: the exact release such as `3.13.5`, or None for any.
        free_threaded: the build without the GIL.
    """

    version: str
    patch: str | None = None
    free_threaded: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `3.12`, `3.13t`, `3.14.0rc1`; ValueError for anything else."""
        match = _PYTHON.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a Python version such as 3.12, 3.13t or 3.13.5t")
        version, patch = match["version"], match["patch"]
        return cls(version=version, patch=version + patch if patch else None, free_threaded=bool(match["t"]))

    def __str__(self) -> str:
        return (self.patch or self.version) + ("t" if self.free_threaded else "")

    @property
    def minor(self) -> tuple[int, int]:
        """(3, 13)."""
        major, minor = self.version.split(".")
        return int(major), int(minor)

    @property
    def request(self) -> str:
        """The build in uv's terms, exact about the GIL: `3.13+freethreaded`, `3.14+gil`; no `+gil` before 3.13."""
        number = self.patch or self.version
        if self.free_threaded:
            return f"{number}+freethreaded"
        return f"{number}+gil" if self.minor >= (3, 13) else number

    @property
    def abi_tag(self) -> str:
        """The ABI tag of its wheels: `cp313`, `cp313t`."""
        return "cp{}{}".format(*self.minor) + ("t" if self.free_threaded else "")

    @property
    def gil_modes(self) -> tuple[GilMode, ...]:
        """The modes in which this build can run: all three when free-threaded, else `on` alone."""
        return tuple(GilMode) if self.free_threaded else (GilMode.ON,)


class CellKey(Value):
    """The coordinates of a cell, as asked for.

    Attributes:
        id: stable and readable, such as `py3.13t-gil-off-triton3.7.0`; safe as a file name.
        python: `3.13t`; for a named environment the Python as it reported itself, or `?` before that.
        gil: the mode that is asked for.
        triton: the exact release, or None when the environment brings its own.
        torch: the exact release, or None for none.
    """

    id: str
    python: str
    gil: GilMode
    triton: str | None
    torch: str | None

    @model_validator(mode="after")
    def _id_is_a_file_name(self) -> Self:
        if not is_safe_id(self.id):
            raise ValueError(f"cell id {self.id!r} may hold letters, digits, '.', '-', '_' and '+' alone")
        return self


def is_safe_id(text: str) -> bool:
    """Whether an id can be a file name, an artifact name and a nox session name on every system."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}", text) is not None


def environment_id(python: PythonBuild, triton: str, torch: str | None, *, torch_named: bool) -> str:
    """`py3.13t-triton3.7.0`, with `-torch2.12.0` where the torch does not follow from the Triton.

    Args:
        python: the build.
        triton: the exact release.
        torch: the exact release or None.
        torch_named: whether ids must tell torch releases apart (False for `none` and `matched`).
    """
    return f"py{python}-triton{triton}" + _torch_part(torch, torch_named=torch_named)


def cell_id(python: PythonBuild, gil: GilMode, triton: str, torch: str | None, *, torch_named: bool) -> str:
    """`py3.13t-gil-off-triton3.7.0`; arguments as for `environment_id`."""
    return f"py{python}-gil-{gil.value}-triton{triton}" + _torch_part(torch, torch_named=torch_named)


def _torch_part(torch: str | None, *, torch_named: bool) -> str:
    return f"-torch{torch or 'none'}" if torch_named else ""
