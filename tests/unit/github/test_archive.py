"""An archive that a stranger packed: nothing leaves its folder, and nothing grows beyond its bounds."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from pathlib import Path

import pytest

from runner.errors import DocumentError
from runner.github import archive
from runner.github.archive import MOST_FILES, unpack
from tests.github_server.packing import pack_link, pack_texts, understated

GOOD = [("plan.json", b"plan"), ("cells/a/result.json", b"result"), ("cells/a/log.txt", b"log")]


def unpacked(content: bytes, folder: Path) -> dict[str, bytes]:
    target = folder / "target"
    unpack(io.BytesIO(content), target, lambda name: not name.endswith(".txt"))
    return {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}


def test_the_wanted_files_are_written_and_no_other(tmp_path: Path) -> None:
    folders = [("cells/", b""), *GOOD]
    assert unpacked(pack_texts(folders), tmp_path) == {"plan.json": b"plan", "cells/a/result.json": b"result"}


@pytest.mark.parametrize(
    "name",
    ["../evil", "cells/../../evil", "/etc/evil", "a\\..\\evil", "C:evil", "c:/evil", "..", "plan.json/../../evil.txt"],
)
def test_a_path_that_leads_outside_condemns_the_archive(tmp_path: Path, name: str) -> None:
    with pytest.raises(DocumentError, match="outside of its folder"):
        unpacked(pack_texts([*GOOD, (name, b"evil")]), tmp_path)
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize("name", ["plan.json", "ignored.txt"])
def test_a_link_condemns_the_archive(tmp_path: Path, name: str) -> None:
    with pytest.raises(DocumentError, match="a link or a device"):
        unpacked(pack_link(name, "/etc/passwd"), tmp_path)


def test_one_name_twice_condemns_the_archive(tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"), pytest.raises(DocumentError, match="one file twice"):
        unpacked(pack_texts([*GOOD, GOOD[0]]), tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(tmp_path: Path, method: int) -> None:
    with pytest.raises(DocumentError, match="GitHub does not pack"):
        unpacked(pack_texts(GOOD, method=method), tmp_path)


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_torn_archive_is_named_as_one(tmp_path: Path, cut: int) -> None:
    with pytest.raises(DocumentError, match="no whole zip archive"):
        unpacked(pack_texts(GOOD)[:-cut], tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"<html>", b"PK\x05\x06", b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DocumentError, match=r"no whole zip archive|more than"):
        unpacked(content, tmp_path)


def test_a_changed_byte_is_found_out(tmp_path: Path) -> None:
    content = bytearray(pack_texts(GOOD, method=zipfile.ZIP_STORED))
    content[content.index(b"plan", content.index(b"plan.json") + 9)] ^= 1
    with pytest.raises(DocumentError, match="no whole zip archive"):
        unpacked(bytes(content), tmp_path)


def test_a_bomb_stops_at_the_bound_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 2**21)
    with pytest.raises(DocumentError, match="more than 2,097,152 bytes"):
        unpacked(pack_texts([("plan.json", bytes(2**24))]), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 2**21


def test_many_files_stop_at_the_bound_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES_IN_ALL", 2**20)
    with pytest.raises(DocumentError, match="bytes"):
        unpacked(pack_texts((f"{number}", bytes(2**17)) for number in range(9)), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 2**20


def test_a_size_that_is_a_lie_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no whole zip archive"):
        unpacked(understated(pack_texts([("plan.json", bytes(2**20))]), 100), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 100


def test_a_list_of_too_many_files_is_not_even_read(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="more than 20,000 files"):
        unpacked(pack_texts((str(number), b"") for number in range(MOST_FILES + 1)), tmp_path)


@pytest.mark.parametrize("place", [10, 12])
def test_a_list_that_is_longer_than_it_says_is_not_read_either(tmp_path: Path, place: int) -> None:
    """The number of files and the length of their list are two places, and either can lie alone."""
    content = bytearray(pack_texts((str(number), b"") for number in range(MOST_FILES + 1)))
    end = content.rindex(b"PK\x05\x06")
    struct.pack_into("<H" if place == 10 else "<L", content, end + place, 1)
    with pytest.raises(DocumentError):
        unpacked(bytes(content), tmp_path)


@pytest.mark.parametrize(
    ("before", "count", "length"),
    [(b"", MOST_FILES + 1, 0), (b"", 1, 2**30), (b"PK\x06\x07" + bytes(16), 1, 0)],
    ids=["files", "bytes", "larger kind"],
)
def test_the_end_alone_is_enough_to_refuse(tmp_path: Path, before: bytes, count: int, length: int) -> None:
    """What it speaks of is not there, so whoever looked for it would say so instead."""
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, length, 0, 0)
    with pytest.raises(DocumentError, match="more than 20,000 files"):
        unpacked(bytes(100) + before + end, tmp_path)


def test_an_archive_of_the_larger_kind_is_refused(tmp_path: Path) -> None:
    content = pack_texts((str(number), b"") for number in range(70_000))
    assert b"PK\x06\x07" in content
    with pytest.raises(DocumentError, match="more than 20,000 files"):
        unpacked(content, tmp_path)
