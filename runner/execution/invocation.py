"""How the tested Python is called for one cell: the words for pytest, and the environment variables."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runner.errors import ExecutionError
from runner.execution.surroundings import variables_for_tests
from runner.model.cell import PythonBuild
from runner.model.plan import PlannedCell, PlannedEnvironment


@dataclass(frozen=True)
class Invocation:
    """What all workers of a cell have in common.

    Attributes:
        cell: as planned.
        environment: what `python` belongs to.
        python: the tested interpreter.
        root: the project's.
        folder: of the cell.
        token: marks every process that the tests start.
        gpu: variables that name the GPU of this cell.
    """

    cell: PlannedCell
    environment: PlannedEnvironment
    python: Path
    root: Path
    folder: Path
    token: str
    gpu: Mapping[str, str]

    @property
    def workdir(self) -> Path:
        """Where the tests run."""
        return self.root / self.cell.settings.workdir

    @property
    def build(self) -> PythonBuild | None:
        """The Python that must come up; None where a named environment says for itself."""
        return None if self.environment.python == "?" else PythonBuild.parse(self.environment.python)

    @property
    def arguments(self) -> tuple[str, ...]:
        """For pytest: the user's, then the tests, then what keeps every test and leaves the user's folder alone."""
        settings = self.cell.settings
        forced = (
            "--continue-on-collection-errors",
            "--maxfail=0",
            "-o",
            f"cache_dir={self.folder / 'caches' / 'pytest'}",
        )
        return (*settings.pytest_args, *(self._test_argument(test) for test in settings.tests), *forced)

    def _test_argument(self, test: str) -> str:
        """A test path, relative to the working folder; something that is not a path stays as it is."""
        file, separator, rest = test.partition("::")
        path = self.root / file
        return os.path.relpath(path, self.workdir) + separator + rest if path.exists() else test

    def variables(self, temporary: Path, stage: str = "") -> dict[str, str]:
        """The environment variables of a worker.

        Args:
            temporary: for TMPDIR.
            stage: end of the name of its caches' folder.

        Raises:
            ExecutionError: a named Python does not say which build it is.
        """
        fingerprint = self.environment.fingerprint[:12]
        return variables_for_tests(
            os.environ,
            python=self.python,
            gil=self.cell.key.gil,
            free_threaded=self._is_free_threaded,
            caches=self.folder.absolute() / "caches" / f"{fingerprint}-{self.cell.key.gil.value}{stage}",
            temporary=temporary,
            token=self.token,
            user={**self.cell.settings.env, **self.gpu},
        )

    @cached_property
    def _is_free_threaded(self) -> bool:
        if self.build is not None:
            return self.build.free_threaded
        question = "import sys; print('t' in getattr(sys, 'abiflags', ''))"
        try:
            answer = subprocess.run(
                [str(self.python), "-I", "-c", question], stdout=subprocess.PIPE, timeout=60, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ExecutionError(f"{self.python} did not say which build it is: {error}") from error
        return answer.stdout.strip() == b"True"
