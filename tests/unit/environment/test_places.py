from pathlib import Path

import pytest

from runner.environment.places import Places, candidates
from runner.model.cell import PythonBuild


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(
        path=(tmp_path / "bin",),
        versions=(("pyenv", tmp_path / "versions"),),
        made=tmp_path / "made",
        prefixes=(tmp_path / "prefix",),
    )


def found(build: str, places: Places, below: Path) -> list[tuple[str, str]]:
    return [(str(file.relative_to(below)), origin) for file, origin in candidates(PythonBuild.parse(build), places)]


def test_the_order_is_path_versions_made_prefixes(places: Places, tmp_path: Path) -> None:
    for name in (
        "prefix/bin/python3.13t",
        "made/cpython-3.13.5t-x86_64/bin/python3.13t",
        "versions/3.13.0t/bin/python3.13",
        "bin/python3.13t",
    ):
        executable(tmp_path / name)
    assert found("3.13t", places, tmp_path) == [
        ("bin/python3.13t", "PATH"),
        ("versions/3.13.0t/bin/python3.13", "pyenv"),
        ("made/cpython-3.13.5t-x86_64/bin/python3.13t", "made by triton-compat"),
        ("prefix/bin/python3.13t", str(tmp_path / "prefix")),
    ]


def test_newest_release_first_and_no_other_release_line(places: Places, tmp_path: Path) -> None:
    for version in ("3.13.2", "3.13.10", "3.1.4", "3.130.1", "3.12.9"):
        executable(tmp_path / "versions" / version / "bin" / "python")
    assert [name for name, _ in found("3.13", places, tmp_path)] == [
        "versions/3.13.10/bin/python",
        "versions/3.13.2/bin/python",
    ]


def test_half_built_folders_are_not_looked_at(places: Places, tmp_path: Path) -> None:
    executable(tmp_path / "made/.building-cpython-3.13.5t-x86_64-abc/bin/python3.13t")
    assert found("3.13t", places, tmp_path) == []


def test_a_file_with_two_names_is_one_candidate_and_what_is_not_executable_is_none(
    places: Places, tmp_path: Path
) -> None:
    real = executable(tmp_path / "bin" / "python3.13")
    (tmp_path / "bin" / "python3").symlink_to(real)
    (tmp_path / "bin" / "python").write_text("not executable")
    assert found("3.13", places, tmp_path) == [("bin/python3.13", "PATH")]


def test_the_tool_cache_has_a_level_for_the_architecture(places: Places, tmp_path: Path) -> None:
    executable(tmp_path / "versions/3.13.5/x64-freethreaded/bin/python3.13t")
    assert [name for name, _ in found("3.13t", places, tmp_path)] == [
        "versions/3.13.5/x64-freethreaded/bin/python3.13t"
    ]


def test_stand_ins_of_version_managers_are_left_out_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyenv/shims").mkdir(parents=True)
    (tmp_path / "pyenv/versions").mkdir()
    (tmp_path / "other/shims").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{tmp_path}/pyenv/shims:{tmp_path}/other/shims")
    assert Places.of_this_machine().path == (tmp_path / "other/shims",)
