from __future__ import annotations

import ast
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import runner.plan
from runner.errors import IndexUnreachableError, ResolutionError
from runner.model.plan import Plan
from runner.plan.assemble import make_plan

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Workbench

FULL = """\
name: nightly
python: [3.12, 3.13t]
triton: [3.3.1, 3.7.0]
torch: matched
project:
  tests: tests
  install: [., numpy>=2, "./sub/[test, dev]"]
  base: [pytest>=8, pytest-timeout]
expect:
  - select: {gil: off}
    tests: "*::test_autotune*"
    reason: >
      the autotuner
      races
    owner: kernels team
    link: https://example.org/7
    expires: 2020-02-29
"""


@pytest.fixture
def full(bench: Workbench) -> Workbench:
    (bench.folder / "sub").mkdir()
    (bench.folder / "sub" / "pyproject.toml").touch()
    return bench


def test_all_environments_are_resolved_in_one_batch(full: Workbench) -> None:
    plan = full.plan(FULL)
    (batch,) = full.resolver.batches
    assert [(str(request.python), request.triton, request.torch) for request in batch] == [
        ("3.12", "3.3.1", "2.7.1"),
        ("3.12", "3.7.0", "2.12.0"),
        ("3.13t", "3.3.1", "2.7.1"),
        ("3.13t", "3.7.0", "2.12.0"),
    ]
    assert batch[0].requirements == ("pytest>=8", "pytest-timeout", "numpy>=2")
    assert batch[0].local == (full.folder, full.folder / "sub")
    assert batch[0].extras == ("", "[test,dev]")
    assert [pin.name for pin in plan.environments[0].pins] == ["pytest", "torch", "triton"]
    assert (plan.environments[0].local, plan.environments[0].extras) == ((".", "sub"), ("", "[test,dev]"))


def test_what_a_plan_says_about_itself(full: Workbench) -> None:
    plan = full.plan(FULL)
    assert (plan.matrix, plan.root, plan.tool) == ("nightly", str(full.folder), "0.1.0")
    assert plan.created == "2026-12-01T07:30:00+00:00"
    assert plan.gil_modes == ("on", "off")
    assert Plan.parse(plan.to_json(), "plan.json") == plan


def test_a_matrix_is_called_as_its_file_is(full: Workbench) -> None:
    path = full.folder / "my matrix (1).yml"
    path.write_text("python: 3.12\ntriton: 3.7.0\nproject: {tests: tests}\n")
    file = runner.plan.read.read_matrix(path)
    plan = make_plan(
        file, catalogue=full.catalogue, resolver=full.resolver, probe=full.probe, now=dt.datetime.now(dt.UTC), tool="0"
    )
    assert plan.matrix == "my-matrix--1-"


def test_an_expectation_names_its_cells_whatever_its_date(full: Workbench) -> None:
    (expectation,) = full.plan(FULL).expectations
    assert expectation.cells == ("py3.13t-gil-off-triton3.3.1", "py3.13t-gil-off-triton3.7.0")
    assert expectation.tests == ("*::test_autotune*",)
    assert expectation.reason == "the autotuner races"
    assert expectation.expires == "2020-02-29"
    assert expectation.source.endswith("m.yml:10")


def test_what_is_unavailable_is_passed_on_and_keeps_its_row(full: Workbench) -> None:
    full.resolver.lacking = {("3.13t", "3.3.1")}
    plan = full.plan(FULL)
    lacking = plan.environment("py3.13t-triton3.3.1")
    assert lacking.unavailable == "triton 3.3.1 has no cp313t wheel"
    assert lacking.pins == ()
    assert plan.cell("py3.13t-gil-off-triton3.3.1") is not None


def test_the_fingerprint_is_of_what_is_installed(full: Workbench) -> None:
    first = full.plan(FULL)
    again = full.plan(FULL.replace("name: nightly", "name: other"))
    prints = [environment.fingerprint for environment in first.environments]
    assert prints == [environment.fingerprint for environment in again.environments]
    assert len(set(prints)) == 4
    without = full.plan(FULL.replace("[test, dev]", "[test]"))
    assert not {environment.fingerprint for environment in without.environments} & set(prints)


def test_the_fingerprint_stays_the_same_over_runs_and_machines(bench: Workbench) -> None:
    plan = bench.plan("python: 3.12\ntriton: 3.7.0\nproject: {tests: tests, install: .}\n")
    assert plan.environments[0].fingerprint == "e932eb1a6536dc41e7e6febc057e1e86492cb2fe844f6765a9fdf3451356adc6"


def test_every_version_that_is_missing_is_named(full: Workbench) -> None:
    text = FULL.replace("[3.3.1, 3.7.0]", "[3.3.7, latest-40]").replace("matched", "2.99")
    assert full.error(text, ResolutionError).splitlines() == [
        "m.yml:3:10: no release of triton is 3.3.7; the nearest final release is 3.3.1",
        "m.yml:3:17: no release of triton is latest-40; the final releases go from 3.2.0 to 3.8.0 (10 in all)",
    ]
    text = FULL.replace("torch: matched", "torch: [2.99, none]")
    assert full.error(text, ResolutionError) == (
        "m.yml:4:9: no release of torch is 2.99; the nearest final release is 2.13.0"
    )


def test_an_index_that_is_out_of_reach_is_never_a_missing_version(bench: Workbench, minimal: str) -> None:
    bench.catalogue.reachable = False
    with pytest.raises(IndexUnreachableError):
        bench.plan(minimal)


def test_400_cells(bench: Workbench) -> None:
    pythons = ", ".join(f"3.{minor}t" for minor in range(13, 33))
    text = f"python: [{pythons}]\ngil: [on, off]\ntriton: '>=3'\nproject: {{tests: tests}}\noverrides:\n" + (
        "  - {select: '*-gil-off-*', limits: {test: 1m}}\n" * 20
    )
    plan = bench.plan(text)
    assert (len(plan.cells), len(plan.environments), len(plan.jobs)) == (400, 200, 200)


def test_expansion_has_no_effects_of_its_own() -> None:
    """Clock, network, processes and environment variables come in as parameters."""
    folder = Path(runner.plan.__file__).parent
    for name in ("assemble", "expand", "explain", "jobs", "releases", "schema", "selection", "settings", "values"):
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not imported & {"os", "subprocess", "socket", "time", "requests"}, name
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert not {call for call in calls if call.endswith((".now", ".today"))}, name
