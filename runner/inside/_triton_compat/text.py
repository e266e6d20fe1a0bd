"""Text that comes from tests is hostile: it is bounded here, before it costs anything, and made printable."""

from __future__ import annotations

import hashlib

MESSAGE_CHARS = 4_000
STACK_CHARS = 20_000
OUTPUT_CHARS = 8_000
ID_CHARS = 1_000


def bound(text: str, limit: int) -> str:
    """Keep head and tail of a long text and say how much was left out between them."""
    if len(text) <= limit:
        return _encodable(text)
    head = limit // 3
    tail = limit - head
    return _encodable(f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[-tail:]}")


def clean_id(text: str) -> str:
    """A test's name as one printable line, the same in every process; a very long one ends in a digest of the whole."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escaped(char) for char in text)
    if len(text) > ID_CHARS:
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        text = f"{text[: ID_CHARS - 16]}...{digest}"
    return text


def number_duplicates(ids: list[str]) -> list[str]:
    """Give the second test of the same name `#2`, the third `#3`, skipping names that are taken already."""
    taken = set(ids)
    if len(taken) == len(ids):
        return ids
    seen: dict[str, int] = {}
    unique = []
    for name in ids:
        count = seen.get(name, 0) + 1
        new = name
        while count > 1 and (new := f"{name}#{count}") in taken:
            count += 1
        seen[name] = count
        taken.add(new)
        unique.append(new)
    return unique


def _encodable(text: str) -> str:
    """Lone surrogates become escapes: JSON files and terminals cannot hold them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
