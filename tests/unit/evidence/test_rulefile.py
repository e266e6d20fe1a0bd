from __future__ import annotations

import pytest

from runner.errors import MatrixFileError
from runner.evidence.rulefile import read_rules

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
        ("- {[a]: b}", "mine.yml:1:4: the name of a field is a word"),
        ("- {? {a: b} : c}", "mine.yml:1:6: the name of a field is a word"),
        ("- id: x\n  meaning: " + "[" * 5_000, r"mine.yml:2:\d+: lists or mappings stand too deep"),
        ('- id: x\n- "\\UFFFFFFFF"', r"mine.yml:2:\d+: "),
        ("- id: x\n- a\0b", "mine.yml:2:4: "),
        (GOOD.replace("queue is full", "a{0,99999999999}"), "mine.yml:3:14: .* is not a regular expression"),
        (GOOD.replace("queue is full", "a{0," + "9" * 5_000 + "}"), "mine.yml:3:14: .* is not a regular expression"),
        (GOOD.replace("queue is full", "(" * 3_000 + "a" + ")" * 3_000), "mine.yml:3:14: .* stand too deep"),
        (GOOD.replace("queue is full", "(a|a){0,300}b"), "mine.yml:3:14: .* more than 25,000 steps"),
    ],
)
def test_a_file_that_is_no_list_of_rules(text: str, words: str) -> None:
    with pytest.raises(MatrixFileError, match=words):
        read_rules(text, "mine.yml")


def test_what_tells_apart_is_a_group() -> None:
    (rule,) = read_rules(GOOD + "  apart: ['queue (\\w{1,9})']\n", "mine.yml")
    assert rule.kind("the queue is full") == "is"
    assert rule.kind("nothing") == ""
    with pytest.raises(MatrixFileError, match="needs one group"):
        read_rules(GOOD + "  apart: ['queue']\n", "mine.yml")
