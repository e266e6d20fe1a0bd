"""Signatures: known texts that hint at a cause. A lead that orders experiments, never a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from runner.evidence.trace import bounded, crash_start, importer_of_crash, without_source
from runner.model.result import Attempt
from runner.model.words import Cause, Outcome

WINDOW = 20_000
"""Characters before and after a pattern's place in which a rule's `also` patterns must be found."""
QUOTED = 300
"""Most characters of a log that are quoted."""


class Category(StrEnum):
    """What a signature usually means."""

    THREAD_SAFETY = "thread-safety"
    COMPILER = "compiler"
    TOOLCHAIN = "toolchain"
    DRIVER = "driver"
    ENVIRONMENT = "environment"
    ABI = "abi"
    API = "api"
    RESOURCE = "resource"
    PROJECT = "project"
    INFRA = "infra"

    @property
    def cause(self) -> Cause:
        """The cause that the lead points to."""
        return _CAUSES.get(self) or Cause(self.value)


_CAUSES = {Category.ABI: Cause.PYTHON_ABI, Category.API: Cause.TRITON_VERSION}


@dataclass(frozen=True)
class Rule:
    """One signature.

    Attributes:
        id: stable slug.
        categories: what it usually means, the most usual first.
        meaning, sources, versions, next_step: for people; `next_step` is something that a person can do.
        patterns: any of them makes a match; the earliest place counts.
        also: all of them must be found near that place.
        without: none of them may be found in the text.
        crash_below: the process died while an extension module was made, and the importing file's path fits this.
        apart: what tells failures with this signature apart, the first group of the first of them that fits anywhere in
            the text; without it they all are one root.
        death: ends of an attempt that make a match where no text does: an outcome (`timed_out`), a signal
            (`SIGKILL`), or an exit status (`exit 137`).
        states: the text itself states the fact (a compiler that is not there, numbers over a limit), so that the
            cause is likely without an experiment.
        sticky: the process is lost for CUDA after it; what follows in that process is secondary.
        mark: it marks a cell and is never the root of a failure.
    """

    id: str
    categories: tuple[Category, ...]
    meaning: str
    next_step: str
    sources: tuple[str, ...] = ()
    versions: str = ""
    patterns: tuple[re.Pattern[str], ...] = ()
    also: tuple[re.Pattern[str], ...] = ()
    without: tuple[re.Pattern[str], ...] = ()
    crash_below: re.Pattern[str] | None = None
    apart: tuple[re.Pattern[str], ...] = ()
    death: tuple[str, ...] = ()
    states: bool = False
    sticky: bool = False
    mark: bool = False

    def kind(self, text: str) -> str:
        """What tells this failure apart from others with the signature; "" when nothing does."""
        matches = (pattern.search(text) for pattern in self.apart)
        return next((match[1] for match in matches if match), "")

    def place(self, text: str, importer: str | None, said: str | None = None) -> int | None:
        """Where in the text the rule fits first, or None; `said` is the text with shown source made blank."""
        if self.crash_below is not None:
            return crash_start(text) or 0 if importer is not None and self.crash_below.search(importer) else None
        matches = (pattern.search(text if said is None else said) for pattern in self.patterns)
        place = min((match.start() for match in matches if match), default=None)
        if place is None or any(pattern.search(text) for pattern in self.without):
            return None
        near = text[max(0, place - WINDOW) : place + WINDOW] if self.also else ""
        return place if all(pattern.search(near) for pattern in self.also) else None


@dataclass(frozen=True)
class Match:
    """A signature that was seen.

    Attributes:
        rule: which.
        line: 1-based, in the text as it was given (bounded); 0 when the way the process ended was the sign.
        quote: that line, bounded.
    """

    rule: Rule
    line: int
    quote: str


@dataclass(frozen=True)
class Rules:
    """An ordered set of signatures."""

    rules: tuple[Rule, ...]

    def __add__(self, more: Iterable[Rule]) -> Rules:
        """These rules after `more`: what a user adds goes first, and replaces a rule of the same id."""
        first = tuple(more)
        replaced = {rule.id for rule in first}
        return Rules(first + tuple(rule for rule in self.rules if rule.id not in replaced))

    def __getitem__(self, rule_id: str) -> Rule:
        """The rule with that id; KeyError when there is none."""
        for rule in self.rules:
            if rule.id == rule_id:
                return rule
        raise KeyError(rule_id)

    def get(self, rule_id: str | None) -> Rule | None:
        """The rule with that id, or None."""
        return next((rule for rule in self.rules if rule.id == rule_id), None)

    def read(self, text: str, ends: Iterable[str] = ()) -> Match | None:
        """The first root in a text: the signature that stands first in it; None when no rule fits.

        Args:
            text: a traceback, crash dump or log of any length (see `trace.MAX_TEXT`).
            ends: how the attempt ended, in the words of `Rule.death`.
        """
        text = bounded(text)
        importer, said = importer_of_crash(text), without_source(text)
        best: tuple[int, Rule] | None = None
        for rule in self.rules:
            place = None if rule.mark else rule.place(text, importer, said)
            if place is not None and (best is None or place < best[0]):
                best = place, rule
        if best is not None:
            return _match(best[1], text, best[0])
        words = frozenset(ends)
        dead = next((rule for rule in self.rules if words.intersection(rule.death) and not _excluded(rule, text)), None)
        return Match(dead, 0, "") if dead else None

    def read_attempt(self, attempt: Attempt) -> Match | None:
        """The signature of an attempt that went wrong; None when it is unexplained."""
        return self.read(attempt_text(attempt), ends_of(attempt))

    def marks(self, text: str) -> tuple[Match, ...]:
        """What marks a cell without being a failure, in the order of the rules."""
        text = bounded(text)
        places = ((rule, rule.place(text, None)) for rule in self.rules if rule.mark)
        return tuple(_match(rule, text, place) for rule, place in places if place is not None)


def _excluded(rule: Rule, text: str) -> bool:
    return any(pattern.search(text) for pattern in rule.without)


def _match(rule: Rule, text: str, place: int) -> Match:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[max(start, place - QUOTED // 2) : end if end >= 0 else len(text)]
    return Match(rule, text.count("\n", 0, place) + 1, line[:QUOTED].strip())


def attempt_text(attempt: Attempt) -> str:
    """Everything an attempt left, what was printed first at the end: the stack names the root before the output."""
    return "\n".join(part for part in (attempt.stack, attempt.message, attempt.output) if part)


def ends_of(attempt: Attempt) -> tuple[str, ...]:
    """How an attempt ended, in the words of `Rule.death`."""
    ends = [attempt.outcome.value] if attempt.outcome is Outcome.TIMED_OUT else []
    if attempt.signal:
        ends.append(attempt.signal)
    if attempt.exit_code is not None:
        ends.append(f"exit {attempt.exit_code}")
    return tuple(ends)
