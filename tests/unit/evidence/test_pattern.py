"""The bound on a pattern's work: what could take for ever is refused, and what is taken stays within its bound."""

from __future__ import annotations

import pytest

from runner.evidence.pattern import compile_pattern, endless
from runner.evidence.rulefile import built_in


@pytest.mark.parametrize(
    "pattern",
    [
        "plain text",
        r"C\+\+ \* \{3,\}",
        "[*+]{1,3}",
        "[]*]x",
        "(?:ab)?c",
        "(?:a{1,3}|b)?c",
        "(?:a{1,2}b){1,3}",
        "(?>a{0,300})b{0,20}c",
        "(?=a{0,300}b)a{0,20}",
        r"a.{0,300}b.{0,8}c",
        r"cannot import name '\w{1,80}' from 'triton(?:\.[\w.]{1,80})?'",
    ],
)
def test_patterns_with_a_small_bound(pattern: str) -> None:
    assert endless(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "trouble"),
    [
        ("a*", "upper bound"),
        ("a+?", "upper bound"),
        ("a*+", "upper bound"),
        ("a{3,}", "upper bound"),
        ("a{0,501}", "upper bound"),
        ("(?=(?:a+b)c)a", "upper bound"),
        ("(?>a+)", "upper bound"),
        (r"(a{0,300})\1b", "refers back"),
        ("(?P<x>a)(?P=x)", "refers back"),
        ("(a)?(?(1)b|c)", "refers back"),
        ("(a|a){0,300}b", "steps"),
        ("(a?a){0,60}b", "steps"),
        ("x{0,20}" * 8 + "y", "steps"),
        ("(a{1,9}){1,9}", "steps"),
        ("(?:(?:a{500}){500}){500}", "steps"),
        (r"(?:(?:\b){500}){500}", "steps"),
        ("(?=(?:a|a){0,300}b)", "steps"),
        ("(?>(?:a|a){0,300}b)", "steps"),
        ("(?:a|a){0,300}+b", "steps"),
        ("(?:a|a){0,300}?b", "steps"),
        ("(?:a|b|.)" * 20, "steps"),
        ("(?:a?){0,300}b", "steps"),
        ("a{0,300}b{0,300}c", "steps"),
    ],
)
def test_patterns_that_could_take_for_ever(pattern: str, trouble: str) -> None:
    assert trouble in (endless(pattern) or "")
    with pytest.raises(ValueError, match=f"cannot be used: .*{trouble}"):
        compile_pattern(pattern)


def test_a_pattern_that_fits_the_empty_text() -> None:
    with pytest.raises(ValueError, match="would match every log"):
        compile_pattern("x?")


def test_every_shipped_pattern_is_bounded() -> None:
    for rule in built_in().rules:
        for pattern in (*rule.patterns, *rule.also, *rule.without, *rule.apart):
            assert endless(pattern.pattern, 20_000_000) is None
