r"""The one place where text that came from a test becomes part of a report, and loses every power there.

Nothing here deletes: what cannot stand as it is becomes visible (`\x1b`, `\u202e`), and what is too long ends in how
long it was.
"""

from __future__ import annotations

import re

NAME_LIMIT = 200
MESSAGE_LIMIT = 300
BLOCK_LINES = 80
BLOCK_LIMIT = 12_000

_BACKTICKS = re.compile(r"`{6,}")
_COMMAND = re.compile(r"^(\s*):(?=:)")
_PLAIN = re.compile(r"(?!\d+[.)](?!\w))[A-Za-z0-9][\w ,.;:()'\"%/+=?-]*", re.ASCII)
_LINKING = re.compile(
    r"://|www\.|mailto:|xmpp:"  # autolinks
    r"|\bgh-\d|(?-i:\b[A-Z]{2,}-\d)|\b[0-9a-f]{7,40}\b"  # issues (GH-1, prefixes of a repository's own), commits
    r"|(?<!\w):[\w+-]+:(?!\w)"  # emoji names
    r"|  ",  # runs of spaces would collapse
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """Text on one line in which every character can be seen.

    Control, bidi, zero-width and private characters, lone surrogates and odd spaces become Python escapes; a line break
    becomes `⏎`. `##[` is broken up, because the runner of GitHub Actions obeys it anywhere in a line.
    """
    if not text.isprintable():
        text = "".join(_seen(character) for character in text.replace("\r\n", "\n"))
    return text.replace("##[", "# #[")


def line(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """One bounded, visible line, safe to print into a log: it starts no workflow command."""
    return _harmless(_fit(text, limit))


def first_line(text: str | None, limit: int = MESSAGE_LIMIT) -> str:
    """The first line that says something, bounded and visible; empty when there is none."""
    for candidate in (text or "")[: 10 * limit].splitlines():
        if candidate.strip():
            return line(candidate.strip(), limit)
    return ""


def block(text: str, *, lines: int = BLOCK_LINES, limit: int = BLOCK_LIMIT) -> str:
    """Several visible lines, bounded: of a text that is too long the start and the end, where stacks say most."""
    if len(text) > limit:
        text = f"{text[: limit // 2]}\n… {len(text) - limit:,} characters left out …\n{text[-(limit - limit // 2) :]}"
    rows = text.expandtabs(4).replace("\r\n", "\n").split("\n")
    if len(rows) > lines:
        head = lines // 2
        rows = [*rows[:head], f"… {len(rows) - lines} lines left out …", *rows[-(lines - head) :]]
    return "\n".join(_harmless(visible(row)).rstrip() for row in rows)


def code(text: str, limit: int = NAME_LIMIT) -> str:
    """A Markdown code span, for running text and lists: in it GitHub finds no mention, link or tag."""
    shown = _BACKTICKS.sub(lambda run: f"\\u0060*{len(run[0])}", _fit(text, limit))
    if not shown.strip():
        return "(empty)"
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def code_in_table(text: str, limit: int = NAME_LIMIT) -> str:
    """A code span for a table's cell. A bar after a backslash cannot be written there: it becomes a broken bar."""
    return re.sub(r"(?<!\\)\|", r"\\|", re.sub(r"\\\|", "\\\\¦", code(text, limit)))


def prose(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Text in words where it is words and nothing else, and a code span where it could be more."""
    if _is_plain(text) and len(text) <= limit:
        return text.replace("_", r"\_")
    return code(text, limit)


def prose_in_table(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """As `prose`, for a table's cell."""
    return prose(text, limit) if _is_plain(text) and len(text) <= limit else code_in_table(text, limit)


def fenced(text: str, *, lines: int = BLOCK_LINES, limit: int = BLOCK_LIMIT) -> str:
    """A fenced Markdown block that its content cannot close."""
    content = block(text, lines=lines, limit=limit)
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{content}\n{fence}"


def _harmless(row: str) -> str:
    """A line that begins no workflow command."""
    return _COMMAND.sub(r"\1: ", row) if "::" in row else row


def _fit(text: str, limit: int) -> str:
    """Visible text of at most `limit` characters; what is longer ends in how long it was."""
    shown = visible(text[:limit])
    if len(text) <= limit and len(shown) <= limit:
        return shown
    return f"{shown[:limit]}… (of {len(text):,} characters)"


def _is_plain(text: str) -> bool:
    return text.isprintable() and _PLAIN.fullmatch(text) is not None and _LINKING.search(text) is None


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    if character == "\n":
        return "⏎"
    if character in "\t\u00a0":
        return " "
    number = ord(character)
    if number <= 0xFF:  # noqa: PLR2004 - what fits two hexadecimal digits
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - what fits four
