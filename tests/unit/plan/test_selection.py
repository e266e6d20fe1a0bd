from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.errors import MatrixFileError
from runner.model.cell import PythonBuild

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Workbench

AXES = """\
python: [3.12, 3.13.5t, 3.14t]
gil: [on, off]
triton: [3.3.1, 3.7.0, 3.7.1, 3.8.0]
torch: [none, matched]
project: {tests: tests}
environment: [{name: conda, python: /opt/conda/bin/python}]
"""


@pytest.fixture
def conda(bench: Workbench) -> Workbench:
    bench.probe = lambda _: PythonBuild.parse("3.12.9")
    return bench


def selected(bench: Workbench, selector: str) -> list[str]:
    """The cells that an override with this selector changes."""
    plan = bench.plan(f"{AXES}overrides: [{{select: {selector}, workdir: tests}}]\n")
    return [cell.key.id for cell in plan.cells if cell.settings.workdir == "tests"]


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ("'*'", 41),
        ("py3.12-*", 8),
        ("'*-gil-off-*'", 16),
        ("'*-triton3.7.[01]-torchnone'", 10),
        ("{python: 3.13t}", 16),
        ("{python: 3.13.5t, gil: off}", 8),
        ("{python: [3.12, 3.14t]}", 25),
        ("{gil: off, triton: 3.7}", 4),
        ("{triton: '>=3.7'}", 30),
        ("{triton: latest}", 10),
        ("{triton: [latest-1, latest]}", 20),
        ("{torch: none}", 20),
        ("{torch: matched}", 20),
        ("{torch: 2.12.0}", 5),
        ("{environment: conda}", 1),
        ("{environment: conda, gil: on}", 1),
    ],
)
def test_what_a_selector_means(conda: Workbench, selector: str, count: int) -> None:
    assert len(selected(conda, selector)) == count


def test_a_build_with_the_gil_is_not_the_one_without(conda: Workbench) -> None:
    assert all(key.startswith(("py3.12-", "conda-")) for key in selected(conda, "{python: 3.12}"))
    message = conda.error(AXES + "exclude: [{python: 3.14}]\n", MatrixFileError)
    assert message == "m.yml:7:11: no cell has this python; the cells have 3.12, 3.13.5t, 3.14t, 3.12.9"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "exclude: [py3.15t-*]",
            (
                "m.yml:7:11: 'py3.15t-*' selects no cell; nearest: "
                "py3.14t-gil-on-triton3.3.1-torchnone, py3.14t-gil-off-triton3.3.1-torchnone"
            ),
        ),
        (
            "exclude: [py3.12]",
            (
                "m.yml:7:11: 'py3.12' selects no cell; nearest: "
                "py3.12-gil-on-triton3.3.1-torchnone, py3.12-gil-on-triton3.3.1-torch2.7.1"
            ),
        ),
        (
            "exclude: [{python: 3.13.4t}]",
            "m.yml:7:11: no cell has this python; the cells have 3.12, 3.13.5t, 3.14t, 3.12.9",
        ),
        ("exclude: [{gil: default}]", "m.yml:7:11: no cell has this gil; the cells have on, off"),
        ("exclude: [{environment: cond}]", "m.yml:7:11: no cell has this environment; the cells have none, conda"),
        (
            "exclude: [{python: 3.12, gil: off, triton: 3.7.0}]",
            (
                "m.yml:7:11: no cell has all of python, gil, triton together; nearest: "
                "py3.12-gil-on-triton3.7.0-torchnone, py3.12-gil-on-triton3.7.0-torch2.12.0"
            ),
        ),
        (
            "expect: [{select: 'conda-gil-off', reason: r, owner: o, link: https://h/1, expires: 2020-01-01}]",
            "m.yml:7:19: 'conda-gil-off' selects no cell; nearest: conda-gil-on, py3.12-gil-on-triton3.3.1-torchnone",
        ),
    ],
)
def test_a_rule_that_means_nothing_names_what_is_near(conda: Workbench, rule: str, message: str) -> None:
    assert conda.error(f"{AXES}{rule}\n", MatrixFileError) == message


def test_a_message_does_not_list_hundreds(bench: Workbench) -> None:
    pythons = ", ".join(f"3.13.{patch}t" for patch in range(100))
    text = f"python: [{pythons}]\ntriton: 3.7.0\nproject: {{tests: tests}}\nexclude: [{{python: 3.14}}]\n"
    assert bench.error(text, MatrixFileError).endswith("3.13.10t, 3.13.11t and 88 more")


def test_a_rule_for_excluded_cells_says_that_they_are_excluded(conda: Workbench) -> None:
    text = AXES + "exclude: [py3.14t-*]\noverrides: [{select: {python: 3.14t}, workdir: tests}]\n"
    assert conda.error(text, MatrixFileError) == (
        "m.yml:8:22: selects only cells that exclude removes, such as py3.14t-gil-on-triton3.3.1-torchnone"
    )


def test_a_matrix_without_cells_is_a_mistake(conda: Workbench) -> None:
    assert conda.error(AXES + "exclude: ['*']\n", MatrixFileError) == "m.yml:7:10: exclude leaves no cell"
