from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import MatrixFileError, ResolutionError
from runner.plan.problems import listing
from runner.plan.read import read_matrix

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Workbench

TEN_MISTAKES = """\
python: [3.12, 3.13-t]
gil: [on, of]
triton: [3.3.1, 3.7.0, 3.3.1]
torch: none
project:
  tests: tests
  pytest_args: -x
limits:
  test: fast
  test: 5s
  memory: 8G
exclude:
  - {python: 3.12, gill: off}
expect:
  - select: "*"
    reason: it fails
    link: https://example.org/1
    expires: 2027-02-30
runnr: sm90
"""

TEN_MESSAGES = """\
m.yml:1:16: '3.13-t' is not a Python version such as 3.12; did you mean '3.13t'?
m.yml:2:11: 'of' is not a GIL mode; did you mean 'off'?
m.yml:3:24: triton has '3.3.1' twice, first on line 3
m.yml:7:3: unknown key 'pytest_args' under project; did you mean 'pytest-args'?
m.yml:9:9: 'fast' is not a duration such as 90, 30s, 5m or 1h
m.yml:10:3: duplicate key 'test', first given on line 9
m.yml:11:11: '8G' is not a size such as 8GiB or 512MB; did you mean '8GiB'?
m.yml:13:20: unknown key 'gill' under exclude; did you mean 'gil'?
m.yml:15:5: 'owner' is missing under expect
m.yml:18:14: '2027-02-30' is not a day of the calendar: day is out of range for month
m.yml:19:1: unknown key 'runnr'; did you mean 'runner'?"""


def said(bench: Workbench, text: str) -> list[str]:
    """The mistakes that reading shows, without the file's name."""
    problems = bench.read(text).problems
    return [line.removeprefix("m.yml:") for line in listing(problems, "m.yml").splitlines()]


def test_all_mistakes_come_at_once_with_their_lines(bench: Workbench) -> None:
    assert bench.error(TEN_MISTAKES, MatrixFileError) == TEN_MESSAGES


SELECTOR_MISTAKES = """\
python: [3.12, 3.13t]
triton: [3.3.1, 3.7.0]
project:
  tests: nowhere
exclude:
  - py3.14t-*
  - {gil: off, python: 3.12}
overrides:
  - select: {triton: ">=3.8"}
    limits: {cell: soon}
"""

SELECTOR_MESSAGES = """\
m.yml:4:10: there is no 'nowhere' in 'ROOT'
m.yml:6:5: 'py3.14t-*' selects no cell; nearest: py3.13t-gil-on-triton3.3.1, py3.13t-gil-off-triton3.3.1
m.yml:7:5: no cell has all of python, gil together; nearest: py3.12-gil-on-triton3.3.1, py3.12-gil-on-triton3.7.0
m.yml:9:13: no cell has this triton; the cells have 3.3.1, 3.7.0
m.yml:10:20: 'soon' is not a duration such as 90, 30s, 5m or 1h"""


def test_selectors_are_checked_beside_other_mistakes(bench: Workbench) -> None:
    assert bench.error(SELECTOR_MISTAKES, MatrixFileError) == SELECTOR_MESSAGES


def test_versions_that_do_not_exist_join_the_other_mistakes(bench: Workbench) -> None:
    text = "python: 3.12\ntriton: 3.7.9\nproject: {tests: tests}\n"
    missing = "m.yml:2:9: no release of triton is 3.7.9; the nearest final release is 3.7.1"
    assert bench.error(text, ResolutionError) == missing
    assert bench.error(text + "nam: x\n", MatrixFileError) == (
        f"{missing}\nm.yml:4:1: unknown key 'nam'; did you mean 'name'?"
    )


def test_an_index_that_is_out_of_reach_hides_no_mistake_of_the_file(bench: Workbench) -> None:
    bench.catalogue.reachable = False
    text = "python: 3.12\ntriton: latest\nproject: {tests: tests}\nnam: x\n"
    assert bench.error(text, MatrixFileError) == "m.yml:4:1: unknown key 'nam'; did you mean 'name'?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("project: {tests: tests}\n", "1:1: 'python' is missing; it lists the Python versions to test"),
        ("python: 3.12\ntriton: 3.7.0\n", "1:1: 'project' is missing"),
        ("python: 3.12\ntriton: 3.7.0\nproject: {install: .}\n", "3:1: 'tests' is missing under project"),
        ("python: 3.12\ntriton:\nproject: {tests: tests}\n", "2:1: 'triton' has no value"),
        ("python: []\ntriton: 3.7.0\nproject: {tests: tests}\n", "1:9: this list is empty; name at least one"),
        (
            "python: {a: b}\ntriton: 3.7.0\nproject: {tests: tests}\n",
            "1:9: a single value is expected here, not a mapping",
        ),
        ("python: 3.12\ntriton: 3.7.0\nproject: x\n", "3:10: a mapping is expected here, not a single value"),
        (
            "python: 3.12\ntriton: 3.7.0\nproject: {tests: [tests, [x]]}\n",
            "3:26: a single value is expected here, not a list",
        ),
    ],
)
def test_structure(bench: Workbench, text: str, message: str) -> None:
    assert message in said(bench, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("python: 3.12\ntriton: 3.7.0\nproject: {tests: }\n", "3:11: 'tests' has no value"),
        ("python: 3.12\ntriton: 3.7.0\nproject: {tests: [~]}\n", "3:19: this item has no value"),
        (
            "python: 3.12\ntriton: 3.7.0\nproject: {test: tests}\n",
            "3:11: unknown key 'test' under project; did you mean 'tests'?",
        ),
        (
            "python: 3.12\ntriton: [3.7, 3.7.0]\nproject: {tests: tests}\n",
            "2:15: triton has '3.7.0' twice, first on line 2",
        ),
        ("pyton: 3.12\ntriton: 3.7.0\nproject: {tests: tests}\n", "1:1: unknown key 'pyton'; did you mean 'python'?"),
    ],
)
def test_one_mistake_is_said_once(bench: Workbench, text: str, message: str) -> None:
    assert said(bench, text) == [message]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("exclude: x\n", "5:10: a list is expected here, not a single value"),
        ("exclude: [{}]\n", "5:11: an empty selector names nothing; '*' selects every cell"),
        ("overrides: [{limits: {test: 1s}}]\n", "5:13: 'select' is missing under overrides"),
        (
            "gpu: {compute-capability: sm90}\n",
            "5:27: 'sm90' is not a compute capability such as 9.0; did you mean '9.0'?",
        ),
        ("gpu: {required: maybe}\n", "5:17: 'maybe' is neither true nor false; valid here: true, false"),
        ("runer: sm90\n", "5:1: unknown key 'runer'; did you mean 'runner'?"),
        (
            "expect: [{select: '*', reason: r, owner: o, link: l, expires: 2027-01-01}]\n",
            "5:51: 'l' is not a link such as https://example.org/known-failures/7",
        ),
        (
            "environment: [{name: conda, python: python3}]\n",
            "5:37: 'python3' must be a path such as /opt/conda/bin/python or .venv/bin/python",
        ),
        (
            "environment: [{name: a, python: /x}, {name: a, python: /y}]\n",
            "5:45: environment has 'a' twice, first on line 5",
        ),
        ("include: [{python: 3.12}]\n", "5:11: 'triton' is missing under include"),
    ],
)
def test_sections(bench: Workbench, minimal: str, more: str, message: str) -> None:
    assert said(bench, minimal + more) == [message]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("install: ./nowhere", "'./nowhere' is no Python project: no pyproject.toml in"),
        ("install: numpy>>2", "'numpy>>2' is neither a requirement nor a folder"),
        ("base: numpy", "base must hold a pytest, such as 'pytest>=8,<9'"),
        ("env: {PYTHON_GIL: 0}", "PYTHON_GIL cannot be set: the gil axis sets it for each cell"),
        ("workdir: nowhere", "there is no folder 'nowhere' in the root"),
        ("workdir: /tmp", "'/tmp' must be relative to the project's root"),
        ("root: nowhere", "there is no folder"),
        ("pytest-args: -k 'x", "cannot be split into arguments: No closing quotation"),
    ],
)
def test_the_project(bench: Workbench, minimal: str, line: str, message: str) -> None:
    (found,) = said(bench, f"{minimal}  {line}\n")
    assert message in found
    assert found.startswith("5:")


def test_a_mistake_behind_an_anchor_is_said_once(bench: Workbench, minimal: str) -> None:
    text = minimal + "limits: &l {test: fast}\noverrides: [{select: '*', limits: *l}]\n"
    assert said(bench, text) == ["5:19: 'fast' is not a duration such as 90, 30s, 5m or 1h"]


def test_many_mistakes_are_counted_not_listed(bench: Workbench, minimal: str) -> None:
    text = minimal + "exclude:\n" + "  - {gill: off}\n" * 150
    lines = said(bench, text)
    assert len(lines) == 101
    assert lines[-1] == " and 50 more"


def test_the_root_is_the_git_checkout_then_the_files_folder(tmp_path: Path) -> None:
    folder = tmp_path / "repository" / "matrices"
    folder.mkdir(parents=True)
    (folder / "m.yml").write_text("python: 3.12\ntriton: 3.7.0\nproject: {tests: .}\n")
    # A checkout around the temporary folder itself would be found first.
    assert read_matrix(folder / "m.yml").root_source.startswith("default: the ")
    (tmp_path / "repository" / ".git").mkdir()
    found = read_matrix(folder / "m.yml")
    assert (found.root, found.root_source) == (
        tmp_path / "repository",
        "default: the git checkout around the matrix file",
    )
    (folder / "m.yml").write_text("python: 3.12\ntriton: 3.7.0\nproject: {tests: ., root: .}\n")
    assert read_matrix(folder / "m.yml").root == folder


def test_a_path_that_no_file_system_takes_is_not_there(bench: Workbench) -> None:
    long = "x" * 5000
    text = f"python: 3.12\ntriton: 3.7.0\nproject: {{tests: {long}, workdir: {long}, install: ./{long}}}\n"
    assert len(said(bench, text)) == 3
    assert "there is no folder" in said(bench, f"python: 3.12\ntriton: 3.7.0\nproject: {{tests: ., root: {long}}}\n")[0]
    assert said(bench, 'python: 3.12\ntriton: 3.7.0\nproject: {tests: ., root: "a\\0b"}\n')


PIECES = st.sampled_from(
    [
        "\n",
        "  ",
        "\t",
        "- ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "*",
        "&a ",
        "*a",
        "!",
        "'",
        '"',
        "~",
        "<<: ",
        "#",
        "%",
        "\0",
        "é",
        "0",
        "?",
    ]
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_is_a_plan_or_an_error_of_ours(bench: Workbench, data: st.DataObject) -> None:
    text = FULL
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(PIECES) + text[start + data.draw(st.integers(0, 12)) :]
    try:
        bench.plan(text)
    except (MatrixFileError, ResolutionError) as error:
        assert str(error)  # noqa: PT017 - that it raises is not what is tested


FULL = """\
python: [3.12, 3.13t]
gil: [on, off]
triton: [3.7, '>=3.3,<3.8', latest-2]
torch: [matched, none]
include: [{python: 3.12, triton: 3.8.0, torch: none, gil: on}]
exclude: [py3.12-*, {python: 3.13t, gil: off, triton: '>=3.4', torch: none}]
project:
  install: [., numpy>=2]
  tests: tests
  pytest-args: -q
  env: {A: 1, B: on}
limits: &limits {test: 90, memory: 8GiB}
gpu: {compute-capability: 9.0, required: true}
overrides: [{select: '*', limits: {<<: *limits, test: 5}, runner: [a, b]}]
expect: [{select: '*', tests: ['*'], reason: r, owner: o, link: https://example.org/1, expires: 2027-01-31}]
environment: [{name: conda, python: /opt/conda/bin/python}]
"""


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(MatrixFileError, match=r"nope\.yml: could not be read: No such file"):
        read_matrix(tmp_path / "nope.yml")
