import base64
import hashlib
import os
from pathlib import Path

import pytest

from runner.environment.contents import STAMP, contents_of, damaged_distributions, difference


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lib" / "pkg").mkdir(parents=True)
    (tmp_path / "lib" / "pkg" / "__init__.py").write_text("x = 1\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/nowhere/python")
    return tmp_path


def test_nothing_changed(folder: Path) -> None:
    before = contents_of(folder)
    assert set(before) == {"lib/pkg/__init__.py", "bin/python"}
    assert difference(before, contents_of(folder)) is None


def test_bytecode_and_the_stamp_are_no_change(folder: Path) -> None:
    before = contents_of(folder)
    (folder / "lib" / "pkg" / "__pycache__").mkdir()
    (folder / "lib" / "pkg" / "__pycache__" / "a.pyc").write_text("")
    (folder / STAMP).write_text("{}")
    assert difference(before, contents_of(folder)) is None


def test_a_write_of_the_same_size_is_seen(folder: Path) -> None:
    before = contents_of(folder)
    file = folder / "lib" / "pkg" / "__init__.py"
    file.write_text("x = 2\n")
    os.utime(file, ns=(0, before["lib/pkg/__init__.py"][1] + 1))
    assert difference(before, contents_of(folder)) == "lib/pkg/__init__.py was written"


def test_new_and_gone_files_are_named_and_counted(folder: Path) -> None:
    before = contents_of(folder)
    (folder / "lib" / "evil.pth").write_text("")
    (folder / "bin" / "python").unlink()
    assert difference(before, contents_of(folder)) == "lib/evil.pth is new, and 1 more changes"


def wheel_files(site: Path, *, digest_of: bytes, content: bytes, later: bool) -> None:
    info = site / "demo-1.0.dist-info"
    info.mkdir()
    digest = base64.urlsafe_b64encode(hashlib.sha256(digest_of).digest()).rstrip(b"=").decode()
    (site / "demo.py").write_bytes(content)
    (info / "WHEEL").write_text("Wheel-Version: 1.0\n")
    (info / "RECORD").write_text(
        f"demo.py,sha256={digest},{len(digest_of)}\n../../bin/demo,sha256=x,1\ndemo-1.0.dist-info/RECORD,,\n"
    )
    os.utime(info / "WHEEL", ns=(0, 1_000))
    os.utime(site / "demo.py", ns=(0, 2_000 if later else 500))


def test_a_file_as_its_wheel_said_is_whole(tmp_path: Path) -> None:
    wheel_files(tmp_path, digest_of=b"x = 1", content=b"x = 1", later=True)
    assert damaged_distributions(tmp_path) == {}


def test_a_file_written_in_place_is_damage(tmp_path: Path) -> None:
    wheel_files(tmp_path, digest_of=b"x = 1", content=b"x = 2", later=True)
    assert damaged_distributions(tmp_path) == {"demo": "demo.py"}


def test_a_file_of_another_size_is_damage_whenever_it_was_written(tmp_path: Path) -> None:
    wheel_files(tmp_path, digest_of=b"x = 1", content=b"x = 22", later=False)
    assert damaged_distributions(tmp_path) == {"demo": "demo.py"}


def test_a_missing_file_is_damage(tmp_path: Path) -> None:
    wheel_files(tmp_path, digest_of=b"x = 1", content=b"x = 1", later=False)
    (tmp_path / "demo.py").unlink()
    assert damaged_distributions(tmp_path) == {"demo": "demo.py"}
