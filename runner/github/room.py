"""As much Markdown as there is room for: the most important parts first, cut between items, with what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_NOTE = 400
"""Bytes kept free for the sentence that says what is missing, besides its address."""


@dataclass(frozen=True)
class Part:
    """A part of a text that stays valid Markdown when its last items are left out.

    Attributes:
        name: plural noun for its items, as in "12 findings".
        head: before the items; empty for none.
        items: what can be left out, the most important first.
        tail: after the items; empty for none.
        joint: between two items: a line break, or two where each item is a block.
        rank: 0 is placed first. The order in the text is that of the sequence, whatever the ranks are.
        more: stands after items of which some were left out, with `{count}` and `{name}`; it must be valid there.
    """

    name: str
    head: str
    items: tuple[str, ...] = ()
    tail: str = ""
    joint: str = "\n"
    rank: int = 0
    more: str = "\n\n{count} more {name} are not shown."

    def shown(self, count: int) -> str:
        """The part with its first `count` items."""
        missing = len(self.items) - count
        items = self.joint.join(self.items[:count])
        more = self.more.format(count=missing, name=self.name) if missing else ""
        head = self.head + (self.joint if self.head and items else "")
        return head + items + more + (self.joint + self.tail if self.tail else "")


def fit(parts: Sequence[Part], budget: int, elsewhere: str) -> str:
    """The parts one after the other, in at most `budget` bytes of UTF-8 (and so at most as many characters).

    Args:
        parts: in the order of the text.
        budget: bytes.
        elsewhere: Markdown that says where everything is, for the sentence on what is missing.
    """
    left = budget - _NOTE - size(elsewhere)
    chosen: dict[int, str] = {}
    missing: dict[int, str] = {}
    for index, part in sorted(enumerate(parts), key=lambda pair: (pair[1].rank, pair[0])):
        count = _how_many(part, left - 2)
        if count is None:
            missing[index] = f"{max(1, len(part.items))} {part.name}"
            continue
        chosen[index] = part.shown(count)
        left -= size(chosen[index]) + 2
        if count < len(part.items):
            missing[index] = f"{len(part.items) - count} {part.name}"
    texts = [chosen[index] for index in sorted(chosen)]
    if missing:
        said = ", ".join(missing[index] for index in sorted(missing))
        texts.append(f"Left out for want of room: {said}. {elsewhere}")
    return "\n\n".join(texts) + "\n"


def size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text.encode("utf-8", "backslashreplace"))


def _how_many(part: Part, room: int) -> int | None:
    """How many items fit, or None when the part is not worth its head."""
    if size(part.shown(len(part.items))) <= room:
        return len(part.items)
    used, count = size(part.shown(0)) + size(part.joint), 0
    for item in part.items:
        used += size(item) + size(part.joint)
        if used > room:
            break
        count += 1
    return count or None
