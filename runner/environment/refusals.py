"""Slow refusals, remembered for a while: a network that drops packets would otherwise cost every cell a minute."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from runner.model.document import write_whole

SLOW_SECONDS = 8.0
_KEPT_SECONDS = 600.0


def remember(note: Path, reason: str, seconds: float) -> None:
    """Keep a refusal that took long. A quick one is asked for again, so that what was mended is seen at once."""
    if seconds >= SLOW_SECONDS:
        with contextlib.suppress(OSError):
            write_whole(note, reason)


def recall(note: Path) -> str | None:
    """A refusal of the last ten minutes, with how to have it tried again; None when there is none."""
    with contextlib.suppress(OSError):
        age = time.time() - note.stat().st_mtime
        if 0 <= age < _KEPT_SECONDS:
            reason = note.read_text(encoding="utf-8", errors="replace")
            return f"{reason} (tried {age / 60:.0f} minutes ago; to try again now remove {note})"
    return None
