"""A zip archive unpacked as if a stranger had packed it: bounded, nothing outside of its folder, no links."""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from runner.errors import DocumentError
from runner.github.documents import MOST_BYTES, MOST_BYTES_IN_ALL
from runner.report.escape import line

MOST_FILES = 20_000
"""A report of 256 environments with everything that is kept of each has a tenth of them."""
_LONGEST_DIRECTORY = MOST_FILES * 512
"""Bytes of the archive's own list of its files, which has to be in memory as a whole."""
_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_LOCATOR = 20
_LONGEST_REMARK = 0xFFFF
_PLAIN_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""The others can ask for gigabytes of memory, and GitHub's artifacts use none of them."""
_ENCRYPTED = 0x1
_DRIVE = re.compile(r"[A-Za-z]:")
_CHUNK = 2**20


def unpack(archive: BinaryIO, target: Path, wanted: Callable[[str], bool]) -> None:
    """Write the wanted files of an archive below a folder.

    One entry that no honest packer makes condemns the whole archive, wanted or not.

    Args:
        archive: can be sought in.
        target: an empty folder.
        wanted: says of a name in the archive, such as `cells/x/result.json`, whether it is needed.

    Raises:
        DocumentError: it is damaged, too large, or would write where it must not. What is below `target` is of no use.
    """
    try:
        _check_directory(archive)
        with zipfile.ZipFile(archive) as opened:
            left = MOST_BYTES_IN_ALL
            for entry in _checked(opened.infolist()):
                if wanted(entry.filename):
                    left -= _write(opened, entry, target / entry.filename, min(left, MOST_BYTES))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise DocumentError(f"it is no whole zip archive ({line(str(error), 200)})") from error


def _check_directory(archive: BinaryIO) -> None:
    """Refuse a list of files that is too long, before it is read."""
    size = archive.seek(0, 2)
    archive.seek(max(0, size - _END.size - _LONGEST_REMARK))
    tail = archive.read()
    place = tail.rfind(_END_MARK)
    if place < 0 or len(tail) - place < _END.size:
        raise DocumentError("it is no whole zip archive (it has no end)")
    _, _, _, _, count, length, _, _ = _END.unpack_from(tail, place)
    # Before the record of an archive beyond 4 GiB or 65,535 files stands the place of a larger one, which counts.
    is_large = tail[max(0, place - _LOCATOR) : place].startswith(b"PK\x06\x07")
    if is_large or count > MOST_FILES or length > _LONGEST_DIRECTORY:
        raise DocumentError(f"it has more than {MOST_FILES:,} files")


def _checked(entries: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The plain files, once every entry is known to be harmless."""
    if len(entries) > MOST_FILES:
        raise DocumentError(f"it has more than {MOST_FILES:,} files")
    seen: set[str] = set()
    for entry in entries:
        name = entry.filename
        shown = line(name, 200)
        if not name or name.startswith("/") or "\\" in name or "\0" in name or _DRIVE.match(name):
            raise DocumentError(f"it would write outside of its folder ({shown})")
        if ".." in PurePosixPath(name).parts:
            raise DocumentError(f"it would write outside of its folder ({shown})")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
            raise DocumentError(f"it holds a link or a device ({shown})")
        if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _PLAIN_METHODS:
            raise DocumentError(f"it is packed in a way that GitHub does not pack ({shown})")
        if name in seen:
            raise DocumentError(f"it holds one file twice ({shown})")
        seen.add(name)
    return [entry for entry in entries if not entry.is_dir()]


def _write(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, limit: int) -> int:
    """Unpack one file of at most `limit` bytes, whatever the archive says of its size; how many it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with opened.open(entry) as source, path.open("xb") as stream:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > limit:
                raise DocumentError(f"{line(entry.filename, 200)} in it has more than {limit:,} bytes")
            stream.write(chunk)
    return written
