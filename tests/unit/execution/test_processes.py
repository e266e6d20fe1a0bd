"""Only processes of one worker are ever ended."""

from __future__ import annotations

import subprocess
import sys

import pytest

from runner.execution.processes import adopting_orphans, end_leftovers, require_one_worker

MARK = "TRITON_COMPAT_TEST=0123456789abcdef"
DAEMON = """
import os
if os.fork():
    os._exit(0)
os.setsid()
print(os.getpid(), flush=True)
os.execlp("sleep", "sleep", "600")
"""


# The check alone is called here: were it broken, `end_leftovers` itself would end the processes of others.
@pytest.mark.parametrize(
    ("leader", "mark"), [(0, MARK.encode()), (1, MARK.encode()), (-5, MARK.encode()), (None, b""), (None, b"TOKEN=")]
)
def test_what_could_fit_processes_of_others_is_refused(leader: int | None, mark: bytes) -> None:
    with pytest.raises(ValueError, match=r"no worker has the pid|does not tell one worker's processes"):
        require_one_worker(leader, mark)


def test_a_daemon_is_found_by_its_mark_and_a_bystander_is_left_alone() -> None:
    name, value = MARK.split("=")
    with subprocess.Popen(["sleep", "600"]) as bystander, adopting_orphans():
        with subprocess.Popen([sys.executable, "-c", DAEMON], env={name: value}, stdout=subprocess.PIPE) as starter:
            assert starter.stdout is not None
            daemon = int(starter.stdout.readline())
        assert daemon in end_leftovers(None, MARK.encode())
        assert end_leftovers(None, MARK.encode()) == []
        assert bystander.poll() is None
        bystander.kill()
