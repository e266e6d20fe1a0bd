from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import ResolutionError
from runner.plan.resolve_local import parse_requirement, read_local


def project(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_static_dependencies_and_extras_are_read(tmp_path: Path) -> None:
    folder = project(
        tmp_path / "kernels",
        """
        [project]
        name = "My_Kernels"
        version = "1"
        requires-python = ">=3.12"
        dependencies = ["numpy>=2", "triton"]
        [project.optional-dependencies]
        test = ["pytest>=8"]
        all = ["my-kernels[test]", "scipy"]
        """,
    )
    needs = read_local([folder], ["[all]"])
    assert needs.names == {"my-kernels"}
    assert [str(requirement) for requirement in needs.requirements] == ["numpy>=2", "triton", "scipy", "pytest>=8"]
    assert needs.requires_python == (("my-kernels", ">=3.12"),)
    assert needs.to_build == ()
    assert [str(requirement) for requirement in read_local([folder], []).requirements] == ["numpy>=2", "triton"]


def test_a_folder_that_needs_another_folder_is_not_looked_up_on_the_index(tmp_path: Path) -> None:
    first = project(tmp_path / "a", '[project]\nname = "a"\nversion = "1"\ndependencies = ["b[fast]>=1"]')
    second = project(
        tmp_path / "b",
        '[project]\nname = "b"\nversion = "1"\ndependencies = ["a"]\n[project.optional-dependencies]\nfast = ["numpy"]',
    )
    assert [str(requirement) for requirement in read_local([first, second], ["", ""]).requirements] == ["numpy"]


def test_dynamic_dependencies_are_left_to_the_build_backend(tmp_path: Path) -> None:
    folder = project(tmp_path / "c", '[project]\nname = "c"\nversion = "1"\ndynamic = ["dependencies"]')
    needs = read_local([folder], ["[test,gpu]"])
    assert needs.built == ("c",)
    assert needs.to_build == (f"c[gpu,test] @ {folder.as_uri()}",)
    (folder / "requirements.txt").write_text("numpy")
    assert read_local([folder], ["[test,gpu]"]).digest != needs.digest


def test_a_project_without_a_project_table_is_built(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "setup.cfg").write_text("[metadata]\nname = old\n")
    assert read_local([folder], [""]).to_build == (f"old @ {folder.as_uri()}",)


@pytest.mark.parametrize(
    ("text", "extras", "message"),
    [
        ("", "", "is no project that can be installed"),
        ("[project", "", "could not be read"),
        ('[project]\nname = "a"\ndependencies = ["numpy =="]', "", r"'numpy ==' is no requirement"),
        ('[project]\nname = "a"\ndependencies = ["b @ git+https://x.invalid/b"]', "", "b is to come from an address"),
        (
            '[project]\nname = "a"\n[project.optional-dependencies]\ngpu = []',
            "[gqu]",
            "no extra named gqu; its extras: gpu",
        ),
    ],
)
def test_a_mistake_is_named_with_its_folder(tmp_path: Path, text: str, extras: str, message: str) -> None:
    folder = project(tmp_path / "a", text)
    with pytest.raises(ResolutionError, match=message) as caught:
        read_local([folder], [extras])
    assert str(folder) in str(caught.value)


def test_two_folders_of_one_name_are_an_error(tmp_path: Path) -> None:
    folders = [project(tmp_path / side, '[project]\nname = "same"\nversion = "1"') for side in ("x", "y")]
    with pytest.raises(ResolutionError, match="are both named same"):
        read_local(folders, [])


def test_a_requirement_of_the_matrix_is_read_with_its_source() -> None:
    with pytest.raises(ResolutionError, match=r"matrix: 'torch=2' is no requirement"):
        parse_requirement("torch=2", "matrix")
