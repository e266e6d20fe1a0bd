"""Words of scripts, read back by the bash that would run them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.report.shell import command, comment, word

HOSTILE = [
    "",
    "plain",
    "tests/test_a.py::test[$(touch /tmp/owned)]",
    "a'b",
    "`id`",
    '$HOME ${x:-y} !! \\ " ; & | > < * ? [a] {b,c} ~ # x',
    "two\nlines",
    "\x1b[31mred\x07\r",
    "unicode ✓ \u202e reversed \u2028",
    "-rf",
    "tab\there",
    "\udcff raw byte",
    "back\\slash and 'quote' \x01",
]


def read_by_bash(text: str) -> bytes:
    script = f"printf '%s' {text}"
    return subprocess.run(["bash", "-c", script], check=True, capture_output=True, env={"LC_ALL": "C.UTF-8"}).stdout


@pytest.mark.parametrize("text", HOSTILE)
def test_bash_reads_the_same_text(text: str) -> None:
    assert read_by_bash(word(text)) == text.encode("utf-8", "surrogateescape")


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40))
def test_bash_reads_any_text_the_same(text: str) -> None:
    assert read_by_bash(word(text)) == text.encode()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_word_is_visible_and_on_one_line(text: str) -> None:
    assert word(text).isascii()
    assert word(text).isprintable()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comment_stays_one(text: str) -> None:
    done = subprocess.run(["bash", "-c", comment(text)], check=True, capture_output=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    assert "\n" not in comment(text)


def test_variables_come_first_and_odd_names_are_left_out() -> None:
    assert command(["run", "a b"], {"B": "x y", "A": "1", "A;rm": "2"}) == "A=1 B='x y' run 'a b'"
