"""What an environment's folder holds, so that a change by a test is seen before the environment is used again.

Installed files share inodes with uv's cache: what a test writes into one in place changes the cache, too, and every
environment that is made from it later. So an environment is also checked against the digests of its wheels.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

STAMP = "triton-compat.json"

Contents = dict[str, tuple[int, int]]
"""Path relative to the environment's folder, to size in bytes and time of last change in nanoseconds."""


def contents_of(folder: Path) -> Contents:
    """Every file and link below a folder but caches of bytecode and the stamp; links are not followed."""
    return dict(_walk(folder, ""))


def _walk(folder: Path, relative: str) -> Iterator[tuple[str, tuple[int, int]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = relative + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _walk(Path(entry.path), name + "/")
            elif name != STAMP:
                state = entry.stat(follow_symlinks=False)
                yield name, (state.st_size, state.st_mtime_ns)


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> str | None:
    """One clause that names the first changed path and counts the others; None when nothing changed."""
    changed = [
        *(f"{name} was written" for name in sorted(before.keys() & after.keys()) if before[name] != after[name]),
        *(f"{name} is new" for name in sorted(after.keys() - before.keys())),
        *(f"{name} is gone" for name in sorted(before.keys() - after.keys())),
    ]
    if not changed:
        return None
    return changed[0] + (f", and {len(changed) - 1} more changes" if len(changed) > 1 else "")


def damaged_distributions(site_packages: Path) -> dict[str, str]:
    """Distributions with a file that is not what its wheel said, each with the path of one such file.

    Sizes are compared for every file. Digests are computed only for files that were written later than their wheel was
    unpacked, which is seconds of work saved for each environment with torch in it.
    """
    damaged: dict[str, str] = {}
    for record in sorted(site_packages.glob("*.dist-info/RECORD")):
        if (path := _first_damage(record, site_packages)) is not None:
            damaged[record.parent.name.split("-")[0]] = path
    return damaged


def _first_damage(record: Path, site_packages: Path) -> str | None:
    wheel = record.with_name("WHEEL")
    unpacked = wheel.stat().st_mtime_ns if wheel.is_file() else 0
    with record.open(encoding="utf-8", newline="") as lines:
        for path, digest, size, *_ in csv.reader(lines):
            file = site_packages / path
            if not digest or not size or path.startswith(".."):
                continue
            try:
                state = file.stat()
            except OSError:
                return path
            if state.st_size != int(size) or (state.st_mtime_ns > unpacked and not _has_digest(file, digest)):
                return path
    return None


def _has_digest(file: Path, digest: str) -> bool:
    algorithm, _, expected = digest.partition("=")
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, algorithm).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode() == expected.rstrip("=")
