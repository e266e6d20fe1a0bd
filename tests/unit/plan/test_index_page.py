from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.plan.index_page import CachedPage, IndexFile, IndexPage, PageCache

FILE = IndexFile("t-1-py3-none-any.whl", "https://files.invalid/t", "ab" * 32, 5, ">=3.9", None, False)
PAGE = IndexPage("t", (FILE, replace(FILE, filename="t-0.9.tar.gz"), replace(FILE, filename="t-nonsense.exe")))


def test_releases_are_oldest_first_and_without_names_that_make_no_sense() -> None:
    assert [str(version) for version in PAGE.releases] == ["0.9", "1"]


@pytest.mark.parametrize(
    "change",
    [
        replace(FILE, yanked=""),
        replace(FILE, yanked="broken"),
        replace(FILE, sha256="cd" * 32),
        replace(FILE, requires_python=None),
        replace(FILE, filename="t-2.tar.gz"),
    ],
)
def test_the_content_hash_changes_with_what_matters(change: IndexFile) -> None:
    changed = IndexPage("t", (change, *PAGE.files[1:]))
    assert changed.content_hash != PAGE.content_hash


def test_the_content_hash_ignores_order_and_mirrors() -> None:
    elsewhere = tuple(replace(file, url="https://mirror.invalid/t") for file in reversed(PAGE.files))
    assert IndexPage("t", elsewhere).content_hash == PAGE.content_hash


def test_a_cached_page_comes_back_whole(tmp_path: Path) -> None:
    cached = CachedPage(PAGE, fetched_at=12.5, etag='"e"', last_modified=None)
    PageCache(tmp_path, "https://a.invalid").write("t", cached)
    assert PageCache(tmp_path, "https://a.invalid").read("t") == cached
    assert cached.conditions == {"If-None-Match": '"e"'}


def test_pages_of_two_indexes_never_mix(tmp_path: Path) -> None:
    PageCache(tmp_path, "https://a.invalid").write("t", CachedPage(PAGE, 1.0))
    assert PageCache(tmp_path, "https://b.invalid").read("t") is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"page": {"project": "t", "files": [{}]}}', b"\xff\xfe"])
def test_a_damaged_page_is_as_good_as_absent(tmp_path: Path, damage: bytes) -> None:
    cache = PageCache(tmp_path, "https://a.invalid")
    cache.write("t", CachedPage(PAGE, 1.0))
    (path,) = tmp_path.rglob("t.json")
    path.write_bytes(damage)
    assert cache.read("t") is None
