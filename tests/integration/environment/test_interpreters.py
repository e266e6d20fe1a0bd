"""Interpreters that lie, crash, hang, and those that are what they say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from runner.environment.interpreters import find_interpreter, find_on_machine
from runner.environment.places import Places
from runner.environment.probe import Interpreter, check, probe
from runner.environment.process import run
from runner.errors import InterpreterError
from runner.model.cell import PythonBuild
from tests.integration.environment.conftest import ends


def script(folder: Path, name: str, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def refusal(path: Path, seconds: float = 20.0) -> str:
    with pytest.raises(InterpreterError) as caught:
        probe(path, "a test", seconds=seconds)
    return caught.value.message


def test_a_real_one_is_what_it_says(python313: Interpreter) -> None:
    found = probe(python313.executable, "a test")
    assert found.version.startswith("3.13.")
    assert found.soabi.startswith("cpython-313-")
    assert not found.free_threaded
    assert found.origin == "a test"


def test_a_link_leads_to_the_python_itself(python313: Interpreter, tmp_path: Path) -> None:
    run([python313.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], timeout=60)
    found = probe(tmp_path / "venv" / "bin" / "python", "a test")
    assert not found.executable.is_relative_to(tmp_path)
    assert found.executable.resolve() == python313.executable.resolve()


def test_a_gil_build_under_the_name_of_the_other(python313: Interpreter, nowhere: Places, tmp_path: Path) -> None:
    script(tmp_path / "bin", "python3.13t", f'exec "{python313.executable}" "$@"')
    places = dataclasses.replace(nowhere, path=(tmp_path / "bin",))
    found, (tried,) = find_on_machine(PythonBuild.parse("3.13t"), places)
    assert found is None
    assert str(tried) == f"{tmp_path}/bin/python3.13t (PATH): is {python313.version}, a build with the GIL"


def test_another_patch_release_is_refused_when_one_is_named(python313: Interpreter) -> None:
    check(python313, PythonBuild.parse(python313.version))
    with pytest.raises(InterpreterError, match=rf"is {python313.version}"):
        check(python313, PythonBuild.parse("3.13.99"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("exit 127", "ended with exit status 127 and said nothing"),
        ("echo no such command >&2; exit 127", "ended with exit status 127 and said 'no such command'"),
        ("kill -SEGV $$", "was killed by SIGSEGV and said nothing"),
        ("echo 3.13.5", "ended with exit status 0 and said '3.13.5'"),
        ("echo 'triton-compat-interpreter:{'", "answered something that no Python would"),
        ("echo 'triton-compat-interpreter:[1]'", "answered something that no Python would"),
        ('echo \'triton-compat-interpreter:{"version": "3.13.5"}\'', "answered something that no Python would"),
    ],
)
def test_what_is_no_python_is_refused_with_the_reason(tmp_path: Path, body: str, expected: str) -> None:
    assert refusal(script(tmp_path, "python3.13", body)) == expected


def test_one_that_answers_and_then_dies_is_refused(python313: Interpreter, tmp_path: Path) -> None:
    path = script(tmp_path, "python3.13", f'"{python313.executable}" "$@"; kill -SEGV $$')
    assert refusal(path).startswith("was killed by SIGSEGV and said 'triton-compat-interpreter:")


def test_one_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    path = script(tmp_path, "python3.13", f"sleep 1000 & echo $! > {tmp_path}/child; wait")
    assert refusal(path, seconds=1.0) == "did not end within 1 s and said nothing"
    assert ends(int((tmp_path / "child").read_text()))


def test_endless_output_is_bounded(tmp_path: Path) -> None:
    assert len(refusal(script(tmp_path, "python3.13", "exec yes liar"), seconds=1.0)) < 300


def test_a_file_of_another_machine(tmp_path: Path) -> None:
    path = tmp_path / "python3.13"
    path.write_bytes(b"\x7fELF nothing")
    path.chmod(0o755)
    assert refusal(path) == "could not be started: Exec format error"


def test_variables_that_kill_a_gil_build_do_not_reach_it(
    python313: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_GIL", "0")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert probe(python313.executable, "a test").version == python313.version


def test_when_there_is_none_every_try_is_listed(nowhere: Places, tmp_path: Path) -> None:
    for name, body in (("python3.12", "exit 127"), ("python3", "kill -SEGV $$")):
        script(tmp_path / "bin", name, body)
    places = dataclasses.replace(nowhere, path=(tmp_path / "bin",))
    with pytest.raises(InterpreterError) as caught:
        find_interpreter(PythonBuild.parse("3.12"), places=places, offline=True)
    assert caught.value.message.splitlines() == [
        "There is no Python 3.12 on this machine, and none could be made. Tried:",
        f"  - {tmp_path}/bin/python3.12 (PATH): ended with exit status 127 and said nothing",
        f"  - {tmp_path}/bin/python3 (PATH): was killed by SIGSEGV and said nothing",
        "  - download and build: not tried, offline",
    ]


def test_a_liar_does_not_hide_the_real_one_behind_it(python313: Interpreter, only313: Places, tmp_path: Path) -> None:
    script(tmp_path / "bin", "python3.13", "exit 1")
    places = dataclasses.replace(only313, path=(tmp_path / "bin", *only313.path))
    assert find_interpreter(PythonBuild.parse("3.13"), places=places, offline=True).version == python313.version


@pytest.mark.interpreters
@pytest.mark.network
def test_a_python_that_nobody_has_is_refused_by_download_and_by_source(nowhere: Places) -> None:
    lines: list[str] = []
    with pytest.raises(InterpreterError) as caught:
        find_interpreter(PythonBuild.parse("3.99t"), places=nowhere, progress=lines.append)
    _, download, build = caught.value.message.splitlines()
    assert download.startswith("  - uv's download: ")
    assert build.startswith("  - a build of Debian's source package: ")
    assert lines[0] == "Python 3.99t: asking uv to download it"


def test_an_old_python_is_refused_by_its_version_not_by_a_syntax_error() -> None:
    old = next(Path.home().glob(".pyenv/versions/3.[67].*/bin/python"), None)
    if old is None:
        pytest.skip("no Python 3.6 or 3.7 in ~/.pyenv/versions")
    assert probe(old, "a test").version.startswith(("3.6.", "3.7."))
