"""What the cell command decides by itself: which earlier work still counts."""

from __future__ import annotations

from pathlib import Path

from runner.commands.cell import _keep_for_this_environment


def test_a_journal_goes_on_in_the_environment_in_which_it_began(tmp_path: Path) -> None:
    _keep_for_this_environment(tmp_path, "one")
    (tmp_path / "journal.jsonl").write_text("{}\n")
    _keep_for_this_environment(tmp_path, "one")
    assert (tmp_path / "journal.jsonl").read_text() == "{}\n"


def test_a_journal_of_another_environment_or_of_an_unknown_one_is_void(tmp_path: Path) -> None:
    for begun_in in ("one", None):
        (tmp_path / "environment.txt").unlink(missing_ok=True)
        if begun_in is not None:
            (tmp_path / "environment.txt").write_text(begun_in)
        (tmp_path / "journal.jsonl").write_text("{}\n")
        _keep_for_this_environment(tmp_path, "other")
        assert not (tmp_path / "journal.jsonl").exists()
        assert (tmp_path / "environment.txt").read_text() == "other"
