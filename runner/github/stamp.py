"""The marker of our comment: an HTML comment that says which matrix, which commit and which run it shows."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

_MARKER = re.compile(
    r"<!-- triton-compat of=(?P<of>[A-Za-z0-9._~%/@-]{1,400}) head=(?P<head>[0-9a-f]{40,64})"
    r" run=(?P<run>[1-9][0-9]{0,11}) attempt=(?P<attempt>[1-9][0-9]{0,5}) -->"
)
_LONGEST_NAME = 120


@dataclass(frozen=True)
class Stamp:
    """What one comment shows.

    Attributes:
        of: whose comment it is: matrix and workflow, made by `identity`. Run numbers count within a workflow.
        head: full hash of the commit that was tested.
        run: number of the workflow's run.
        attempt: of that run.
    """

    of: str
    head: str
    run: int
    attempt: int

    @classmethod
    def read(cls, body: str) -> Self | None:
        """The stamp of a comment, or None. It counts as the whole first line alone, where no foreign text can stand."""
        match = _MARKER.fullmatch(body.partition("\n")[0].rstrip("\r"))
        if match is None:
            return None
        return cls(match["of"], match["head"], int(match["run"]), int(match["attempt"]))

    def __str__(self) -> str:
        return f"<!-- triton-compat of={self.of} head={self.head} run={self.run} attempt={self.attempt} -->"

    @property
    def age(self) -> tuple[int, int]:
        """What orders the stamps of one comment: the greater is the newer."""
        return self.run, self.attempt


def identity(matrix: str, workflow: str) -> str:
    """`sm90@.github/workflows/kernels.yml`: the names, with everything but letters and digits made harmless.

    Args:
        matrix: the matrix's name; it may come from a fork.
        workflow: path of the workflow's file.
    """
    return f"{_harmless(matrix)}@{_harmless(workflow)}"


def _harmless(name: str) -> str:
    # "--" would end an HTML comment in the eyes of some parsers.
    text = quote(name.encode("utf-8", "replace"), safe="/").replace("-", "%2D") or "%20"
    if len(text) <= _LONGEST_NAME:
        return text
    return f"{text[:80].rstrip('%0123456789ABCDEF')}~{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:24]}"
