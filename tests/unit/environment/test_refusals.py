import os
from pathlib import Path

from runner.environment.refusals import SLOW_SECONDS, recall, remember


def test_a_slow_refusal_is_remembered_with_how_to_forget_it(tmp_path: Path) -> None:
    note = tmp_path / "refused" / "download-3.14t"
    remember(note, "no answer", SLOW_SECONDS)
    assert recall(note) == f"no answer (tried 0 minutes ago; to try again now remove {note})"


def test_a_quick_one_is_not(tmp_path: Path) -> None:
    remember(tmp_path / "note", "no such host", SLOW_SECONDS / 2)
    assert recall(tmp_path / "note") is None


def test_an_old_one_is_tried_again(tmp_path: Path) -> None:
    note = tmp_path / "note"
    remember(note, "no answer", 60.0)
    os.utime(note, (note.stat().st_mtime - 601,) * 2)
    assert recall(note) is None
