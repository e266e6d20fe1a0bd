import os, signal, subprocess, sys, time
import pytest

@pytest.mark.filterwarnings("ignore")
def test_shared():
    much = b"x" * 200_000_000
    children = []
    for _ in range(4):
        pid = os.fork()
        if not pid:
            signal.pause()
        children.append(pid)
    until = time.monotonic() + 0.5  # long enough to be looked at some times
    while time.monotonic() < until:
        pass
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert much

CHILD = "much = [b'x' * 20_000_000 for _ in range(40)]; import threading; threading.Event().wait()"
def test_takes_much():
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"
    subprocess.run([sys.executable, "-c", grandchild])

def test_after(): pass
