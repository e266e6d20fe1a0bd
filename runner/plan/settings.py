"""The settings of a cell: defaults, then the file, then its overrides in order, each setting with its source."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from runner.model.plan import GpuNeed, Limits, Race, Settings
from runner.plan.matrix import MachinePart, Matrix, RunPart
from runner.plan.nodes import Steps
from runner.plan.problems import Problem
from runner.plan.read import MatrixFile

_DEFAULTS: dict[str, Any] = {
    "tests": (),
    "pytest_args": (),
    "workdir": ".",
    "limits.test_seconds": Limits().test_seconds,
    "limits.cell_seconds": Limits().cell_seconds,
    "limits.memory_bytes": Limits().memory_bytes,
    "gpu.compute_capability": GpuNeed().compute_capability,
    "gpu.free_memory_bytes": GpuNeed().free_memory_bytes,
    "gpu.required": GpuNeed().required,
    "race.threads": Race().threads,
    "race.rounds": Race().rounds,
    "race.leave_out": Race().leave_out,
    "runner": (),
}

_NAMES = {
    "limits": {"test": "test_seconds", "cell": "cell_seconds", "memory": "memory_bytes"},
    "gpu": {
        "compute-capability": "compute_capability",
        "free-memory": "free_memory_bytes",
        "required": "required",
    },
    "race": {"threads": "threads", "rounds": "rounds", "leave-out": "leave_out"},
}
"""What the keys under `limits`, `gpu` and `race` are called in the plan, where the unit is part of the name."""


class SettingsOf:
    """Merges the settings of one matrix; cells with the same overrides share the result."""

    def __init__(self, file: MatrixFile, matrix: Matrix) -> None:
        self._file = file
        self._matrix = matrix

    @functools.cache  # noqa: B019 - it lives as long as the making of one plan
    def merged(self, overrides: tuple[int, ...]) -> Settings:
        """Settings after these overrides, numbers in their list, in order."""
        values = dict(_DEFAULTS)
        sources = dict.fromkeys(values, "default")
        for setting, value, path in self._layers(overrides):
            values[setting] = value
            sources[setting] = self._file.source(*path)
        if sources["race.rounds"] == "default" and {sources["race.threads"], sources["race.leave_out"]} != {"default"}:
            values["race.rounds"] = Race.USUAL_ROUNDS  # whoever writes `race` wants one
        env = {name.removeprefix("env."): value for name, value in values.items() if name.startswith("env.")}
        if not env:
            sources["env"] = "default"
        return Settings(
            tests=values["tests"],
            pytest_args=values["pytest_args"],
            env=env,
            workdir=values["workdir"],
            limits=Limits(**_under("limits.", values)),
            gpu=GpuNeed(**_under("gpu.", values)),
            race=Race(**_under("race.", values)),
            runner=values["runner"],
            sources=sources,
        )

    @functools.cache  # noqa: B019 - as above
    def problem(self, overrides: tuple[int, ...]) -> Problem | None:
        """A contradiction that only the merged settings show."""
        gpu = self.merged(overrides).gpu
        if not gpu.required or gpu.compute_capability is not None:
            return None
        paths: list[Steps] = [("gpu", "required"), *(("overrides", index, "gpu", "required") for index in overrides)]
        place = self._file.place(*next(path for path in reversed(paths) if self._is_given(path)))
        return Problem(place, "a GPU is required but no compute-capability says which; add compute-capability: 9.0")

    def _is_given(self, path: Steps) -> bool:
        around = self._file.tree.find(path[:-1]).node.value
        return isinstance(around, dict) and path[-1] in around

    def _layers(self, overrides: tuple[int, ...]) -> Iterator[tuple[str, Any, Steps]]:
        yield from _of_run(self._matrix.project, ("project",))
        yield from _of_machine(self._matrix, ())
        for index in overrides:
            yield from _of_run(self._matrix.overrides[index], ("overrides", index))
            yield from _of_machine(self._matrix.overrides[index], ("overrides", index))


def _under(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _of_run(part: RunPart, path: Steps) -> Iterator[tuple[str, Any, Steps]]:
    if part.tests is not None:
        yield "tests", part.tests, (*path, "tests")
    if part.pytest_args is not None:
        yield "pytest_args", part.pytest_args, (*path, "pytest-args")
    if part.workdir is not None:
        yield "workdir", part.workdir, (*path, "workdir")
    for name, value in (part.env or {}).items():
        yield f"env.{name}", value, (*path, "env", name)


def _of_machine(part: MachinePart, path: Steps) -> Iterator[tuple[str, Any, Steps]]:
    for section, names in _NAMES.items():
        given = getattr(part, section)
        dumped = given.model_dump(by_alias=True, exclude_none=True) if given is not None else {}
        for key, value in dumped.items():
            yield f"{section}.{names[key]}", value, (*path, section, key)
    if part.runner is not None:
        yield "runner", part.runner, (*path, "runner")
