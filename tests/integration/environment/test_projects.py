"""The user's own project: built from a copy, for each environment, again when its sources change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runner.environment.contents import difference
from runner.environment.environments import make_environment
from runner.environment.places import Places
from runner.environment.process import run
from runner.environment.projects import source_files, sources_of
from runner.errors import EnvironmentFailedError
from tests.integration.environment.conftest import PLUGGY, SETUPTOOLS, Planned


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an extension module, in a git repository."""
    folder = tmp_path / "project"
    (folder / "src" / "hello").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools>=77"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "Hello.World"\nversion = "1.0"\n'
        "[tool.setuptools]\n"
        'ext-modules = [{ name = "hello.fast", sources = ["src/hello/fast.c"] }]\n'
    )
    (folder / "src" / "hello" / "__init__.py").write_text("ANSWER = 41\n")
    (folder / "src" / "hello" / "fast.c").write_text(
        "#include <Python.h>\n"
        'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", 0, 0};\n'
        "PyMODINIT_FUNC PyInit_fast(void) { return PyModuleDef_Init(&module); }\n"
    )
    (folder / ".gitignore").write_text("ignored/\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "first")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


def test_what_git_ignores_is_no_source(project: Path) -> None:
    (project / "ignored").mkdir()
    (project / "ignored" / "big.bin").write_text("x")
    (project / "new.py").write_text("")
    names = {str(name) for name in source_files(project)}
    assert "new.py" in names
    assert "ignored/big.bin" not in names


def test_without_git_caches_and_outputs_are_no_source(tmp_path: Path) -> None:
    for name in ("a.py", "build/lib/a.py", "a.egg-info/PKG-INFO", "pkg/__pycache__/a.pyc", "pkg/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert source_files(tmp_path) == (Path("a.py"), Path("pkg/b.py"))


def test_a_change_of_bytes_of_names_or_of_the_commit_is_named(project: Path) -> None:
    first = sources_of(project)
    assert difference(first, sources_of(project)) is None
    init = project / "src" / "hello" / "__init__.py"
    init.write_text("ANSWER = 42\n")
    assert difference(first, sources_of(project)) == "src/hello/__init__.py was written"
    init.write_text("ANSWER = 41\n")
    (project / "output.txt").write_text("a test wrote this")
    assert difference(first, sources_of(project)) == "output.txt is new"
    (project / "output.txt").unlink()
    git(project, "tag", "v2.0")
    assert difference(first, sources_of(project)) == "HEAD was written"


def test_our_own_results_and_caches_are_no_source_where_git_does_not_ignore_them(project: Path) -> None:
    first = sources_of(project)
    for name in (".triton-compat/cells/a/log.txt", ".nox/x/pyvenv.cfg", "src/hello/__pycache__/a.pyc"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    assert sources_of(project) == first


def test_a_folder_that_cannot_be_installed_is_said(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailedError, match=r"neither pyproject\.toml nor setup\.py"):
        sources_of(tmp_path)


@pytest.mark.network
def test_it_is_built_for_the_environment_and_its_folder_stays_clean(
    project: Path, planned: Planned, only313: Places, tmp_path: Path
) -> None:
    wanted = planned(PLUGGY, local=("project",))
    made = make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313)
    code = "import hello, hello.fast; print(hello.ANSWER, hello.fast.__file__)"
    said = run([made.python, "-I", "-c", code], timeout=60).output
    assert said.startswith(f"41 {made.folder}")
    assert "cpython-313-" in said
    left = subprocess.run(
        ["git", "-C", project, "status", "--porcelain", "--ignored"], check=True, capture_output=True, text=True
    )
    assert left.stdout == ""
    assert make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313).reused

    (project / "src" / "hello" / "__init__.py").write_text("ANSWER = 42\n")
    again = make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313)
    assert again.reason == f"in {project} src/hello/__init__.py was written"
    assert run([again.python, "-I", "-c", code], timeout=60).output.startswith("42 ")


@pytest.mark.network
def test_a_project_that_does_not_build_shows_the_compiler(
    project: Path, planned: Planned, only313: Places, tmp_path: Path
) -> None:
    (project / "src" / "hello" / "fast.c").write_text("#error this does not compile\n")
    with pytest.raises(EnvironmentFailedError, match=r"did not build: uv build ended with exit status") as caught:
        make_environment(planned(local=("project",)), root=tmp_path, store=tmp_path / "store", places=only313)
    assert "this does not compile" in caught.value.message


@pytest.mark.network
def test_a_version_from_git_tags_holds_in_the_copy(planned: Planned, only313: Places, tmp_path: Path) -> None:
    top = tmp_path / "mono"
    folder = top / "python"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools>=77", "setuptools-scm>=8"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "tagged"\ndynamic = ["version"]\n[tool.setuptools_scm]\nroot = ".."\n'
        "[tool.setuptools]\npy-modules = ['tagged']\n"
    )
    (folder / "tagged.py").write_text("")
    git(top, "init", "--quiet")
    git(top, "add", "--all")
    git(top, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "first")
    git(top, "tag", "v4.5.6")
    wanted = planned(local=("mono/python",))
    made = make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313)
    said = run([made.python, "-I", "-c", "import importlib.metadata as m; print(m.version('tagged'))"], timeout=60)
    assert said.output.strip() == "4.5.6"


@pytest.mark.network
def test_a_project_may_build_against_the_environments_own_packages(
    project: Path, planned: Planned, only313: Places, tmp_path: Path
) -> None:
    (project / "setup.py").write_text(
        "import pluggy\nfrom setuptools import setup\nsetup(version=pluggy.__version__)\n"
    )
    file = project / "pyproject.toml"
    file.write_text(file.read_text().replace('version = "1.0"', 'dynamic = ["version"]'))
    wanted = planned(PLUGGY, SETUPTOOLS, local=("project",))
    with pytest.raises(EnvironmentFailedError, match=r"No module named 'pluggy'"):
        make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313)
    file.write_text(file.read_text() + '[tool.uv]\nno-build-isolation-package = ["hello-world"]\n')
    made = make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313)
    said = run([made.python, "-I", "-c", "import importlib.metadata as m; print(m.version('hello.world'))"], timeout=60)
    assert said.output.strip() == PLUGGY.version
