"""Downloaded artifacts to one output folder: the newest attempt counts, and nothing gets out of its place."""

from __future__ import annotations

from pathlib import Path

from runner.github.gather import gather
from runner.model.words import Status
from tests.unit.github.conftest import make_matrix

PLAN = make_matrix([Status.PASS, Status.PASS]).plan


def put(downloads: Path, artifact: str, cell: str, text: str, file: str = "result.json") -> Path:
    path = downloads / artifact / cell / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_newest_attempt_of_each_cell_counts(tmp_path: Path) -> None:
    downloads, out = tmp_path / "downloads", tmp_path / "out"
    put(downloads, "triton-compat-sm90-a-attempt1", "cell-0", "old")
    put(downloads, "triton-compat-sm90-a-attempt1", "cell-1", "kept")
    put(downloads, "triton-compat-sm90-a-attempt2", "cell-0", "newer")
    put(downloads, "triton-compat-sm90-a-attempt10", "cell-0", "newest")
    put(downloads, "triton-compat-sm90-a-attempt10", "cell-0", "journal", "journal.jsonl")
    put(downloads, "triton-compat-sm90-a-attempt11", "cell-0", "a log without a result", "log.txt")
    assert gather(PLAN, downloads, out) == ()
    found = {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}
    assert found == {
        "cells/cell-0/journal.jsonl": "journal",
        "cells/cell-0/result.json": "newest",
        "cells/cell-1/result.json": "kept",
    }


def test_what_the_plan_does_not_name_stays_where_it_is(tmp_path: Path) -> None:
    downloads, out = tmp_path / "downloads", tmp_path / "out"
    put(downloads, "x-attempt1", "cell-9", "no cell")
    put(downloads, "x-attempt1", "cell-0", "no file of ours", "sitecustomize.py")
    put(downloads, "no attempt", "cell-0", "no attempt")
    assert gather(PLAN, downloads, out) == ()
    assert not out.exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    downloads, out = tmp_path / "downloads", tmp_path / "out"
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    put(downloads, "x-attempt1", "cell-0", "result")
    (downloads / "x-attempt1" / "cell-0" / "log.txt").symlink_to(secret)
    (downloads / "x-attempt1" / "cell-1").symlink_to(put(tmp_path, "elsewhere", "cell-1", "secret").parent)
    (downloads / "y-attempt2").symlink_to(downloads / "x-attempt1")
    remarks = gather(PLAN, downloads, out)
    assert [remark.partition(" was not taken")[0] for remark in remarks] == [
        "x-attempt1/cell-0/log.txt",
        "x-attempt1/cell-1/result.json",
    ]
    assert [path.read_text() for path in out.rglob("*") if path.is_file()] == ["result"]


def test_no_downloads_at_all_is_no_result(tmp_path: Path) -> None:
    assert gather(PLAN, tmp_path / "nothing", tmp_path / "out") == ()
