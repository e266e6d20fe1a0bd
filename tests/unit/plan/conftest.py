"""In-memory ports, and matrix files written for one test."""

from __future__ import annotations

import datetime as dt
import hashlib
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner.errors import IndexUnreachableError, InterpreterError
from runner.model.cell import PythonBuild
from runner.model.plan import Pin, Plan
from runner.plan.assemble import make_plan
from runner.plan.ports import EnvironmentRequest, Resolution
from runner.plan.read import MatrixFile, read_matrix

PAIRS = {
    "3.2.0": "2.6.0",
    "3.3.0": "2.7.0",
    "3.3.1": "2.7.1",
    "3.4.0": "2.8.0",
    "3.5.0": "2.9.0",
    "3.5.1": "2.9.1",
    "3.6.0": "2.11.0",
    "3.7.0": "2.12.0",
    "3.7.1": "2.13.0",
    "3.8.0": None,
}
"""Triton releases, and the torch that pins each."""

NOW = dt.datetime(2026, 12, 1, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))

MINIMAL = """\
python: [3.12, 3.13t]
triton: [3.3.1, 3.7.0]
project:
  tests: tests
"""


@dataclass
class MemoryCatalogue:
    """Releases that are given; `reachable=False` answers as an index that does not."""

    pairs: dict[str, str | None] = field(default_factory=lambda: dict(PAIRS))
    reachable: bool = True

    def triton_releases(self) -> tuple[str, ...]:
        self._ask()
        return tuple(self.pairs)

    def torch_releases(self) -> tuple[str, ...]:
        self._ask()
        return tuple(torch for torch in self.pairs.values() if torch)

    def torch_matching(self, triton: str) -> str | None:
        self._ask()
        return self.pairs.get(triton)

    def _ask(self) -> None:
        if not self.reachable:
            raise IndexUnreachableError("the index did not answer")


@dataclass
class MemoryResolver:
    """Pins Triton, torch and the named requirements; unavailable where there is no wheel by `lacking`."""

    lacking: set[tuple[str, str]] = field(default_factory=set)
    batches: list[list[EnvironmentRequest]] = field(default_factory=list)

    def resolve(self, requests: Sequence[EnvironmentRequest]) -> tuple[Resolution, ...]:
        self.batches.append(list(requests))
        return tuple(self._one(request) for request in requests)

    def _one(self, request: EnvironmentRequest) -> Resolution:
        if (str(request.python), request.triton) in self.lacking:
            return Resolution(unavailable=f"triton {request.triton} has no {request.python.abi_tag} wheel")
        wanted = {"pytest": "8.4.2", "triton": request.triton} | ({"torch": request.torch} if request.torch else {})
        return Resolution(pins=tuple(_pin(name, version, request.python) for name, version in sorted(wanted.items())))


def _pin(name: str, version: str, python: PythonBuild) -> Pin:
    filename = f"{name}-{version}-{python.abi_tag}.whl"
    return Pin(name=name, version=version, filename=filename, sha256=hashlib.sha256(filename.encode()).hexdigest())


def no_python(path: Path) -> PythonBuild:
    raise InterpreterError(f"there is no Python at {path}")


@dataclass
class Workbench:
    """A project folder with a matrix file in it, and everything that a plan needs from outside."""

    folder: Path
    catalogue: MemoryCatalogue = field(default_factory=MemoryCatalogue)
    resolver: MemoryResolver = field(default_factory=MemoryResolver)
    probe: Callable[[Path], PythonBuild] = no_python

    def read(self, text: str) -> MatrixFile:
        path = self.folder / "m.yml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return read_matrix(path)

    def plan(self, text: str) -> Plan:
        return make_plan(
            self.read(text),
            catalogue=self.catalogue,
            resolver=self.resolver,
            probe=self.probe,
            now=NOW,
            tool="0.1.0",
        )

    def ids(self, text: str) -> list[str]:
        return [cell.key.id for cell in self.plan(text).cells]

    def error(self, text: str, kind: type[Exception]) -> str:
        """The message of the error that a matrix gives, with the file called `m.yml`."""
        with pytest.raises(kind) as caught:
            self.plan(text)
        return str(caught.value.args[0]).replace(str(self.folder) + "/", "").replace(str(self.folder), "ROOT")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'kernels'\nversion = '1'\n")
    return Workbench(tmp_path)


@pytest.fixture
def minimal() -> str:
    return MINIMAL
