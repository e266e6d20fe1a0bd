"""Archives as GitHub's upload makes them, and as nobody honest does."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path


def pack(folder: Path) -> bytes:
    """Everything below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return pack_texts((str(path.relative_to(folder)), path.read_bytes()) for path in files)


def pack_texts(files: Iterable[tuple[str, bytes]], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Files by name, whatever the names are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return stream.getvalue()


def pack_link(name: str, target: str) -> bytes:
    """An archive that holds a symbolic link."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, target)
    return stream.getvalue()


def understated(archive: bytes, size: int) -> bytes:
    """The same archive of one file, with another unpacked size in its list of files."""
    place = archive.rindex(b"PK\x01\x02")
    return archive[: place + 24] + struct.pack("<L", size) + archive[place + 28 :]
