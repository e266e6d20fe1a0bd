"""Processes of others are never ended: those of another run, and those of session and group 0.

Everything happens in a process namespace of its own, so that a mistake could end nothing outside of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

# The first process of a namespace is led from outside of it: its session and its group, and those of what it starts,
# read as 0 there. This is how a container's main process sees itself.
SCRIPT = """
import json, os, signal, subprocess, sys
from runner.execution.processes import adopting_orphans, end_leftovers

NAME, MINE, OTHERS = "TRITON_COMPAT_CELL", "py3.12/0123456789abcdef", "py3.12/fedcba9876543210"

def begin(mark, *, session=False):
    variables = {} if mark is None else {NAME: mark}
    return subprocess.Popen(["/bin/sleep", "600"], env=variables, start_new_session=session)

def is_alive(process):
    return process.poll() is None

assert os.getsid(0) == os.getpgid(0) == 0, "not the first process of a namespace"
with adopting_orphans():
    spared = {
        "of session 0": begin(None),
        "of session 0 with the mark": begin(MINE),
        "of another run": begin(OTHERS, session=True),
    }
    ended = {"with the mark": begin(MINE, session=True)}
    worker = subprocess.Popen([sys.executable, "-c", ""], env={NAME: MINE}, start_new_session=True)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    end_leftovers(worker.pid, f"{NAME}={MINE}".encode())
    end_leftovers(None, f"{NAME}={MINE}".encode())
    alive = {name: is_alive(process) for name, process in (spared | ended).items()}
print(json.dumps(alive))
"""


def unshare() -> list[str]:
    """The command that starts another one as the first process of a namespace, as root or as anybody."""
    program = shutil.which("unshare")
    if program is not None:
        for how in ([], ["--user", "--map-root-user"]):
            words = [program, *how, "--pid", "--fork", "--kill-child", "--mount-proc"]
            if subprocess.run([*words, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
                return words
    pytest.skip("no process namespace can be made here")


def test_processes_of_session_0_and_of_other_runs_are_spared() -> None:
    words = [*unshare(), sys.executable, "-c", SCRIPT]
    run = subprocess.run(words, check=True, stdout=subprocess.PIPE, timeout=60)
    alive: dict[str, Any] = json.loads(run.stdout)
    assert alive == {
        "of session 0": True,
        "of session 0 with the mark": True,
        "of another run": True,
        "with the mark": False,
    }
