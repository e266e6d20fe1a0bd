"""What a caller may change about the way a cell is run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What a caller may change about the way a cell is run.

    Attributes:
        retry_suspects: run tests that crashed or hung once more, alone in a fresh process, as evidence.
        only: ids (as in results) of the tests to run, or None for all.
        files: files (as ids in results begin) that are collected, or None for all that the settings name.
    """

    retry_suspects: bool = True
    only: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
