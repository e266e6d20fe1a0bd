"""Mistakes of a matrix file: each with its place, all of them in one error, and the word that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SHOWN_CHARACTERS = 60
SHOWN_PROBLEMS = 100


@dataclass(frozen=True, order=True)
class Place:
    """A place in the matrix file; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake, as a sentence without its full stop."""

    place: Place
    sentence: str


def listing(problems: Iterable[Problem], file: str) -> str:
    """All problems, one a line, in the order of the file: `file:line:column: what is wrong`.

    An anchor that is used twice makes the same mistake twice; it is said once.
    """
    distinct = sorted(set(problems))
    lines = [f"{file}:{p.place.line}:{p.place.column}: {p.sentence}" for p in distinct[:SHOWN_PROBLEMS]]
    if len(distinct) > SHOWN_PROBLEMS:
        lines.append(f"{file}: and {len(distinct) - SHOWN_PROBLEMS} more")
    return "\n".join(lines)


def quoted(text: str) -> str:
    """Text of the user's for a sentence: in quotes, control characters escaped, bounded."""
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…")


def nearest(word: str, valid: Sequence[str]) -> str | None:
    """The valid word that was probably meant, or None when none is near."""
    by_lower = {candidate.lower(): str(candidate) for candidate in valid}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None


def suggestion(word: str, valid: Sequence[str]) -> str:
    """The end of a sentence about a wrong word: `; did you mean 'x'?`, or the words that there are."""
    near = nearest(word, valid)
    return f"; did you mean {near!r}?" if near else f"; valid here: {', '.join(valid)}"
