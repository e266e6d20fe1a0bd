"""Leases between real processes: exclusive, named, and free once their holder is killed."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.execution.leases import GpuLock, lock_folder

NOBODY = 65_534
UUID = "GPU-00000000-aaaa-bbbb-cccc-dddddddddddd"
HOLD = """
import sys
from pathlib import Path
from runner.execution.leases import GpuLock
lock = GpuLock(Path(sys.argv[1]), sys.argv[2])
print(lock.take("other-cell"), flush=True)
sys.stdin.read()
lock.close()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease until its input ends."""
    words = [sys.executable, "-c", HOLD, str(tmp_path), UUID]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


def test_a_lease_has_one_holder_and_says_who(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    with GpuLock(tmp_path, UUID) as lock:
        assert not lock.take("mine")
        assert lock.holder().pid == holder.pid
        assert str(lock.holder()).startswith(f"other-cell (process {holder.pid} of ")
    with GpuLock(tmp_path, UUID.replace("0000", "1111")) as another:
        assert another.take("mine")


def test_a_lease_that_is_given_back_is_free_and_clean(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.communicate("")
    with GpuLock(tmp_path, UUID) as lock:
        assert lock.take("mine")
        assert not lock.was_abandoned
    with GpuLock(tmp_path, UUID) as lock:
        assert lock.take("mine again")


def test_a_killed_holder_frees_its_lease_and_leaves_a_mark(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with GpuLock(tmp_path, UUID) as lock:
        assert lock.take("mine")
        assert lock.was_abandoned
        assert lock.holder().pid == os.getpid()


def test_one_that_does_not_get_it_leaves_the_mark_alone(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    waiting = GpuLock(tmp_path, UUID)
    assert not waiting.take("mine")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    waiting.close()
    with GpuLock(tmp_path, UUID) as lock:
        assert lock.take("mine")
        assert lock.was_abandoned


def test_every_user_may_lead_the_file_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        GpuLock(tmp_path, UUID).close()
    finally:
        os.umask(before)
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o666


def test_a_file_that_was_cleared_away_is_not_locked(tmp_path: Path) -> None:
    with GpuLock(tmp_path, UUID) as old:
        (file,) = tmp_path.iterdir()
        file.unlink()
        with GpuLock(tmp_path, UUID) as new:
            assert new.take("new")
            assert not old.take("old"), "both must lock the file that is there now"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_traps_in_the_shared_folder_are_refused(tmp_path: Path, kind: str) -> None:
    name = tmp_path / f"triton-compat-{UUID}.lock"
    if kind == "link":
        name.symlink_to(tmp_path / "precious")
    elif kind == "pipe":
        os.mkfifo(name)
    else:
        name.mkdir()
    with pytest.raises(OSError):
        GpuLock(tmp_path, UUID)
    assert not (tmp_path / "precious").exists()


def test_what_others_wrote_is_shown_harmlessly(tmp_path: Path) -> None:
    with GpuLock(tmp_path, UUID) as lock:
        (file,) = tmp_path.iterdir()
        for text in ("", "{", "[]", '{"pid": 1}', "\x1b[31m"):
            file.write_text(text)
            assert str(lock.holder()) == "? (process 0 of ?, since ?)"
        file.write_text('{"pid": 7, "user": "\\u001b[31mé", "cell": "%s", "since": "now"}' % ("x" * 500))
        shown = str(lock.holder())
        assert shown.isascii()
        assert shown.isprintable()
        assert len(shown) < 300


def test_the_folder_is_one_that_every_user_takes(tmp_path: Path) -> None:
    assert lock_folder({"TRITON_COMPAT_LOCKS": str(tmp_path)}) == tmp_path
    folder = lock_folder({})
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777


def take_as_nobody(folder: Path) -> str:
    """What a process of another user finds when it takes the lease, and is killed before it gives it back."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            lock = GpuLock(folder, UUID)
            os.write(writing, f"{lock.take('theirs')} {lock.holder().cell}".encode())
        except BaseException as error:  # noqa: BLE001 - the parent shows it
            os.write(writing, repr(error).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as stream:
        return stream.read()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("first", ["mine", "theirs"])
def test_users_share_the_leases(first: str) -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)  # open to all and sticky, as /run/lock is
    try:
        if first == "theirs":
            assert take_as_nobody(folder) == "True theirs"
        with GpuLock(folder, UUID) as lock:
            assert lock.take("mine")
            assert lock.was_abandoned is (first == "theirs")
            assert take_as_nobody(folder) == "False mine"
        assert take_as_nobody(folder) == "True theirs"
    finally:
        shutil.rmtree(folder)
