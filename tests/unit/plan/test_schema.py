from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from runner.plan.compose import read_tree
from runner.plan.read import read_matrix
from runner.plan.schema import matrix_schema, schema_text

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Workbench

MATRICES = Path(__file__).parents[3] / "matrices"
SHIPPED = sorted(MATRICES.glob("*.yml"))
VALIDATOR = jsonschema.Draft202012Validator(matrix_schema())


def as_yaml_1_1(text: str) -> Any:
    """What a reader of YAML 1.1 sees: booleans for on and off, numbers for versions; JSON has no dates."""
    return _without_dates(yaml.safe_load(text))


def _without_dates(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _without_dates(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_dates(item) for item in data]
    return data.isoformat() if isinstance(data, dt.date) else data


def as_written(text: str) -> Any:
    """What a reader of YAML 1.2 sees that keeps versions as text: true and false alone are booleans."""
    return _with_booleans(read_tree(text.encode(), "m.yml").data())


def _with_booleans(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _with_booleans(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_with_booleans(item) for item in data]
    return {"true": True, "false": False}.get(data, data)


def test_the_shipped_schema_is_current() -> None:
    shipped = (MATRICES / "matrix.schema.json").read_text(encoding="utf-8")
    assert shipped == schema_text(), "run: python -m runner.plan.schema > matrices/matrix.schema.json"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(matrix_schema())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
@pytest.mark.parametrize("read", [as_yaml_1_1, as_written])
def test_shipped_matrices_fit_the_schema(path: Path, read: Any) -> None:
    VALIDATOR.validate(read(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_matrices_have_no_mistakes(path: Path) -> None:
    assert read_matrix(path).problems == ()


def test_there_are_matrices_to_check() -> None:
    assert {"quickstart.yml", "sm90.yml"} <= {path.name for path in SHIPPED}


EVERYTHING = """\
name: all
python: [3.12, 3.13t, 3.13.5t]
gil: [on, off, default]
triton: [3.7, 3.3.1, '>=3.3,<3.8', latest, latest-2]
torch: [matched, none, 2.12]
include: [{python: 3.12, triton: 3.8.0, torch: none, gil: on}]
exclude: [py3.12-*, {python: 3.13t, gil: off, triton: '>=3.4', torch: none}]
project:
  root: .
  install: [., numpy>=2]
  tests: tests
  pytest-args: -q
  env: {A: 1, B: on, C: text}
  workdir: tests
  base: [pytest>=8]
limits: {test: 90, cell: 1h, memory: 8GiB}
runner: sm90
gpu: {compute-capability: 9.0, free-memory: 512MB, required: true}
overrides: [{select: '*', limits: {test: 5}, pytest-args: [-x, -q], env: {D: ''}, runner: [a, b], workdir: .}]
expect: [{select: '*', tests: ['*'], reason: r, owner: o, link: https://example.org/1, expires: 2027-01-31}]
environment: [{name: conda, python: /opt/conda/bin/python}]
"""


@pytest.mark.parametrize("read", [as_yaml_1_1, as_written])
def test_everything_that_a_matrix_can_say_fits(bench: Workbench, read: Any) -> None:
    assert bench.read(EVERYTHING).problems == ()
    VALIDATOR.validate(read(EVERYTHING))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: all", "nam: all"),
        ("3.13t, 3.13.5t", "3.13-t"),
        ("[on, off, default]", "[on, of]"),
        ("latest-2]", "newest]"),
        ("[matched, none, 2.12]", "[match]"),
        ("[matched, none, 2.12]", "[]"),
        ("test: 90", "test: fast"),
        ("8GiB", "8G"),
        ("required: true", "required: maybe"),
        ("compute-capability: 9.0", "compute-capability: sm90"),
        ("expires: 2027-01-31", "expires: soon"),
        ("owner: o, ", ""),
        ("https://example.org/1", "here"),
        ("  tests: tests\n", ""),
        ("python: /opt/conda/bin/python", "python: python3"),
        ("runner: sm90", "runner: {a: b}"),
        ("select: '*', limits", "limits"),
        ("triton: 3.8.0, torch", "torch"),
        ("triton: [", "race: ["),
        ("env: {A: 1", "env: {1A: 1"),
    ],
)
@pytest.mark.parametrize("read", [as_yaml_1_1, as_written])
def test_what_is_a_mistake_to_us_is_one_to_an_editor(bench: Workbench, read: Any, old: str, new: str) -> None:
    text = EVERYTHING.replace(old, new)
    assert text != EVERYTHING
    assert bench.read(text).problems
    assert not VALIDATOR.is_valid(read(text))


def test_every_key_is_described() -> None:
    schema = matrix_schema()
    for part in [schema, *schema["$defs"].values()]:
        for key, value in part.get("properties", {}).items():
            named = schema["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
            assert value.get("description") or named.get("description"), key


def test_no_key_offers_null() -> None:
    assert '"null"' not in schema_text()
