from __future__ import annotations

import html
import re
from collections.abc import Callable

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given
from hypothesis import strategies as st

from runner.report import escape

# GitHub turns these into links or pictures after Markdown, wherever they stand outside of code.
MENTIONS = re.compile(r"@\w|\w/[\w.-]+#\d|(?<!&)#\d|\bGH-\d|://|www\.|\b[0-9a-f]{7,40}\b|(?<!\w):\w+:", re.IGNORECASE)

PIECES = st.sampled_from(
    [
        *"`|\\<>&[]()!*_~#@:;$^{}'\"-=+. \t\n\r\x00\x1b\x7f\x85",
        *("``````", "```\n", "~~~", "</code>", "</details>", "<!--", "-->", "<img src=x onerror=alert(1)>", "<script>"),
        *("@octocat", "a@b.com", "https://evil.example", "www.evil.example", "[a](http://e.com)", "![a](b)", "[a]: /b"),
        *("org/repo#1", "#12", "GH-1", "deadbeef1234", ":smile:", "$x$", "&#64;octocat", "&lt;b&gt;", "mailto:a@b.c"),
        *("::error::x", "##[error]x", "\n::set-output name=a::b", "\u202e", "\u2066", "\u200b", "\ud800", "\ufeff"),
        *("\u2028", "\u0301", "a\\|b", "\\", "| --- |", "plain words", "1. one", "- [ ] task", "===", "\u00a0", "é"),
    ]
)
HOSTILE = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=12).map("".join))


def rendered(markdown: str) -> str:
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))


def outside_code(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<code.*?</code>", " ", page, flags=re.DOTALL)))


def tags(page: str) -> list[str]:
    return re.findall(r"<\s*([a-zA-Z!/][\w-]*)", page)


@given(HOSTILE)
@example("\\|")
@example("a\\\\|b|c")
@example("`" * 120)
@pytest.mark.parametrize("write", [escape.code_in_table, escape.prose_in_table])
def test_nothing_breaks_a_row_or_makes_a_tag_or_a_link(write: Callable[[str], str], text: str) -> None:
    page = rendered(f"| a | b | c |\n| --- | --- | --- |\n| {write(text)} | x | {write(text)} |\n| 1 | 2 | 3 |\n")
    assert page.count("<tr>") == 3
    assert page.count("<td>") == 6
    assert "<td>x</td>" in page
    assert set(tags(page)) <= {"table", "thead", "tbody", "tr", "th", "td", "code", "/"} | {
        f"/{name}" for name in ("table", "thead", "tbody", "tr", "th", "td", "code")
    }
    assert MENTIONS.search(outside_code(page)) is None


@given(HOSTILE)
@example("`" * 120)
@pytest.mark.parametrize("write", [escape.code, escape.prose])
def test_nothing_breaks_a_list_or_makes_a_tag_or_a_link(write: Callable[[str], str], text: str) -> None:
    page = rendered(f"- x {write(text)}: {write(text)}\n- y\n\nafter\n")
    assert page.count("<li>") == 2
    assert page.endswith("<p>after</p>\n")
    assert set(tags(page)) <= {"ul", "/ul", "li", "/li", "code", "/code", "p", "/p"}
    assert MENTIONS.search(outside_code(page)) is None


@given(HOSTILE)
def test_a_code_span_shows_the_whole_text(text: str) -> None:
    page = rendered(f"x {escape.code(text)}")
    (shown,) = re.findall("<code>(.*?)</code>", page, re.DOTALL) or ["(empty)"]
    visible = re.sub("`{6,}", lambda run: f"\\u0060*{len(run[0])}", escape.visible(text))
    assert html.unescape(shown) == (visible if visible.strip() else "(empty)")


@given(HOSTILE)
@example("\\|")
@example("a\\\\|b|c")
def test_a_code_span_in_a_table_shows_the_whole_text(text: str) -> None:
    page = rendered(f"| a |\n| --- |\n| {escape.code_in_table(text)} |\n")
    (shown,) = re.findall("<code>(.*?)</code>", page, re.DOTALL) or ["(empty)"]
    visible = re.sub("`{6,}", lambda run: f"\\u0060*{len(run[0])}", escape.visible(text)).replace("\\|", "\\¦")
    assert html.unescape(shown) == (visible if visible.strip() else "(empty)")


@given(HOSTILE)
@example("```\nx")
@example("``````\nx\n`````````")
def test_nothing_closes_a_fence(text: str) -> None:
    page = rendered(f"{escape.fenced(text)}\n\nafter\n")
    assert page.startswith('<pre lang="text"><code>')
    assert page.endswith("</code></pre>\n<p>after</p>\n")
    assert set(tags(page)) <= {"pre", "/pre", "code", "/code", "p", "/p"}


@given(HOSTILE)
@pytest.mark.parametrize(
    "write", [escape.visible, escape.line, escape.first_line, escape.block, escape.code, escape.prose]
)
def test_all_is_visible_and_no_workflow_command_is_left(write: Callable[[str], str], text: str) -> None:
    written = write(text)
    assert "##[" not in written
    for row in written.split("\n"):
        assert row.isprintable()
        if write is not escape.visible:
            assert not row.lstrip().startswith("::")
    written.encode()


@given(st.text(min_size=300, max_size=1200), st.integers(20, 200))
def test_lines_are_bounded_and_say_how_long_the_text_was(text: str, limit: int) -> None:
    suffix = f"… (of {len(text):,} characters)"
    assert len(escape.line(text, limit)) <= limit + len(suffix) + 1
    assert escape.line(text, limit).endswith(suffix)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("triton 3.9.0 has no wheel for cp313t; 3.7.0 is it", "triton 3.9.0 has no wheel for cp313t; 3.7.0 is it"),
        ("switched on by triton._C.libtriton", r"switched on by triton.\_C.libtriton"),
        ("see https://example.com", "`see https://example.com`"),
        ("fixed in abcdef1", "`fixed in abcdef1`"),
        ("Gh-12", "`Gh-12`"),
        ("see KERNEL-12", "`see KERNEL-12`"),
        ("Linux-6.1-x86_64", r"Linux-6.1-x86\_64"),
        ("a `b` c", "``a `b` c``"),
        ("`b`", "`` `b` ``"),
        ("two\nlines\x1b[0m", "`two⏎lines\\x1b[0m`"),
        ("\u202eabc", "`\\u202eabc`"),
        ("1. one", "`1. one`"),
        ("12)", "`12)`"),
        ("3.7.0 is the last", "3.7.0 is the last"),
        ("", "(empty)"),
        ("\U000e0001", "`\\U000e0001`"),
        ("\ud800", "`\\ud800`"),
    ],
)
def test_prose_stays_words_where_it_is_words(text: str, markdown: str) -> None:
    assert escape.prose(text) == markdown


def test_first_line_is_the_first_that_says_something() -> None:
    assert escape.first_line("\n   \n  AssertionError: x\nmore") == "AssertionError: x"
    assert escape.first_line(None) == ""
    assert escape.first_line("\n\n") == ""


def test_a_block_keeps_the_start_and_the_end() -> None:
    text = "\n".join(f"line {number}" for number in range(1000))
    rows = escape.block(text, lines=10).split("\n")
    assert rows[:5] == [f"line {number}" for number in range(5)]
    assert rows[5] == "… 990 lines left out …"
    assert rows[6:] == [f"line {number}" for number in range(995, 1000)]
    long = escape.block("a" * 50 + "b" * 50, limit=20)
    assert long == f"{'a' * 10}\n… 80 characters left out …\n{'b' * 10}"
