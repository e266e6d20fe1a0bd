from __future__ import annotations

import pytest

from runner.errors import MatrixFileError
from runner.evidence.rulefile import built_in, endless, read_rules

GOOD = """\
- id: mine
  categories: [project, infra]
  patterns: ['queue is full']
  also: ['worker \\d{1,3}']
  meaning: The queue of the project is full.
  next_step: Make it longer.
  states: true
"""
MISTAKES = """\
- id: Bad Id
  categories: [projekt]
  patterns: ['a.*b', '(unclosed', 'x?']
  meaning: m
  next_step: n
  colour: red
- categories: [infra]
  patterns: [abc]
- just a text
- id: never
  categories: [infra]
  meaning: m
  next_step: n
- id: flag
  categories: infra
  patterns: [abc]
  states: yes
  meaning: m
  meaning: m
  next_step: [n]
"""


def test_a_good_rule() -> None:
    (rule,) = read_rules(GOOD, "mine.yml")
    assert (rule.id, rule.states, rule.sticky) == ("mine", True, False)
    assert [category.value for category in rule.categories] == ["project", "infra"]
    assert rule.place("worker 7: queue is full", None) == 10
    assert rule.place("worker: queue is full", None) is None


def test_an_empty_file_has_no_rules() -> None:
    assert read_rules("# nothing yet\n", "mine.yml") == ()


def test_every_mistake_is_named_with_its_line() -> None:
    with pytest.raises(MatrixFileError) as caught:
        read_rules(MISTAKES, "mine.yml")
    lines = caught.value.message.splitlines()
    expected = [
        ("mine.yml:1:", "'Bad Id'"),
        ("mine.yml:2:", "'projekt' is not a category"),
        ("mine.yml:3:", "without an upper bound"),
        ("mine.yml:3:", "not a regular expression"),
        ("mine.yml:3:", "empty text"),
        ("mine.yml:6:", "'colour' is not a field"),
        ("mine.yml:7:", "lacks id, meaning, next_step"),
        ("mine.yml:9:", "a rule is a mapping"),
        ("mine.yml:10:", "can never match"),
        ("mine.yml:15:", "categories is a list"),
        ("mine.yml:17:", "states is true or false, not 'yes'"),
        ("mine.yml:19:", "'meaning' stands twice"),
        ("mine.yml:20:", "next_step is a text"),
    ]
    assert len(lines) == len(expected), caught.value.message
    for line, (place, words) in zip(lines, expected, strict=True):
        assert line.startswith(place)
        assert words in line
    assert "docs/attribution.md" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "mine.yml:1:5: "),
        ("a: b", "mine.yml:1:1: a rule file is a list"),
        (GOOD.replace("mine", "race-mine"), "mine.yml:1:7: the id 'race-mine' may not"),
        (GOOD + GOOD, "mine.yml:8:3: a rule with"),
    ],
)
def test_a_file_that_is_no_list_of_rules(text: str, words: str) -> None:
    with pytest.raises(MatrixFileError, match=words):
        read_rules(text, "mine.yml")


@pytest.mark.parametrize(
    ("pattern", "trouble"),
    [
        ("plain text", None),
        (r"C\+\+ \* \{3,\}", None),
        ("[*+]{1,3}", None),
        ("[]*]x", None),
        ("(?:ab)?c", None),
        ("(?:a{1,3}|b)?c", None),
        (r"a.{0,300}b.{0,300}", None),
        ("a*", "upper bound"),
        ("a+?", "upper bound"),
        ("a{3,}", "upper bound"),
        ("a{0,501}", "upper bound"),
        ("(a{1,9}){1,9}", "inside a repeat"),
        ("(?:(?:a{2,3})b){2}", "inside a repeat"),
        ("a{0,99}b{0,99}c{0,99}", "wider than"),
    ],
)
def test_patterns_that_could_take_for_ever(pattern: str, trouble: str | None) -> None:
    found = endless(pattern)
    assert (trouble is None and found is None) or (found is not None and trouble is not None and trouble in found)


def test_every_shipped_pattern_is_bounded() -> None:
    for rule in built_in().rules:
        for pattern in (*rule.patterns, *rule.also, *rule.without):
            assert endless(pattern.pattern) is None


def test_what_tells_apart_is_a_group() -> None:
    (rule,) = read_rules(GOOD + "  apart: ['queue (\\w{1,9})']\n", "mine.yml")
    assert rule.kind("the queue is full") == "is"
    assert rule.kind("nothing") == ""
    with pytest.raises(MatrixFileError, match="needs one group"):
        read_rules(GOOD + "  apart: ['queue']\n", "mine.yml")
