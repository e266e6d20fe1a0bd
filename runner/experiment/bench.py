"""Where runs are made: one folder for each, so that what was run once is never run again, by whoever asks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.environment.environments import make_environment
from runner.errors import DocumentError, TritonCompatError
from runner.execution.cell import Rules, finished_result, run_cell
from runner.execution.race import DOCUMENT as RACES
from runner.experiment.checkout import Checkouts
from runner.experiment.conditions import Cache, Conditions, found_caches, of_control, under
from runner.experiment.dumps import dump_variables
from runner.experiment.invocation import Selection, command, gil_variables, named, variables
from runner.model.cell import CellKey
from runner.model.document import hide_from_git
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment, plan_sha
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.words import GilMode

CONTROL = Path(__file__).with_name("control")
CURES = Path(__file__).with_name("cures")
DUMPED = "dumped"
Say = Callable[[str], None]


class UnavailableError(TritonCompatError):
    """Conditions that cannot be had on this machine; the message says why."""


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        result: what became of it.
        folder: where it lies.
        env: variables that matter for it beside the plain environment.
        command: what was run, without the supervision.
        races: what became of it in several threads at once, where that was asked for.
    """

    result: CellResult
    folder: Path
    env: dict[str, str]
    command: tuple[str, ...]
    races: Races | None = None


@dataclass
class Bench:
    """Makes runs, and remembers them on disk.

    Attributes:
        plan: of the matrix.
        out: the output folder.
        environments: further environments by id, which the plan does not have.
        caches: cache directories as found that the user named, by variable; they stand in for those of the settings.
        checkouts: work trees of other commits.
        say: told what takes long.
        offline: no network.
    """

    plan: Plan
    out: Path
    environments: dict[str, PlannedEnvironment] = field(default_factory=dict)
    caches: Mapping[str, str] = field(default_factory=dict)
    checkouts: Checkouts | None = None
    say: Say = lambda _: None
    offline: bool = False
    _pythons: dict[tuple[str, str | None], Path | str] = field(default_factory=dict)

    def environment(self, environment_id: str) -> PlannedEnvironment:
        """An environment of the plan, or one of the further ones."""
        return self.environments.get(environment_id) or self.plan.environment(environment_id)

    def found(self, cell: PlannedCell) -> dict[str, Path]:
        """The cache directories as found that exist, by variable."""
        named = {**found_caches(cell.settings), **self.caches}
        base = Path(self.plan.root) / cell.settings.workdir
        folders = {name: (base / Path(text).expanduser()).resolve() for name, text in named.items()}
        return {name: folder for name, folder in folders.items() if folder.is_dir()}

    def whole(self, cell: PlannedCell, cache: Cache) -> Run:
        """All tests of a cell once, with this cache."""
        conditions = Conditions(cell.environment, cell.key.gil, cache, alone=False)
        return self.run(cell, conditions, Selection(), 0)

    def run(
        self, cell: PlannedCell, conditions: Conditions, selection: Selection, number: int, *, dumps: bool = False
    ) -> Run:
        """Make run `number` of these conditions (from 0), or read it if it was made before.

        With `dumps` it leaves what Triton's compiler worked on in `DUMPED` of its folder; no count may rest on it.

        Raises:
            UnavailableError: the environment, the checkout or the interpreter cannot be had.
        """
        python, root = self.python(conditions)
        environment = self.environment(conditions.environment)
        folder = self._folder(cell, conditions, selection) / (f"{number}-{DUMPED}" if dumps else str(number))
        copies = {name: folder / "as-found" / name.lower() for name in self.found(cell)}
        variant = under(cell, conditions, {name: str(path.absolute()) for name, path in copies.items()})
        variant = variant.model_copy(update={"key": _key(environment, conditions)})
        if conditions.cure is not None:
            variant = _with_plugin(variant, conditions.cure.value)
        if dumps:
            variant = _with_variables(variant, dump_variables((folder / DUMPED).absolute()))
        rules = Rules(retry_suspects=False, only=selection.tests, files=selection.files)
        is_new = finished_result(folder, plan_sha(variant, environment)) is None
        with self._with_caches(cell, copies if conditions.cache is Cache.FOUND and is_new else {}, folder):
            result = self._run(variant, environment, python, root, folder, rules)
        env = variables(variant, conditions, self.found(cell))
        races = _races(folder) if conditions.threads else None
        return Run(result, folder, env, command(variant, selection), races)

    def control(self, cell: PlannedCell, parts: tuple[str, ...] | None, number: int) -> Run:
        """Make run `number` of the control in a cell's environment and GIL mode; `parts` None for all of it."""
        conditions = Conditions(cell.environment, cell.key.gil)
        python, _ = self.python(conditions)
        variant = of_control(cell)
        digest = _digest(variant.model_dump(mode="json"), self.environment(cell.environment).fingerprint, parts)
        folder = self.out / "experiments" / f"{cell.key.id[:120]}-control-{digest}" / str(number)
        only = parts and tuple(f"test_control.py::{part}" for part in parts)
        rules = Rules(retry_suspects=False, only=only)
        result = self._run(variant, self.environment(cell.environment), python, CONTROL, folder, rules)
        return Run(result, folder, gil_variables(variant), ("python", "-m", "pytest", *named(only)))

    def helper_from(self, cell: PlannedCell, filler: str, number: int) -> tuple[Run, Run]:
        """The control's driver helper, in a cache that another environment filled: the filling, and the reading.

        Args:
            cell: whose environment and GIL mode read the cache.
            filler: id of the environment that fills it.
            number: of the run.

        Raises:
            UnavailableError: one of the two environments cannot be had.
        """
        other = self.environment(filler)
        part = ("test_control.py::test_driver_helper",)
        rules = Rules(retry_suspects=False, only=part)
        digest = _digest(other.fingerprint, self.environment(cell.environment).fingerprint, cell.settings.env)
        folder = self.out / "experiments" / f"{cell.key.id[:120]}-cache-of-another-{digest}" / str(number)
        cache = {"TRITON_CACHE_DIR": str((folder / "cache").absolute())}
        runs = []
        for environment, gil, name in ((other, GilMode.ON, "filled"), (None, cell.key.gil, "read")):
            conditions = Conditions((environment or self.environment(cell.environment)).id, gil)
            python, _ = self.python(conditions)
            planned = self.environment(conditions.environment)
            variant = of_control(cell, cache).model_copy(update={"key": _key(planned, conditions)})
            result = self._run(variant, planned, python, CONTROL, folder / name, rules)
            runs.append(Run(result, folder / name, gil_variables(variant), ("python", "-m", "pytest", *part)))
        shutil.rmtree(folder / "cache", ignore_errors=True)
        return runs[0], runs[1]

    def python(self, conditions: Conditions) -> tuple[Path, Path]:
        """The interpreter of these conditions, made when it is not there, and the project's root."""
        key = (conditions.environment, conditions.commit)
        root, store = Path(self.plan.root), self.out / "environments"
        if conditions.commit is not None:
            if self.checkouts is None:
                raise UnavailableError("no base commit was named")
            root, store = self.checkouts.get(conditions.commit)
        if key not in self._pythons:
            environment = self.environment(conditions.environment)
            try:
                if environment.unavailable is not None:
                    raise UnavailableError(environment.unavailable)
                self._pythons[key] = make_environment(
                    environment, root=root, store=store, progress=self.say, offline=self.offline
                ).python
            except TritonCompatError as error:
                self._pythons[key] = error.message
        found = self._pythons[key]
        if isinstance(found, str):
            raise UnavailableError(found)
        return found, root

    def _folder(self, cell: PlannedCell, conditions: Conditions, selection: Selection) -> Path:
        settings = under(cell, conditions, {}).settings.model_dump(mode="json", exclude={"sources", "runner"})
        facts = {
            "settings": settings,
            "fingerprint": self.environment(conditions.environment).fingerprint,
            "conditions": [conditions.gil, conditions.cache, conditions.alone, conditions.commit, conditions.cure],
            "found": {name: str(path) for name, path in self.found(cell).items()} if conditions.cache else {},
            "tests": selection.tests,
            "files": selection.files,
        }
        name = f"{conditions.environment[:100]}-gil-{conditions.gil.value}"
        return self.out / "experiments" / f"{name}-{_digest(facts)}"

    @contextlib.contextmanager
    def _with_caches(self, cell: PlannedCell, copies: Mapping[str, Path], folder: Path) -> Iterator[None]:
        """Copies of the caches as found, for one run."""
        found = self.found(cell)
        for name, copy in copies.items():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(found[name], copy, symlinks=True)
        yield
        shutil.rmtree(folder / "as-found", ignore_errors=True)

    def _run(
        self,
        cell: PlannedCell,
        environment: PlannedEnvironment,
        python: Path,
        root: Path,
        folder: Path,
        rules: Rules,
    ) -> CellResult:
        result = finished_result(folder, plan_sha(cell, environment))
        if result is None:
            hide_from_git(self.out)
            result = run_cell(cell, environment, python, root=root, folder=folder, rules=rules)
        shutil.rmtree(folder / "caches", ignore_errors=True)  # a run has its own; nothing reads it afterwards
        return result


def _key(environment: PlannedEnvironment, conditions: Conditions) -> CellKey:
    """The coordinates of a run; whichever cell asks for it, it is the same run."""
    return CellKey(
        id=f"{environment.id[:150]}-gil-{conditions.gil.value}",
        python=environment.python,
        gil=conditions.gil,
        triton=environment.triton,
        torch=environment.torch,
    )


def _with_variables(cell: PlannedCell, more: Mapping[str, str]) -> PlannedCell:
    settings = cell.settings.model_copy(update={"env": {**cell.settings.env, **more}})
    return cell.model_copy(update={"settings": settings})


def _races(folder: Path) -> Races | None:
    """None when no test came so far as to be raced."""
    with contextlib.suppress(DocumentError):
        return Races.read(folder / RACES)
    return None


def _with_plugin(cell: PlannedCell, plugin: str) -> PlannedCell:
    env = dict(cell.settings.env)
    env["PYTHONPATH"] = ":".join(filter(None, (str(CURES), env.get("PYTHONPATH", ""))))
    settings = cell.settings.model_copy(update={"pytest_args": ("-p", plugin, *cell.settings.pytest_args), "env": env})
    return cell.model_copy(update={"settings": settings})


def _digest(*facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:12]
