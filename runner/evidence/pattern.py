"""Patterns of signatures: regular expressions whose time is bounded at each place of a log, whatever stands there."""

from __future__ import annotations

import re
from re import _constants as words  # type: ignore[attr-defined] # the tree that re itself compiles; nothing public has it
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

MOST_STEPS = 25_000
"""Most steps that a pattern may need at one place of a log."""
MOST_REPEATS = 500
"""Highest upper bound of a repeat."""
_REPEATS = (words.MAX_REPEAT, words.MIN_REPEAT, words.POSSESSIVE_REPEAT)
_LOOKS = (words.ASSERT, words.ASSERT_NOT)
_BACK = (words.GROUPREF, words.GROUPREF_EXISTS)


class _RefusedError(Exception):
    """Why a pattern cannot be used."""


class _Work(NamedTuple):
    """What a part of a pattern can take at one place, at most.

    Attributes:
        ways: in how many ways it can match; what follows is tried after each of them.
        steps: characters and conditions that are looked at until all ways were tried.
    """

    ways: int
    steps: int


def compile_pattern(text: str, most_steps: int = MOST_STEPS) -> re.Pattern[str]:
    """A pattern that can be used on a text that somebody else wrote.

    Raises:
        ValueError: it is no regular expression, or its time has no small bound, or it fits the empty text.
    """
    try:
        compiled = re.compile(text, re.MULTILINE)
        trouble = endless(text, most_steps)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    except RecursionError as error:
        raise ValueError("cannot be used: its groups stand too deep in each other") from error
    except (OverflowError, ValueError) as error:  # a number in braces that re, or int, does not take
        raise ValueError(f"is not a regular expression: {error}") from error
    if trouble is None and compiled.match(""):
        trouble = "it matches the empty text, so it would match every log"
    if trouble:
        raise ValueError(f"cannot be used: {trouble}")
    return compiled


def endless(text: str, most_steps: int = MOST_STEPS) -> str | None:
    """Why a pattern could take too long on a hostile log, or None.

    A search that goes back tries every way of each part with every way of what follows. Their number has a bound that
    the pattern alone gives, and where that is small, the time is linear in the length of the log, whatever it holds.

    Raises:
        re.error, OverflowError, ValueError, RecursionError: as `re.compile`.
    """
    try:
        steps = _sequence(parser.parse(text, re.MULTILINE)).steps
    except _RefusedError as refused:
        return str(refused)
    if steps > most_steps:
        return (
            f"it may take more than {most_steps:,} steps at each place of a log: the ways of repeats and alternatives "
            "that follow or hold each other multiply; make their bounds smaller, or split it (see `also`)"
        )
    return None


def _sequence(parts: Any) -> _Work:
    """One part after another."""
    work = _Work(1, 0)
    for operator, value in parts:
        ways, steps = _part(operator, value)
        work = _bounded(work.ways * ways, work.steps + work.ways * steps)
    return work


def _part(operator: Any, value: Any) -> _Work:
    if operator in _BACK:
        raise _RefusedError("it refers back to a group, which has no bound; write the text out")
    if operator in _REPEATS:
        return _repeat(*value)
    if operator is words.BRANCH:
        branches = [_sequence(branch) for branch in value[1]]
        return _bounded(sum(one.ways for one in branches), sum(1 + one.steps for one in branches))
    if operator is words.SUBPATTERN:
        return _sequence(value[-1])
    if operator in _LOOKS:
        return _Work(1, 1 + _sequence(value[1]).steps)  # it is left for good after its first way
    if operator is words.ATOMIC_GROUP:
        return _Work(1, _sequence(value).steps)
    return _Work(1, 1)


def _repeat(least: int, most: int, body: Any) -> _Work:
    """Each further turn is tried after every way of the turns before it."""
    if most > MOST_REPEATS:  # MAXREPEAT, which stands for no bound, is higher
        raise _RefusedError(
            f"a repeat without an upper bound of at most {MOST_REPEATS}; write {{0,300}} in place of * or +"
        )
    once, turns, work = _sequence(body), 1, _Work(0, 1)
    for turn in range(most + 1):
        work = _bounded(work.ways + turns * (turn >= least), work.steps + turns * (1 + once.steps) * (turn < most))
        turns = min(turns * once.ways, _CEILING)
    return work


_CEILING = 10**9
"""Where counting stops: far above every bound, so that the numbers stay small."""


def _bounded(ways: int, steps: int) -> _Work:
    return _Work(min(ways, _CEILING), min(steps, _CEILING))
