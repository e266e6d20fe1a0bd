from __future__ import annotations

import pytest

from runner.model.cell import PythonBuild
from runner.plan.index_page import IndexFile
from runner.plan.wheels import Platform, Target

PLATFORM = Platform("x86_64", (2, 28))


def target(python: str, platform: Platform = PLATFORM) -> Target:
    return Target(PythonBuild.parse(python), platform)


def published(filename: str, requires_python: str | None = None, yanked: str | None = None) -> IndexFile:
    return IndexFile(filename, f"https://files.invalid/{filename}", "0" * 64, 1, requires_python, yanked, False)


@pytest.mark.parametrize(
    ("wheel", "fits", "does_not"),
    [
        ("t-1-cp313-cp313t-manylinux_2_28_x86_64.whl", ["3.13t"], ["3.13", "3.14t", "3.12"]),
        ("t-1-cp313-cp313-manylinux_2_28_x86_64.whl", ["3.13"], ["3.13t", "3.14", "3.12"]),
        ("t-1-cp312-abi3-manylinux_2_28_x86_64.whl", ["3.12", "3.13", "3.15"], ["3.11", "3.13t", "3.15t"]),
        ("t-1-cp313-none-manylinux_2_28_x86_64.whl", ["3.13", "3.13t"], ["3.12", "3.14t"]),
        ("t-1-py3-none-manylinux_2_28_x86_64.whl", ["3.12", "3.13t", "3.15t"], []),
        ("t-1-py3-none-any.whl", ["3.12", "3.13t", "3.15t"], []),
        ("t-1-py2.py3-none-any.whl", ["3.12", "3.13t"], []),
        ("t-1-py2-none-any.whl", [], ["3.12", "3.13t"]),
        ("t-1-cp313-cp313t-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", ["3.13t"], []),
        ("t-1-cp313-cp313t-manylinux2014_x86_64.whl", ["3.13t"], []),
        ("t-1-cp313-cp313t-manylinux_2_34_x86_64.whl", [], ["3.13t"]),
        ("t-1-cp313-cp313t-manylinux_2_28_aarch64.whl", [], ["3.13t"]),
        ("t-1-cp313-cp313t-musllinux_1_2_x86_64.whl", [], ["3.13t"]),
        ("t-1-cp313-cp313t-win_amd64.whl", [], ["3.13t"]),
        ("no wheel at all.whl", [], ["3.13t"]),
    ],
)
def test_a_wheel_fits_exactly_the_builds_of_its_tags(wheel: str, fits: list[str], does_not: list[str]) -> None:
    assert [python for python in fits if target(python).rank(wheel) is None] == []
    assert [python for python in does_not if target(python).rank(wheel) is not None] == []


def test_the_platform_is_a_parameter() -> None:
    arm = target("3.13t", Platform("aarch64", (2, 39)))
    assert arm.rank("t-1-cp313-cp313t-manylinux_2_34_aarch64.whl") is not None
    assert arm.rank("t-1-cp313-cp313t-manylinux_2_28_x86_64.whl") is None


def test_the_best_wheel_is_the_most_specific_one() -> None:
    files = tuple(
        map(
            published,
            [
                "t-1-py3-none-any.whl",
                "t-1-cp312-abi3-manylinux_2_28_x86_64.whl",
                "t-1-cp313-cp313-manylinux_2_17_x86_64.whl",
                "t-1-cp313-cp313-manylinux_2_28_x86_64.whl",
                "t-1.tar.gz",
            ],
        )
    )
    found = target("3.13").best(files)
    assert found is not None
    assert found.filename == "t-1-cp313-cp313-manylinux_2_28_x86_64.whl"
    found = target("3.13t").best(files)
    assert found is not None
    assert found.filename == "t-1-py3-none-any.whl"


def test_of_two_builds_of_one_wheel_the_later_wins() -> None:
    found = target("3.13").best((published("t-1-2-py3-none-any.whl"), published("t-1-10-py3-none-any.whl")))
    assert found is not None
    assert found.filename == "t-1-10-py3-none-any.whl"


def test_source_alone_is_no_wheel() -> None:
    assert target("3.13").best((published("t-1.tar.gz"),)) is None


def test_requires_python_excludes_a_file() -> None:
    file = published("t-1-py3-none-any.whl", requires_python=">=3.9,<3.14")
    assert target("3.13").best((file,)) is file
    assert target("3.14").best((file,)) is None


def test_requires_python_that_is_no_specifier_excludes_nothing() -> None:
    file = published("t-1-py3-none-any.whl", requires_python="3.x or so")
    assert target("3.13").best((file,)) is file


def test_a_named_patch_release_counts() -> None:
    assert target("3.13.5t").accepts(">=3.13.2")
    assert not target("3.13t").accepts(">=3.13.2")


def test_a_yanked_file_does_not_count() -> None:
    assert target("3.13").best((published("t-1-py3-none-any.whl", yanked=""),)) is None


def test_this_machine_has_a_platform() -> None:
    here = Platform.here()
    assert here.machine in {"x86_64", "aarch64"}
    assert here.tags[-1] == f"linux_{here.machine}"
