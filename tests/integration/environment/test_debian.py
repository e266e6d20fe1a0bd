"""Debian's source package: the private apt, the build and what becomes of a failure."""

from __future__ import annotations

import dataclasses
import io
import re
import tarfile
from pathlib import Path

import pytest

from runner.environment.apt import PrivateApt
from runner.environment.debian import build_from_debian
from runner.environment.environments import make_environment
from runner.environment.interpreters import find_interpreter
from runner.environment.places import Places
from runner.environment.probe import Interpreter
from runner.environment.process import run
from runner.environment.progress import silent
from runner.environment.source_build import build_archive, executable_in
from runner.errors import InterpreterError
from runner.model.cell import PythonBuild
from tests.integration.environment.conftest import PLUGGY, Planned

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
BUILD = PythonBuild.parse("3.13")

needs_debian = pytest.mark.skipif(not KEYRING.is_file(), reason="no keyring of Debian's on this machine")


def archive(folder: Path, configure: str) -> Path:
    """A source tree that configures and installs as CPython's does, in no time."""
    path = folder / "python3.13_3.13.5.orig.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        data = f"#!/bin/sh\nset -e\n{configure}\n".encode()
        entry = tarfile.TarInfo("Python-3.13.5/configure")
        entry.size, entry.mode = len(data), 0o755
        tar.addfile(entry, io.BytesIO(data))
    return path


def makefile(python: str) -> str:
    """A configure that writes a Makefile whose installation is a script that runs another Python."""
    return f"""\
for argument; do case "$argument" in --prefix=*) prefix="${{argument#--prefix=}}";; esac; done
cat > python3.13 <<'END'
#!/bin/sh
exec {python} "$@"
END
cat > Makefile <<END
all:
\techo compiled
install:
\tmkdir -p \\$(DESTDIR)$prefix/bin
\tinstall -m 755 python3.13 \\$(DESTDIR)$prefix/bin/python3.13
END
"""


def test_a_complete_build_stands_in_its_place_and_nothing_else(python313: Interpreter, tmp_path: Path) -> None:
    final = tmp_path / "made" / "cpython-3.13.5-x"
    (tmp_path / "made" / ".building-cpython-3.13.5-x-killed").mkdir(parents=True)
    lines: list[str] = []
    build_archive(archive(tmp_path, makefile(str(python313.executable))), final, BUILD, lines.append)
    assert executable_in(final, BUILD).is_file()
    assert sorted(path.name for path in final.parent.iterdir()) == ["cpython-3.13.5-x", "logs"]
    assert [line.split(" (")[0] for line in lines[1:]] == [
        "Python 3.13: configuring",
        "Python 3.13: compiling",
        "Python 3.13: installing",
        "Python 3.13: built",
    ]


def test_a_failed_stage_keeps_its_log_and_leaves_no_python(tmp_path: Path) -> None:
    final = tmp_path / "made" / "cpython-3.13.5-x"
    with pytest.raises(InterpreterError) as caught:
        build_archive(archive(tmp_path, "echo no C compiler found; exit 77"), final, BUILD, silent)
    log = final.parent / "logs" / "cpython-3.13.5-x.log"
    assert caught.value.message == (f"configuring ended with exit status 77; log: {log}; its end:\nno C compiler found")
    assert log.read_text() == "no C compiler found\n"
    assert [path.name for path in final.parent.iterdir()] == ["logs"]


def test_a_build_that_gives_another_python_is_thrown_away(tmp_path: Path) -> None:
    final = tmp_path / "made" / "cpython-3.13.5-x"
    with pytest.raises(InterpreterError, match=r"what was built cannot be used: it ended with exit status 1"):
        build_archive(archive(tmp_path, makefile("/bin/false")), final, BUILD, silent)
    assert not final.exists()


def test_an_archive_that_is_none_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "python.orig.tar.xz"
    broken.write_bytes(b"not an archive")
    with pytest.raises(InterpreterError, match=r"python\.orig\.tar\.xz could not be unpacked"):
        build_archive(broken, tmp_path / "made" / "x", BUILD, silent)


def test_a_folder_that_configure_cannot_take_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InterpreterError, match="spaces or special characters"):
        build_from_debian(BUILD, tmp_path / "my cache", silent)


@needs_debian
def test_without_a_keyring_or_a_mirror_nothing_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(InterpreterError, match="debian-archive-keyring"):
        PrivateApt(tmp_path, keyring=tmp_path / "none.gpg")
    with pytest.raises(InterpreterError, match="name no mirror"):
        PrivateApt(tmp_path, archives=())


@needs_debian
def test_a_mirror_that_does_not_answer_is_said(tmp_path: Path) -> None:
    apt = PrivateApt(tmp_path, archives=(f"file:{tmp_path}/mirror",))
    trouble = apt.update()
    assert trouble is not None
    assert trouble.startswith("apt-get update ended with exit status 100: ")


@needs_debian
def test_an_unsigned_mirror_is_refused(tmp_path: Path) -> None:
    index = tmp_path / "mirror" / "dists" / "trixie" / "main" / "source"
    index.mkdir(parents=True)
    (index / "Sources").write_text("Package: python3.13\nVersion: 3.13.5-1\n")
    (tmp_path / "mirror" / "dists" / "trixie" / "Release").write_text("Suite: stable\nCodename: trixie\n")
    apt = PrivateApt(tmp_path / "apt", archives=(f"file:{tmp_path}/mirror",))
    assert "is not signed" in (apt.update() or "")
    with pytest.raises(InterpreterError, match=r"no source package python3\.13"):
        apt.find("python3.13")


@needs_debian
@pytest.mark.network
def test_the_index_says_which_pythons_have_a_source(tmp_path: Path) -> None:
    apt = PrivateApt(tmp_path)
    assert apt.update() is None
    package = apt.find("python3.13")
    assert re.fullmatch(r"3\.13\.\d+", package.release)
    with pytest.raises(InterpreterError, match=r"Debian trixie has no source package python3\.98"):
        apt.find("python3.98")


@pytest.mark.interpreters
@pytest.mark.network
def test_a_real_free_threaded_python_from_the_users_cache(planned: Planned, tmp_path: Path) -> None:
    """Downloads or builds it where this user has none yet: minutes once, then nothing."""
    machine = Places.of_this_machine()
    places = dataclasses.replace(machine, path=(), versions=(), prefixes=())
    found = find_interpreter(PythonBuild.parse("3.13t"), places=places, progress=print)
    assert found.free_threaded
    assert found.soabi.startswith("cpython-313t-")
    assert found.headers
    assert found.executable.is_relative_to(machine.made)
    made = make_environment(
        planned(PLUGGY, id="py3.13t-demo", python="3.13t"), root=tmp_path, store=tmp_path / "store", places=places
    )
    code = "import sys, ctypes, zlib, pluggy; print(sys._is_gil_enabled(), pluggy.__file__)"
    said = run([made.python, "-I", "-c", code], timeout=60).output
    assert said.startswith(f"False {made.folder}")
