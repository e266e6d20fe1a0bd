"""The root of a failure: what makes two failures alike, whatever machine, test or checkout they come from."""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass, replace
from functools import cached_property

from runner.evidence.rulefile import built_in
from runner.evidence.signatures import Category, Rules, attempt_text, ends_of
from runner.evidence.trace import Frame, bounded, crashed_thread, frames, last_exception
from runner.model.result import Attempt
from runner.model.verdict import RACED
from runner.model.words import Outcome

_INNERMOST = 3
_MESSAGE = 200
_KEPT = 4096
"""Texts that are remembered at once; one text is at most a few ten thousand characters."""
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
_VARIABLE = (
    (re.compile(r"0x[0-9a-fA-F]{1,16}"), "0x?"),
    (re.compile(r"(?:/[\w.+@%~-]{1,100}){2,40}/?"), "<path>"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "<hash>"),
    (re.compile(r"\d{1,300}"), "0"),
    (re.compile(r"\s{1,300}"), " "),
)


@dataclass(frozen=True, order=True)
class RootKey:
    """What like failures have in common.

    Attributes:
        signature: id of the signature, or "" when the text is unexplained.
        exception: type of the exception, or "".
        death: how the process ended: `SIGSEGV`, `exit 1`, `timed_out`, or "" when it lived on.
        frames: innermost frames that tell failures apart, without lines and machines.
        message: without addresses, numbers and paths; "" where the signature says it all.
        raced: it was seen where several threads ran one test at once.
    """

    signature: str
    exception: str
    death: str
    frames: tuple[str, ...]
    message: str
    raced: bool = False

    @property
    def id(self) -> str:
        """Short, readable and stable: `autotuner-nargs-none-3f2a91c4`, with `race-` before it for what was raced."""
        return f"{RACED}{self.failure}" if self.raced else self.failure

    @cached_property
    def failure(self) -> str:
        """The same wherever it was seen: `autotuner-nargs-none-3f2a91c4`."""
        text = "\0".join((self.signature, self.exception, self.death, *self.frames, self.message))
        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
        word = self.signature or self.exception or self.death or "failure"
        return f"{re.sub(r'[^a-z0-9]+', '-', word.lower()).strip('-')[:40]}-{digest}"


def fingerprint(attempt: Attempt, rules: Rules | None = None) -> RootKey:
    """The root of an attempt that went wrong.

    Two attempts with the same root have the same signature, exception, end and innermost frame. For a known signature
    only files of Triton tell roots apart: the test that ran into it is not part of it.
    """
    return Roots(rules or built_in()).of(attempt)


class Roots:
    """Roots of many attempts; equal texts, as 500 tests with one root leave them, are read once.

    Args:
        rules: signatures.
        raced: see `RootKey`.
    """

    def __init__(self, rules: Rules, *, raced: bool = False) -> None:
        self._rules, self._raced = rules, raced
        self._known: dict[tuple[str | None, ...], RootKey] = {}

    def of(self, attempt: Attempt) -> RootKey:
        """See `fingerprint`."""
        ends = ends_of(attempt)
        key = (attempt.stack, attempt.message, attempt.output, attempt.outcome.value, *ends)
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = replace(self._read(attempt, ends), raced=self._raced)
        return self._known[key]

    def _read(self, attempt: Attempt, ends: tuple[str, ...]) -> RootKey:
        text = bounded(attempt_text(attempt))
        match = self._rules.read(text, ends)
        signature, kind = (match.rule.id, normal(match.rule.kind(text))) if match else ("", "")
        stack = bounded(attempt.stack or "")
        if attempt.outcome in (Outcome.CRASHED, Outcome.TIMED_OUT) or attempt.signal is not None:
            return RootKey(
                signature, "", ends[0] if ends else "crashed", _labels(_died_in(crashed_thread(stack))), kind
            )
        exception, said = _exception(stack, bounded(attempt.message or ""))
        inner = _telling(frames(stack), known=bool(signature) or exception in _IMPORT_ERRORS)
        # A known race surfaces in one function of Triton's or in its neighbour; the file says enough.
        places = tuple(frame.file for frame in inner) if signature else _labels(inner)
        says_it_all = (
            match is not None and match.rule.categories[0] is not Category.API
        )  # which name went is told apart
        return RootKey(signature, exception, "", places, kind if says_it_all else normal(said))


def _exception(stack: str, message: str) -> tuple[str, str]:
    return last_exception(message) or last_exception(stack) or ("", message.strip().split("\n", 1)[0])


def _died_in(stack: list[Frame]) -> list[Frame]:
    """The innermost frames down to where the project called in, so that who called does not tell crashes apart."""
    inner = [frame for frame in stack if not frame.path.startswith("<frozen")]
    below = list(itertools.takewhile(lambda frame: frame.is_triton or frame.is_foreign, inner))
    return below[:_INNERMOST] or inner[:1]


def _telling(stack: list[Frame], *, known: bool) -> list[Frame]:
    """The innermost frame (the last one) inside Triton or, for unknown texts, inside the project."""
    inner = [frame for frame in stack if frame.is_triton or not (known or frame.is_foreign)]
    return inner[-1:]


def _labels(stack: list[Frame]) -> tuple[str, ...]:
    return tuple(frame.label for frame in stack)


def normal(message: str) -> str:
    """A message without what differs from run to run: addresses, paths, hashes, numbers."""
    line = message.strip().split("\n", 1)[0][:1000]
    for pattern, word in _VARIABLE:
        line = pattern.sub(word, line)
    return line[:_MESSAGE].strip()
