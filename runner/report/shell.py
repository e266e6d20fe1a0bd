"""Words and comments of shell scripts, made from text that may come from a test."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from runner.report.escape import line

_SPELT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def word(text: str) -> str:
    """One word that bash reads as exactly this text, on one line and with every character visible.

    Text that is not printable ASCII becomes `$'...'` with escapes, so that no terminal or editor obeys it.
    """
    if text.isascii() and text.isprintable():
        return shlex.quote(text)
    raw = "".join(_spell(character) for character in text)
    return f"$'{raw}'"


def _spell(character: str) -> str:
    if character in _SPELT:
        return _SPELT[character]
    if character.isascii() and character.isprintable():
        return character
    return "".join(
        f"\\x{byte:02x}"
        for byte in character.encode("utf-8", "surrogateescape" if _is_raw(character) else "surrogatepass")
    )


def _is_raw(character: str) -> bool:
    """A byte of a file name that is no UTF-8, as Python keeps it."""
    return 0xDC80 <= ord(character) <= 0xDCFF  # noqa: PLR2004 - the range of surrogateescape


def command(words: Iterable[str], env: Mapping[str, str] | None = None) -> str:
    """One command line, with its variables in front."""
    settings = [f"{name}={word(value)}" for name, value in sorted((env or {}).items()) if _NAME.fullmatch(name)]
    return " ".join([*settings, *map(word, words)])


def comment(text: str, limit: int = 300) -> str:
    """One line of comment that cannot become a command."""
    return f"# {line(text, limit)}"
