"""How the slow parts say what they do: one plain line at a time, to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str], None]
"""Takes one line of plain text, without a line feed."""


def silent(_line: str) -> None:
    """A progress that nobody reads."""
