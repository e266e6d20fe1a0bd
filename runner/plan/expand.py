"""Axes to cells: the product of the axes, the extra cells, the existing Pythons, each cell with its id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from runner.errors import InterpreterError, ResolutionError
from runner.model.cell import CellKey, PythonBuild, cell_id, environment_id
from runner.model.words import GilMode
from runner.plan.matrix import Axes, Coordinates, Existing, Extra
from runner.plan.nodes import Steps, Tree
from runner.plan.problems import Place, Problem
from runner.plan.releases import Releases, TorchChoice, TorchWord

MOST_CELLS = 10_000

Probe = Callable[[Path], PythonBuild]
"""Says what an existing Python is; raises InterpreterError when it is not there."""


@dataclass(frozen=True)
class Cell:
    """A cell before its packages are resolved.

    Attributes:
        key: its coordinates.
        environment: id of its environment.
        build: None for an existing Python that is not on this machine.
        wants_torch: torch was asked for, though `matched` may have found none.
        existing: the entry under `environment` that it belongs to, or None.
    """

    key: CellKey
    environment: str
    build: PythonBuild | None
    wants_torch: bool = False
    existing: Existing | None = None


@dataclass
class Expansion:
    """The cells, and what was wrong with the axes.

    Attributes:
        product: by id, the cells of the axes and of existing Pythons; `exclude` may remove some.
        extra: by id, the cells of `include`.
        problems: mistakes of the file.
        missing: versions that do not exist.
    """

    product: dict[str, Cell] = field(default_factory=dict)
    extra: dict[str, Cell] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)


def expand(coordinates: Coordinates, tree: Tree, releases: Releases, root: Path, probe: Probe) -> Expansion:
    """Expand axes, `include` and `environment` to cells, in the order python, triton, torch, gil.

    Two values that come to the same cell (`latest` and the release that is the latest) give one.

    Args:
        coordinates: the axes.
        tree: the file, for the places of mistakes.
        releases: what `latest`, ranges and `matched` come to.
        root: what relative paths of existing Pythons are relative to.
        probe: says what an existing Python is.

    Raises:
        IndexUnreachableError: the catalogue could not be asked.
    """
    torches = [*coordinates.torch, *(choice for extra in coordinates.include for choice in extra.torch or ())]
    named = set(torches) not in ({TorchWord.NONE}, {TorchWord.MATCHED})
    found = Expansion()
    for cell in _Product(coordinates, coordinates, (), tree, releases, found, named).cells():
        found.product.setdefault(cell.key.id, cell)
    for existing in coordinates.environment:
        for cell in _existing_cells(existing, coordinates.gil, root, probe):
            found.product.setdefault(cell.key.id, cell)
    for index, extra in enumerate(coordinates.include):
        for cell in _Product(extra, coordinates, ("include", index), tree, releases, found, named).cells():
            found.extra.setdefault(cell.key.id, cell)
    return found


@dataclass(frozen=True)
class _Product:
    """The product of the axes of the file or of one extra; what an extra leaves out comes from the file."""

    axes: Axes | Extra
    coordinates: Coordinates
    path: Steps
    tree: Tree
    releases: Releases
    found: Expansion
    torch_named: bool

    def cells(self) -> Iterator[Cell]:
        pythons = self._pythons()
        tritons = self._tritons()
        torches = self._torches(tritons)
        count = len(pythons) * len(torches) * len(self._gil)
        if count > MOST_CELLS:
            sentence = f"these axes make {count} cells; a matrix has at most {MOST_CELLS}"
            self.found.problems.append(Problem(self._place("python"), sentence))
            return
        for build, modes in pythons:
            for triton, choice, torch in torches:
                for gil in modes:
                    yield self._cell(build, gil, triton, choice, torch)

    @property
    def _gil(self) -> tuple[GilMode, ...]:
        return self.axes.gil or self.coordinates.gil

    def _place(self, *path: int | str) -> Place:
        return self.tree.find((*self.path, *path)).node.place

    def _pythons(self) -> list[tuple[PythonBuild, list[GilMode]]]:
        usable = []
        for index, build in enumerate(self.axes.python or ()):
            modes = [mode for mode in self._gil if mode in build.gil_modes]
            if not modes:
                asked = ", ".join(self._gil)
                sentence = f"{build} always has the GIL and runs as 'on' alone, but gil asks for {asked}"
                other = max(build, PythonBuild.parse("3.13"), key=lambda known: known.minor).version + "t"
                problem = Problem(self._place("python", index), f"{sentence}; add on to gil or use {other}")
                self.found.problems.append(problem)
            usable.append((build, modes))
        return usable

    def _tritons(self) -> list[str]:
        found: dict[str, None] = {}
        for index, choice in enumerate(self.axes.triton or ()):
            try:
                found.update(dict.fromkeys(self.releases.triton(choice)))
            except ResolutionError as error:
                self.found.missing.append(Problem(self._place("triton", index), error.message))
        return list(found)

    def _torches(self, tritons: list[str]) -> list[tuple[str, TorchChoice, str | None]]:
        own = self.axes.torch is not None
        choices = self.axes.torch or self.coordinates.torch
        found: dict[tuple[str, str | None, bool], tuple[str, TorchChoice, str | None]] = {}
        for triton in tritons:
            for index, choice in enumerate(choices):
                try:
                    for torch in self.releases.torch(choice, triton):
                        same = (triton, torch, choice is TorchWord.NONE)
                        found.setdefault(same, (triton, choice, torch))
                except ResolutionError as error:
                    place = self._place("torch", index) if own else self.tree.find(("torch", index)).node.place
                    self.found.missing.append(Problem(place, error.message))
        return list(found.values())

    def _cell(self, build: PythonBuild, gil: GilMode, triton: str, choice: TorchChoice, torch: str | None) -> Cell:
        wants_torch = choice is not TorchWord.NONE
        # Where no torch pins this Triton the row stays, unavailable; its id must differ from that of `none`.
        in_id = torch if torch is not None or not wants_torch else str(TorchWord.MATCHED)
        key = CellKey(
            id=cell_id(build, gil, triton, in_id, torch_named=self.torch_named),
            python=str(build),
            gil=gil,
            triton=triton,
            torch=torch,
        )
        environment = environment_id(build, triton, in_id, torch_named=self.torch_named)
        return Cell(key, environment, build, wants_torch)


def _existing_cells(existing: Existing, modes: tuple[GilMode, ...], root: Path, probe: Probe) -> Iterator[Cell]:
    """One cell for each mode that the Python can run; for each that is asked for when it is not on this machine."""
    build: PythonBuild | None = None
    try:
        build = probe(root / existing.python)
    except InterpreterError:
        usable = modes
    else:
        # A build with the GIL keeps its row `on` whatever was asked: the entry names a Python, not a mode.
        usable = tuple(mode for mode in modes if mode in build.gil_modes) or (GilMode.ON,)
    for gil in usable:
        key = CellKey(id=f"{existing.name}-gil-{gil.value}", python=str(build or "?"), gil=gil, triton=None, torch=None)
        yield Cell(key, existing.name, build, existing=existing)
