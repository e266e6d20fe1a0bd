"""Real interpreters with a real pytest, made once for each user; and cells of small projects that are run in them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock
from uv import find_uv_bin

from runner.environment.interpreters import find_interpreter
from runner.execution import Progress, Rules, run_cell
from runner.model.cell import CellKey, PythonBuild
from runner.model.plan import GpuNeed, Limits, PlannedCell, PlannedEnvironment, Race, Settings
from runner.model.result import CellResult
from runner.model.words import GilMode

NEWEST = "pytest==9.2.0"


@pytest.fixture(scope="session")
def ready_python() -> Callable[..., Path]:
    """A function (python, *requirements) -> interpreter of an environment that holds them."""

    def make(python: str, *requirements: str) -> Path:
        interpreter = find_interpreter(PythonBuild.parse(python)).executable
        wanted = requirements or (NEWEST,)
        key = hashlib.sha256(repr((str(interpreter), interpreter.stat().st_mtime, wanted)).encode()).hexdigest()[:16]
        folder = platformdirs.user_cache_path("triton-compat") / "test-environments" / f"{python}-{key}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not (folder / "complete").exists():
                shutil.rmtree(folder, ignore_errors=True)
                uv = find_uv_bin()
                subprocess.run([uv, "venv", "-q", "--python", interpreter, folder], check=True)
                install: list[str | Path] = [
                    uv,
                    "pip",
                    "install",
                    "-q",
                    "--compile-bytecode",
                    "--python",
                    folder / "bin/python",
                ]
                subprocess.run([*install, *wanted], check=True)
                (folder / "complete").touch()
        return folder / "bin/python"

    return make


@dataclass
class Project:
    """A folder of tests, and the cell that runs it."""

    root: Path
    folder: Path
    python: Path
    build: str
    gil: GilMode = GilMode.ON
    arguments: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ()
    limits: Limits = field(default_factory=lambda: Limits(test_seconds=20, cell_seconds=120))
    gpu: GpuNeed = field(default_factory=GpuNeed)
    race: Race = field(default_factory=Race)
    rules: Rules = field(default_factory=lambda: Rules(retry_suspects=False))
    told: list[Progress] = field(default_factory=list)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project, dedented."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    @property
    def environment(self) -> PlannedEnvironment:
        return PlannedEnvironment(id="e", python=self.build, triton=None, torch=None, fingerprint="0123456789abcdef")

    @property
    def cell(self) -> PlannedCell:
        key = CellKey(
            id=f"py{self.build}-gil-{self.gil.value}", python=self.build, gil=self.gil, triton=None, torch=None
        )
        settings = Settings(
            pytest_args=self.arguments,
            env=self.env,
            tests=self.tests,
            limits=self.limits,
            gpu=self.gpu,
            race=self.race,
        )
        return PlannedCell(key=key, environment="e", settings=settings)

    def run(self) -> CellResult:
        return run_cell(
            self.cell,
            self.environment,
            self.python,
            root=self.root,
            folder=self.folder,
            progress=self.told.append,
            rules=self.rules,
        )


@pytest.fixture(params=[("3.12", GilMode.ON), ("3.13t", GilMode.OFF)], ids=["3.12", "3.13t-off"])
def project(request: pytest.FixtureRequest, tmp_path: Path, ready_python: Callable[..., Path]) -> Project:
    """An empty project for a 3.12, and for a 3.13t with the GIL off."""
    build, gil = request.param
    return _empty(tmp_path, ready_python, build, gil)


@pytest.fixture
def plain_project(tmp_path: Path, ready_python: Callable[..., Path]) -> Project:
    """An empty project for a 3.12."""
    return _empty(tmp_path, ready_python, "3.12", GilMode.ON)


def _empty(tmp_path: Path, ready_python: Callable[..., Path], build: str, gil: GilMode) -> Project:
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project", tmp_path / "cell", ready_python(build), build, gil)
