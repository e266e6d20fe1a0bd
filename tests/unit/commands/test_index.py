"""What the index has to say of its pages reaches the person, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.commands.index import Neighbours, open_index
from runner.errors import TritonCompatError
from runner.model.cell import CellKey
from runner.model.plan import Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.words import GilMode


@pytest.fixture
def unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that cannot be made, not even by root."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    return tmp_path / "file" / "triton-compat" / "index"


def plan(root: Path) -> Plan:
    """Two cells with a Python each, of a matrix file that is gone."""
    environments, cells = [], []
    for python in ("3.12", "3.13"):
        key = CellKey(id=f"py{python}-gil-on-triton3.7.0", python=python, gil=GilMode.ON, triton="3.7.0", torch=None)
        environment = PlannedEnvironment(
            id=f"py{python}-triton3.7.0", python=python, triton="3.7.0", torch=None, fingerprint=python
        )
        environments.append(environment)
        cells.append(PlannedCell(key=key, environment=environment.id, settings=Settings(tests=("tests",))))
    return Plan(
        matrix="m",
        matrix_file="gone.yml",
        matrix_sha256="0" * 64,
        root=str(root),
        created="2026-11-30T12:00:00+00:00",
        tool="0.1.0",
        gil_modes=(GilMode.ON,),
        environments=tuple(environments),
        cells=tuple(cells),
    )


def test_notices_are_said_also_when_the_pages_did_not_help(unwritable: Path) -> None:
    said: list[str] = []
    with pytest.raises(TritonCompatError), open_index(offline=False, say=said.append):
        raise TritonCompatError("no page")
    assert len(said) == 1
    assert said[0].startswith(f"The cache {unwritable} cannot be written")


def test_an_index_that_is_asked_for_several_cells_repeats_nothing(unwritable: Path, tmp_path: Path) -> None:
    said: list[str] = []
    found = plan(tmp_path)
    neighbours = Neighbours(found, offline=False, say=said.append)
    assert [neighbours.of(cell) for cell in found.cells] == [(), ()]
    assert sum(str(unwritable) in sentence for sentence in said) == 1
    assert sum("no other Triton is tried" in sentence for sentence in said) == 2
