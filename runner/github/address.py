"""Addresses in a comment: a link where one is plainly an address, words where it is not."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~%/+@=#-]*)?")


def link(words: str, address: str) -> str:
    """A link of ours; words alone where the address is not plainly one. `words` are Markdown."""
    return f"[{words}]({address})" if _ADDRESS.fullmatch(address) else words
