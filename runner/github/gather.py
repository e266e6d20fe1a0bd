"""Results that jobs on other machines left, brought into one output folder: the newest attempt of each cell counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from runner.errors import DocumentError
from runner.github.documents import MOST_BYTES, MOST_BYTES_IN_ALL, read_file
from runner.model.document import write_whole
from runner.model.plan import Plan

_ATTEMPT = re.compile(r".*-attempt(?P<number>[1-9][0-9]{0,5})")
_FILES = ("contrasts.json", "journal.jsonl", "log.txt", "junit.xml", "races.json", "result.json")
"""What is taken of a cell, the result last: without it the cell has none."""


def gather(plan: Plan, downloads: Path, out: Path) -> tuple[str, ...]:
    """Copy the files of each planned cell out of downloaded artifacts.

    Args:
        plan: its cells are looked for; everything else is left where it is.
        downloads: one folder for each artifact, called `...-attempt<N>`, with `<cell id>/result.json` in it.
        out: the output folder.

    Returns:
        One sentence for each file that is there and was not taken.

    Raises:
        DocumentError: the artifacts are too large together.
    """
    remarks: list[str] = []
    left = MOST_BYTES_IN_ALL
    artifacts = sorted(_artifacts(downloads), reverse=True)
    for cell in plan.cells:
        name = cell.key.id
        newest = next((path for _, path in artifacts if (path / name / "result.json").is_file()), None)
        for file in _FILES if newest else ():
            path = Path(name) / file
            if newest is None or not (newest / path).exists():
                continue
            try:
                content = read_file(newest, path, min(left, MOST_BYTES))
            except (OSError, DocumentError) as error:
                remarks.append(f"{newest.name}/{path} was not taken: {getattr(error, 'message', error)}")
                continue
            left -= len(content)
            write_whole(out / "cells" / path, content.decode("utf-8", "replace"))
    return tuple(remarks)


def _artifacts(downloads: Path) -> Iterator[tuple[int, Path]]:
    for path in downloads.iterdir() if downloads.is_dir() else ():
        match = _ATTEMPT.fullmatch(path.name)
        if match and path.is_dir() and not path.is_symlink():
            yield int(match["number"]), path
