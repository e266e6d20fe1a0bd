"""`nox -s matrix -- --jobs auto` as a user starts it, on a machine with two GPUs that stubs play."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.machine import HERE, StubGpu, StubMachine, compile_stubs

pytestmark = pytest.mark.interpreters

NOXFILE = """
    from pathlib import Path
    from runner import sessions
    sessions.register(Path("matrix.yml"), noxfile=Path(__file__))
"""
MATRIX = """
    name: two
    gil: [on]
    environment:
      - {{name: one, python: {python}}}
      - {{name: two, python: {python}}}
    project: {{tests: test_meet.py}}
    gpu: {{compute-capability: 9.0, free-memory: 16GiB, required: true}}
    limits: {{test: 1m}}
"""
MEET = """
    import os
    from kernels import launch, synchronize

    def test_both_cells_are_here_at_once():
        launch("do_nothing"); synchronize()
        try:
            os.mkdir("first")
        except FileExistsError:
            open("to-second").read()
            open("to-first", "w").close()
        else:
            open("to-second", "w").close()
            open("to-first").read()
"""


@pytest.fixture
def place(tmp_path: Path, ready_python: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a noxfile and a matrix of two cells, on a machine with two GPUs."""
    machine = StubMachine(compile_stubs(tmp_path), tmp_path / "machine", gpus=[StubGpu(0), StubGpu(1)])
    machine.write()
    (tmp_path / "locks").mkdir()
    for name, value in {**machine.variables, "TRITON_COMPAT_LOCKS": str(tmp_path / "locks")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    place = tmp_path / "project"
    place.mkdir()
    shutil.copy(HERE / "kernels.py", place)
    texts = {
        "noxfile.py": NOXFILE,
        "matrix.yml": MATRIX.format(python=ready_python("3.12")),
        "test_meet.py": MEET,
    }
    for name, text in texts.items():
        (place / name).write_text(textwrap.dedent(text), encoding="utf-8")
    for name in ("to-first", "to-second"):
        os.mkfifo(place / name)
    return place


def start(place: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "nox", "-f", "noxfile.py", "-s", "matrix", "--", "matrix.yml", "--jobs", "auto"]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=place, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def test_cells_run_at_once_each_on_a_gpu_of_its_own(place: Path) -> None:
    process = start(place)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    results = [json.loads(path.read_text()) for path in place.glob(".triton-compat/cells/*/result.json")]
    assert [result["status"] for result in results] == ["pass", "pass"]
    used = {result["environment"]["gpus"][0]["uuid"] for result in results}
    assert used == {StubGpu(0).uuid, StubGpu(1).uuid}
    lines = output.splitlines()
    assert any(line.endswith("2 cells, 2 at once") for line in lines)
    assert "2 of 2 cells are finished" in lines
    for result in results:
        name = result["cell"]["id"]
        assert sum(line.startswith(f"{name} | ") and f"{name}: started" in line for line in lines) == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_leaves_no_process(place: Path, how: signal.Signals) -> None:
    (place / "test_meet.py").write_text(
        "import os\ndef test_waits():\n"
        "    with open(f'pid-{os.getpid()}', 'w'): pass\n"
        "    with open('to-first', 'w') as arrival: arrival.write('x')\n    open('to-second').read()\n",
        encoding="utf-8",
    )
    process = start(place)
    arrivals = os.open(place / "to-first", os.O_RDWR)
    arrived = b""
    while len(arrived) < 2:
        arrived += os.read(arrivals, 2)
    os.close(arrivals)
    pids = [int(path.name.removeprefix("pid-")) for path in place.glob("pid-*")]
    deaths = [os.pidfd_open(pid) for pid in pids]
    process.send_signal(how)
    process.communicate(timeout=60)
    for death in deaths:
        assert select.select([death], [], [], 60)[0], "a worker is left"
        os.close(death)
