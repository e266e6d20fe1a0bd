"""Environments from real wheels: exactly the pins, reused when whole, made anew when not."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runner.environment.contents import STAMP
from runner.environment.environments import changes_since_made, make_environment
from runner.environment.places import Places
from runner.environment.probe import Interpreter
from runner.environment.process import run
from runner.errors import EnvironmentFailedError, InterpreterError
from runner.model.plan import Pin
from tests.integration.environment.conftest import INICONFIG, OLDER_INICONFIG, PLUGGY, TRITON, Planned

pytestmark = pytest.mark.network


def versions(python: Path) -> dict[str, str]:
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    found: dict[str, str] = json.loads(run([python, "-I", "-c", code], timeout=60).output)
    return found


def site_packages(folder: Path) -> Path:
    return next(folder.glob("lib/python3*/site-packages"))


def test_it_holds_exactly_the_pins_and_is_reused(planned: Planned, only313: Places, tmp_path: Path) -> None:
    wanted = planned(PLUGGY, INICONFIG)
    first = make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313)
    assert (first.reused, first.reason) == (False, None)
    assert versions(first.python) == {"pluggy": "1.6.0", "iniconfig": "2.1.0"}
    inode = (first.folder / STAMP).stat().st_ino
    again = make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313)
    assert (again.reused, again.reason, again.python) == (True, None, first.python)
    assert (first.folder / STAMP).stat().st_ino == inode
    assert again.identity == first.identity
    (first.folder / STAMP).unlink()
    assert make_environment(wanted, root=tmp_path, store=tmp_path / "store", places=only313).identity != first.identity


def test_a_real_triton_imports_and_a_second_environment_needs_no_network(
    planned: Planned, only313: Places, tmp_path: Path
) -> None:
    wanted = planned(TRITON, triton="3.7.0")
    make_environment(wanted, root=tmp_path, store=tmp_path / "first", places=only313)
    made = make_environment(wanted, root=tmp_path, store=tmp_path / "second", places=only313, offline=True)
    said = run([made.python, "-I", "-c", "import triton; print(triton.__version__, triton.__file__)"], timeout=300)
    assert said.output.startswith(f"3.7.0 {made.folder}")
    assert changes_since_made(made.folder) is None


def test_files_are_hard_links_to_the_cache(planned: Planned, only313: Places, tmp_path: Path) -> None:
    made = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path / "store", places=only313)
    if made.folder.stat().st_dev == Path.home().stat().st_dev:
        assert (site_packages(made.folder) / "pluggy" / "__init__.py").stat().st_nlink > 1


def test_a_changed_pin_makes_it_anew(planned: Planned, only313: Places, tmp_path: Path) -> None:
    make_environment(planned(INICONFIG, PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    made = make_environment(planned(OLDER_INICONFIG), root=tmp_path, store=tmp_path, places=only313)
    assert (made.reused, made.reason) == (False, "the plan wants other packages")
    assert versions(made.python) == {"iniconfig": "2.0.0"}


def test_a_warm_cache_is_enough_without_network(planned: Planned, only313: Places, tmp_path: Path) -> None:
    make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path / "a", places=only313)
    made = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path / "b", places=only313, offline=True)
    assert versions(made.python) == {"pluggy": "1.6.0"}


def test_with_a_warm_cache_the_index_is_not_asked(
    planned: Planned, only313: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path / "a", places=only313)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nothing listens there
    made = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path / "b", places=only313)
    assert versions(made.python) == {"pluggy": "1.6.0"}


def test_offline_with_an_empty_cache_says_so(
    planned: Planned, only313: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty"))
    with pytest.raises(EnvironmentFailedError, match=r"uv pip install --offline ended with exit status [12]\n"):
        make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313, offline=True)


def test_a_wheel_of_another_digest_is_refused(planned: Planned, only313: Places, tmp_path: Path) -> None:
    wrong = PLUGGY.model_copy(update={"sha256": "0" * 64})
    with pytest.raises(EnvironmentFailedError, match=r"(?i)hash"):
        make_environment(planned(wrong), root=tmp_path, store=tmp_path, places=only313)
    assert not (tmp_path / "py3.13-demo" / STAMP).exists()
    made = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    assert made.reason == "it was not completed"


def test_a_package_without_a_wheel_is_not_built(planned: Planned, only313: Places, tmp_path: Path) -> None:
    no_wheel = Pin(name="docopt", version="0.6.2", filename="docopt-0.6.2.tar.gz")
    with pytest.raises(EnvironmentFailedError, match=r"docopt"):
        make_environment(planned(no_wheel), root=tmp_path, store=tmp_path, places=only313)


def test_switches_of_the_user_change_nothing(
    planned: Planned, only313: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uv.toml").write_text('[pip]\nno-binary = [":all:"]\n')
    (tmp_path / "constraints.txt").write_text("pluggy<1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UV_CONSTRAINT", str(tmp_path / "constraints.txt"))
    monkeypatch.setenv("PYTHON_GIL", "0")
    made = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path / "store", places=only313)
    assert versions(made.python) == {"pluggy": "1.6.0"}


def test_a_new_file_in_it_is_seen(planned: Planned, only313: Places, tmp_path: Path) -> None:
    made = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    assert changes_since_made(made.folder) is None
    evil = site_packages(made.folder) / "sitecustomize.py"
    evil.write_text("raise SystemExit('changed by a test')\n")
    expected = f"{evil.relative_to(made.folder)} is new"
    assert changes_since_made(made.folder) == expected
    lines: list[str] = []
    again = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313, progress=lines.append)
    assert (again.reused, again.reason) == (False, expected)
    assert lines[0] == f"py3.13-demo: making it anew: {expected}"
    assert not evil.exists()


def test_a_write_through_a_hard_link_is_seen_and_the_cache_repaired(
    planned: Planned, only313: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    one = make_environment(planned(INICONFIG, PLUGGY), root=tmp_path, store=tmp_path / "a", places=only313)
    file = site_packages(one.folder) / "iniconfig" / "__init__.py"
    original = file.read_bytes()
    with file.open("r+b") as stream:
        stream.write(b"#")
    lines: list[str] = []
    two = make_environment(
        planned(INICONFIG, PLUGGY), root=tmp_path, store=tmp_path / "b", places=only313, progress=lines.append
    )
    assert (site_packages(two.folder) / "iniconfig" / "__init__.py").read_bytes() == original
    assert any("holds iniconfig/__init__.py changed since iniconfig was unpacked" in line for line in lines)
    again = make_environment(planned(INICONFIG, PLUGGY), root=tmp_path, store=tmp_path / "a", places=only313)
    assert again.reason == f"{file.relative_to(one.folder)} was written"
    assert file.read_bytes() == original


def test_it_is_made_anew_when_its_python_was_replaced(
    planned: Planned, python313: Interpreter, only313: Places, tmp_path: Path
) -> None:
    make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    stamp = tmp_path / "py3.13-demo" / STAMP
    stamp.write_text(stamp.read_text().replace(str(python313.executable), "/gone/python3.13"))
    made = make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    assert made.reason == "its Python /gone/python3.13 was changed or removed"


def test_no_python_leaves_the_old_environment_and_frees_its_lock(
    planned: Planned, only313: Places, nowhere: Places, tmp_path: Path
) -> None:
    make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    with pytest.raises(InterpreterError):
        make_environment(planned(INICONFIG), root=tmp_path, store=tmp_path, places=nowhere, offline=True)
    with (tmp_path / ".py3.13-demo.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError if this process still held it
        fcntl.flock(other, fcntl.LOCK_UN)
    assert make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313).reused


MAKER = """
import sys, pathlib
from runner.environment.environments import make_environment
from runner.environment.places import Places
from runner.model.plan import PlannedEnvironment
environment, store, python = sys.argv[1:]
places = Places(path=(pathlib.Path(python),), versions=(), made=pathlib.Path(store) / "made", prefixes=())
store = pathlib.Path(store)
made = make_environment(
    PlannedEnvironment.model_validate_json(environment), root=store, store=store, places=places, progress=print
)
print("ready", made.reused, flush=True)
sys.stdin.read()
"""


def maker(environment: str, store: Path, python: Interpreter) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-c", MAKER, environment, str(store), str(python.executable.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_killed_while_making_nothing_half_made_is_used(
    planned: Planned, python313: Interpreter, only313: Places, tmp_path: Path
) -> None:
    wanted = planned(PLUGGY, INICONFIG)
    with maker(wanted.model_dump_json(), tmp_path, python313) as process:
        while not list(tmp_path.glob("py3.13-demo/lib/python3*/site-packages")):
            assert process.poll() is None
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "py3.13-demo" / STAMP).exists()
    made = make_environment(wanted, root=tmp_path, store=tmp_path, places=only313)
    assert (made.reused, made.reason) == (False, "it was not completed")
    assert versions(made.python) == {"pluggy": "1.6.0", "iniconfig": "2.1.0"}
    assert changes_since_made(made.folder) is None


def test_what_a_killed_maker_left_beside_it_goes_with_the_next_one(
    planned: Planned, only313: Places, tmp_path: Path
) -> None:
    left = tmp_path / ".making-py3.13-demo" / "0"
    left.mkdir(parents=True)
    (left / "half-1.0-py3-none-any.whl").write_text("half")
    make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    assert not list(tmp_path.glob(".making-*"))


def test_two_runs_make_it_once_and_a_used_one_is_not_replaced(
    planned: Planned, python313: Interpreter, only313: Places, tmp_path: Path
) -> None:
    wanted = planned(PLUGGY).model_dump_json()
    with maker(wanted, tmp_path, python313) as one, maker(wanted, tmp_path, python313) as two:
        said = sorted(_until_ready(process) for process in (one, two))
        assert said == ["ready False", "ready True"]
        # Both still use it. Another plan wants the same folder, and has to wait for them.
        waiting = threading.Event()
        made: list[str | None] = []

        def replace() -> None:
            def progress(line: str) -> None:
                if "waiting for that to end" in line:
                    waiting.set()

            ready = make_environment(
                planned(INICONFIG), root=tmp_path, store=tmp_path, places=only313, progress=progress
            )
            made.append(ready.reason)

        thread = threading.Thread(target=replace)
        thread.start()
        assert waiting.wait(60)
        assert (site_packages(tmp_path / "py3.13-demo") / "pluggy").is_dir()
        one.communicate()
        assert not made
        two.communicate()
        thread.join()
    assert made == ["the plan wants other packages"]


def _until_ready(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return next(line.strip() for line in process.stdout if line.startswith("ready"))


def test_a_named_python_is_used_as_it_is(planned: Planned, python313: Interpreter, tmp_path: Path) -> None:
    wanted = planned(executable=str(python313.executable))
    made = make_environment(wanted, root=tmp_path, store=tmp_path / "store")
    assert (made.python, made.reused) == (python313.executable, True)
    assert not (tmp_path / "store").exists()


def test_a_named_python_that_is_too_old_is_refused_by_its_version(planned: Planned, tmp_path: Path) -> None:
    script = tmp_path / "python"
    says = (
        '{"executable": "/bin/sh", "implementation": "CPython", "version": "3.8.18", "free_threaded": false,'
        ' "soabi": "", "headers": true, "lacks": []}'
    )
    script.write_text(f"#!/bin/sh\necho 'triton-compat-interpreter:{says}'\n")
    script.chmod(0o755)
    with pytest.raises(InterpreterError, match=r"it is Python 3\.8\.18, and tests run on 3\.9 or later"):
        make_environment(planned(executable=str(script)), root=tmp_path, store=tmp_path / "store")


def test_a_named_python_that_is_not_there(planned: Planned, tmp_path: Path) -> None:
    wanted = planned(id="conda", executable="envs/missing/bin/python")
    with pytest.raises(InterpreterError) as caught:
        make_environment(wanted, root=tmp_path, store=tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/envs/missing/bin/python, which the environment conda names, cannot be used: "
        "it could not be started: No such file or directory\n"
        "Correct its path under environment: in the matrix file."
    )


def test_a_full_disk_is_said_before_the_download(
    planned: Planned, only313: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty"))
    free = shutil.disk_usage(tmp_path).free
    huge = PLUGGY.model_copy(update={"size": free})
    with pytest.raises(EnvironmentFailedError, match=r"needs about [\d.]+ GB, and its disk has [\d.]+ GB free"):
        make_environment(planned(huge), root=tmp_path, store=tmp_path, places=only313)


def test_no_descriptor_is_left_open_by_a_failure(
    planned: Planned, nowhere: Places, only313: Places, tmp_path: Path
) -> None:
    make_environment(planned(PLUGGY), root=tmp_path, store=tmp_path, places=only313)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        with pytest.raises(InterpreterError):
            make_environment(planned(INICONFIG), root=tmp_path, store=tmp_path, places=nowhere, offline=True)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
