from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import MatrixFileError, ResolutionError
from runner.model.cell import PythonBuild

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Workbench

TESTS = "project: {tests: tests}\n"


def test_cells_are_in_the_order_python_triton_torch_gil(bench: Workbench) -> None:
    text = "python: [3.13t, 3.12]\ngil: [off, default, on]\ntriton: [3.7.0, 3.3.1]\n" + TESTS
    assert bench.ids(text) == [
        "py3.13t-gil-off-triton3.7.0",
        "py3.13t-gil-default-triton3.7.0",
        "py3.13t-gil-on-triton3.7.0",
        "py3.13t-gil-off-triton3.3.1",
        "py3.13t-gil-default-triton3.3.1",
        "py3.13t-gil-on-triton3.3.1",
        "py3.12-gil-on-triton3.7.0",
        "py3.12-gil-on-triton3.3.1",
    ]


def test_unquoted_versions_and_modes_are_read_as_written(bench: Workbench) -> None:
    text = "python: [3.10, 3.13t]\ngil: [on, off]\ntriton: 3.7\n" + TESTS
    assert bench.ids(text) == [
        "py3.10-gil-on-triton3.7.0",
        "py3.13t-gil-on-triton3.7.0",
        "py3.13t-gil-off-triton3.7.0",
    ]


def test_the_gil_is_on_and_off_unless_said(bench: Workbench) -> None:
    assert bench.ids("python: 3.13t\ntriton: latest\n" + TESTS) == [
        "py3.13t-gil-on-triton3.8.0",
        "py3.13t-gil-off-triton3.8.0",
    ]


def test_a_python_that_cannot_run_in_any_mode_is_a_mistake(bench: Workbench) -> None:
    text = "python: [3.13t, 3.12]\ngil: [off, default]\ntriton: 3.7.0\n" + TESTS
    assert bench.error(text, MatrixFileError) == (
        "m.yml:1:17: 3.12 always has the GIL and runs as 'on' alone, but gil asks for off, default; "
        "add on to gil or use 3.13t"
    )


def test_values_that_come_to_the_same_release_give_one_cell(bench: Workbench) -> None:
    text = "python: 3.12\ntriton: ['>=3.7', latest, 3.7.0, latest-1]\n" + TESTS
    assert bench.ids(text) == ["py3.12-gil-on-triton3.7.0", "py3.12-gil-on-triton3.7.1", "py3.12-gil-on-triton3.8.0"]


def test_torch_is_in_the_id_only_where_it_does_not_follow(bench: Workbench) -> None:
    axes = "python: 3.12\ntriton: 3.7.0\n" + TESTS
    assert bench.ids(axes) == ["py3.12-gil-on-triton3.7.0"]
    assert bench.ids(axes + "torch: matched\n") == ["py3.12-gil-on-triton3.7.0"]
    assert bench.ids(axes + "torch: [none, matched]\n") == [
        "py3.12-gil-on-triton3.7.0-torchnone",
        "py3.12-gil-on-triton3.7.0-torch2.12.0",
    ]
    assert bench.ids(axes + "torch: 2.12.0\n") == ["py3.12-gil-on-triton3.7.0-torch2.12.0"]


def test_a_triton_that_no_torch_pins_keeps_its_row(bench: Workbench) -> None:
    text = "python: 3.12\ntriton: [3.7.0, 3.8.0]\ntorch: [none, matched]\n" + TESTS
    plan = bench.plan(text)
    assert [cell.key.id for cell in plan.cells][2:] == [
        "py3.12-gil-on-triton3.8.0-torchnone",
        "py3.12-gil-on-triton3.8.0-torchmatched",
    ]
    assert plan.environments[-2].unavailable is None
    assert plan.environments[-1].unavailable == (
        "no torch release pins Triton 3.8.0, so 'matched' has nothing to install"
    )
    assert len(bench.resolver.batches[0]) == 3


def test_included_cells_come_last_and_survive_exclude(bench: Workbench) -> None:
    text = """\
    python: [3.12, 3.13t]
    triton: 3.7.0
    project: {tests: tests}
    exclude: [py3.13t-*]
    include:
      - {python: 3.13t, gil: default, triton: [3.7.0, 3.3.1]}
      - {python: 3.12, triton: 3.7.0}
    """
    assert bench.ids(text) == [
        "py3.12-gil-on-triton3.7.0",
        "py3.13t-gil-default-triton3.7.0",
        "py3.13t-gil-default-triton3.3.1",
    ]


def test_a_mistake_in_an_included_cell_has_its_own_line(bench: Workbench, minimal: str) -> None:
    text = minimal + "include:\n  - {python: 3.12, triton: 3.7.0, gil: off}\n"
    assert bench.error(text, MatrixFileError).startswith("m.yml:6:14: 3.12 always has the GIL")
    text = minimal + "include:\n  - {python: 3.12, triton: 3.99}\n"
    assert bench.error(text, ResolutionError).startswith("m.yml:6:28: no release of triton is 3.99")


def test_an_existing_python_is_asked_what_it_is(bench: Workbench) -> None:
    asked: list[Path] = []

    def probe(path: Path) -> PythonBuild:
        asked.append(path)
        return PythonBuild.parse("3.14.1t" if path.name == "free" else "3.12.4")

    bench.probe = probe
    text = """\
    gil: [off, on]
    project: {tests: tests}
    environment:
      - {name: conda, python: /opt/conda/bin/python}
      - {name: image, python: bin/free}
    """
    plan = bench.plan(text)
    assert [(cell.key.id, cell.key.python, cell.key.triton) for cell in plan.cells] == [
        ("conda-gil-on", "3.12.4", None),
        ("image-gil-off", "3.14.1t", None),
        ("image-gil-on", "3.14.1t", None),
    ]
    assert asked == [Path("/opt/conda/bin/python"), bench.folder / "bin/free"]
    assert [env.executable for env in plan.environments] == ["/opt/conda/bin/python", str(bench.folder / "bin/free")]
    assert bench.resolver.batches == [[]]


def test_an_existing_python_with_the_gil_keeps_its_row(bench: Workbench) -> None:
    bench.probe = lambda _: PythonBuild.parse("3.12.4")
    text = "gil: off\nproject: {tests: tests}\nenvironment: [{name: conda, python: /opt/conda/bin/python}]\n"
    assert bench.ids(text) == ["conda-gil-on"]


def test_an_existing_python_of_another_machine_keeps_every_mode(bench: Workbench) -> None:
    text = "project: {tests: tests}\nenvironment: [{name: conda, python: /opt/conda/bin/python}]\n"
    cells = bench.plan(text).cells
    assert [(cell.key.id, cell.key.python) for cell in cells] == [("conda-gil-on", "?"), ("conda-gil-off", "?")]


def test_too_many_cells_are_a_mistake_before_they_are_made(bench: Workbench) -> None:
    pythons = ", ".join(f"3.13.{patch}t" for patch in range(1000))
    text = f"python: [{pythons}]\ntriton: '>=3'\ngil: [on, off]\n" + TESTS
    assert bench.error(text, MatrixFileError) == "m.yml:1:9: these axes make 20000 cells; a matrix has at most 10000"


PYTHONS = st.lists(st.sampled_from(["3.12", "3.13", "3.13.2", "3.13t", "3.14t", "3.14.1t"]), min_size=1, unique=True)
TRITONS = st.lists(
    st.sampled_from(["3.3.1", "3.7.0", "latest", "latest-3", ">=3.4,<3.7", "!=3.2.0"]), min_size=1, unique=True
)
TORCHES = st.lists(st.sampled_from(["none", "matched", "2.12.0", "latest", ">=2.9"]), min_size=1, unique=True)
GILS = st.permutations(["on", "off", "default"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PYTHONS, TRITONS, TORCHES, GILS)
def test_ids_are_unique_and_environments_differ_in_more_than_the_gil(
    bench: Workbench, pythons: list[str], tritons: list[str], torches: list[str], gils: list[str]
) -> None:
    quoted = [f'"{triton}"' for triton in tritons]
    text = (
        f"python: [{', '.join(pythons)}]\ngil: [{', '.join(gils)}]\ntriton: [{', '.join(quoted)}]\n"
        f"torch: [{', '.join(repr(torch) for torch in torches)}]\n" + TESTS
    )
    plan = bench.plan(text)
    ids = [cell.key.id for cell in plan.cells]
    assert len(set(ids)) == len(ids)
    assert [cell.key.id for cell in bench.plan(text).cells] == ids
    order = [pythons.index(cell.key.python) for cell in plan.cells]
    assert order == sorted(order)
    environments = [environment.id for environment in plan.environments]
    assert len(set(environments)) == len(environments)
    for environment in plan.environments:
        cells = [cell.key for cell in plan.cells if cell.environment == environment.id]
        assert {(key.python, key.triton, key.torch) for key in cells} == {
            (environment.python, environment.triton, environment.torch)
        }
        free_threaded = environment.python.endswith("t")
        assert [key.gil.value for key in cells] == (gils if free_threaded else ["on"])
