"""Rule files: signatures as YAML, the shipped ones and a user's own, with every mistake named by its place."""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Iterable
from typing import Any

import yaml

from runner.errors import MatrixFileError
from runner.evidence.pattern import MOST_STEPS, compile_pattern
from runner.evidence.signatures import Category, Rule, Rules
from runner.model.plan import RuleFile
from runner.model.verdict import RACED

_REMEDY = "Correct the lines named above; docs/attribution.md describes the format of a rule file."
_TEXTS = ("id", "meaning", "next_step", "versions")
_LISTS = ("categories", "sources", "patterns", "also", "without", "apart", "death")
_FLAGS = ("states", "sticky", "mark")
_KNOWN = frozenset((*_TEXTS, *_LISTS, *_FLAGS, "crash_below"))
_REQUIRED = ("id", "categories", "meaning", "next_step")
_SIGNS = ("patterns", "crash_below", "death")
_SHIPPED_STEPS = 20_000_000
"""More than a user's pattern may take: the long ones begin with words that a log rarely repeats."""


@functools.cache
def built_in() -> Rules:
    """The signatures that ship with the tool."""
    text = importlib.resources.files("runner.evidence").joinpath("signatures.yml").read_text(encoding="utf-8")
    return Rules(read_rules(text, "signatures.yml", _SHIPPED_STEPS))


def with_user_rules(files: Iterable[RuleFile]) -> Rules:
    """The shipped signatures after a user's own; rules of a later file go before those of an earlier one.

    Raises:
        MatrixFileError: see `read_rules`.
    """
    rules = built_in()
    for file in files:
        rules += read_rules(file.text, file.name)
    return rules


def read_rules(text: str, name: str, most_steps: int = MOST_STEPS) -> tuple[Rule, ...]:
    """Read the rules of one file.

    Args:
        text: a YAML list of mappings.
        name: what an error calls the file.
        most_steps: what each pattern may take at one place of a log, see `compile_pattern`.

    Raises:
        MatrixFileError: all mistakes at once, each with its line and column.
    """
    root = _compose(text, name)
    reader = _Reader(name, most_steps)
    rules = reader.rules(root) if root is not None else []
    if reader.problems:
        raise MatrixFileError("\n".join(reader.problems), remedy=_REMEDY)
    return tuple(rules)


def _compose(text: str, name: str) -> yaml.Node | None:
    """The nodes of a file; None when it holds none."""
    cause: Exception
    loader: yaml.SafeLoader | None = None
    try:
        loader = yaml.SafeLoader(text)
        return loader.get_single_node()
    except RecursionError as error:
        said, cause = "lists or mappings stand too deep in each other", error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the latter two for an escape that is no character
        said, cause = getattr(error, "problem", None) or str(error).splitlines()[0], error
    mark = getattr(cause, "problem_mark", None) or (loader and loader.get_mark())
    before = text[: getattr(cause, "position", 0)].split("\n")
    line, column = (mark.line, mark.column) if mark else (len(before) - 1, len(before[-1]))
    raise MatrixFileError(f"{name}:{line + 1}:{column + 1}: {said}", remedy=_REMEDY) from cause


class _Reader:
    """Walks the nodes of one file and gathers its problems."""

    def __init__(self, name: str, most_steps: int) -> None:
        self.name = name
        self.most_steps = most_steps
        self.problems: list[str] = []

    def problem(self, node: yaml.Node, text: str) -> None:
        mark = node.start_mark
        self.problems.append(f"{self.name}:{mark.line + 1}:{mark.column + 1}: {text}")

    def rules(self, root: yaml.Node) -> list[Rule]:
        if not isinstance(root, yaml.SequenceNode):
            self.problem(root, "a rule file is a list; begin each rule with `- id: ...`")
            return []
        found: list[Rule] = []
        for node in root.value:
            rule = self.rule(node)
            if rule and any(rule.id == other.id for other in found):
                self.problem(node, f"a rule with the id {rule.id!r} stands above already")
            elif rule:
                found.append(rule)
        return found

    def rule(self, node: yaml.Node) -> Rule | None:
        if not isinstance(node, yaml.MappingNode):
            self.problem(node, "a rule is a mapping with id, categories, patterns, meaning and next_step")
            return None
        before = len(self.problems)
        fields: dict[str, Any] = {}
        for key, value in node.value:
            word = key.value if isinstance(key, yaml.ScalarNode) else None
            if word is None:
                self.problem(key, "the name of a field is a word, not a list or a mapping")
            elif word not in _KNOWN:
                self.problem(key, f"{word!r} is not a field of a rule; the fields are {', '.join(sorted(_KNOWN))}")
            elif word in fields:
                self.problem(key, f"{word!r} stands twice in this rule")
            else:
                fields[word] = self.field(word, value)
        missing = [word for word in _REQUIRED if not fields.get(word)]
        if missing and len(self.problems) == before:
            self.problem(node, f"the rule lacks {', '.join(missing)}")
        if not any(fields.get(word) for word in _SIGNS) and len(self.problems) == before:
            self.problem(node, f"the rule can never match: give it {', '.join(_SIGNS[:-1])} or {_SIGNS[-1]}")
        return Rule(**fields) if len(self.problems) == before else None

    def field(self, word: str, node: yaml.Node) -> Any:
        if word in _LISTS:
            if not isinstance(node, yaml.SequenceNode):
                self.problem(node, f"{word} is a list, such as [{node.value if word == 'categories' else '...'}]")
                return ()
            texts = [(item, self.text(word, item)) for item in node.value]
            return tuple(self.item(word, item, text) for item, text in texts)
        text = self.text(word, node)
        if word in _FLAGS:
            if text not in ("true", "false"):
                self.problem(node, f"{word} is true or false, not {text!r}")
            return text == "true"
        return self.pattern(node, text) if word == "crash_below" else text

    def item(self, word: str, node: yaml.Node, text: str) -> Any:
        """One of a list."""
        if word == "categories":
            return self.category(node, text)
        if word in ("patterns", "also", "without"):
            return self.pattern(node, text)
        return self.group(node, self.pattern(node, text)) if word == "apart" else text

    def text(self, word: str, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self.problem(node, f"{word} is a text")
            return ""
        if word == "id" and not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}", node.value):
            self.problem(node, f"the id {node.value!r} may hold small letters, digits and '-' alone")
        if word == "id" and node.value.startswith(RACED):
            self.problem(node, f"the id {node.value!r} may not begin with {RACED!r}: that tells roots of races apart")
        return str(node.value)

    def category(self, node: yaml.Node, text: str) -> Category:
        try:
            return Category(text)
        except ValueError:
            self.problem(node, f"{text!r} is not a category; the categories are {', '.join(Category)}")
            return Category.PROJECT

    def pattern(self, node: yaml.Node, text: str) -> re.Pattern[str]:
        try:
            return compile_pattern(text, self.most_steps)
        except ValueError as error:
            self.problem(node, f"{text[:200]!r} {error}")
            return re.compile("")

    def group(self, node: yaml.Node, pattern: re.Pattern[str]) -> re.Pattern[str]:
        if pattern.groups != 1:
            self.problem(node, f"{pattern.pattern!r} needs one group: what it holds tells failures apart")
        return pattern
