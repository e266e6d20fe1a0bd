"""Rule files: signatures as YAML, the shipped ones and a user's own, with every mistake named by its place."""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Iterable
from typing import Any

import yaml

from runner.errors import MatrixFileError
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
_WIDE = 20
_MOST_WIDE = 2
_MOST = 500
_REPEAT = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")


@functools.cache
def built_in() -> Rules:
    """The signatures that ship with the tool."""
    text = importlib.resources.files("runner.evidence").joinpath("signatures.yml").read_text(encoding="utf-8")
    return Rules(read_rules(text, "signatures.yml"))


def with_user_rules(files: Iterable[RuleFile]) -> Rules:
    """The shipped signatures after a user's own; rules of a later file go before those of an earlier one.

    Raises:
        MatrixFileError: see `read_rules`.
    """
    rules = built_in()
    for file in files:
        rules += read_rules(file.text, file.name)
    return rules


def read_rules(text: str, name: str) -> tuple[Rule, ...]:
    """Read the rules of one file.

    Args:
        text: a YAML list of mappings.
        name: what an error calls the file.

    Raises:
        MatrixFileError: all mistakes at once, each with its line and column.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise MatrixFileError(f"{where}: {getattr(error, 'problem', None) or error}", remedy=_REMEDY) from error
    reader = _Reader(name)
    rules = reader.rules(root) if root is not None else []
    if reader.problems:
        raise MatrixFileError("\n".join(reader.problems), remedy=_REMEDY)
    return tuple(rules)


class _Reader:
    """Walks the nodes of one file and gathers its problems."""

    def __init__(self, name: str) -> None:
        self.name = name
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
            word = key.value
            if word not in _KNOWN:
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
            compiled = re.compile(text, re.MULTILINE)
        except re.error as error:
            self.problem(node, f"{text!r} is not a regular expression: {error}")
            return re.compile("")
        trouble = endless(text) or ("it matches the empty text, so it would match every log" * bool(compiled.match("")))
        if trouble:
            self.problem(node, f"{text!r} cannot be used: {trouble}")
        return compiled

    def group(self, node: yaml.Node, pattern: re.Pattern[str]) -> re.Pattern[str]:
        if pattern.groups != 1:
            self.problem(node, f"{pattern.pattern!r} needs one group: what it holds tells failures apart")
        return pattern


def endless(pattern: str) -> str | None:
    """Why a pattern could take too long on a hostile log, or None.

    Every repeat must have an upper bound, none may stand inside another, and few may be wide: then the time is
    linear in the length of the log, whatever it holds.
    """
    wide, position = 0, 0
    groups: list[bool] = [False]
    closed_with_repeat = False
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            position, closed_with_repeat = position + 2, False
            continue
        if char == "[":
            position, closed_with_repeat = _class_end(pattern, position), False
            continue
        if char == "(":
            groups.append(False)
        elif char == ")":
            inner = groups.pop() if len(groups) > 1 else False
            groups[-1] |= inner
            closed_with_repeat = inner
            position += 1
            continue
        most, width = _repeat(pattern, position)
        if width:
            if most is None or most > _MOST:
                return f"a repeat without an upper bound of at most {_MOST}; write {{0,300}} in place of * or +"
            if most > 1 and closed_with_repeat:
                return "a repeat inside a repeat; write the inner part out"
            wide += most > _WIDE
            groups[-1] |= most > 1
            position += width
        else:
            position += 1
        closed_with_repeat = False
    return f"more than {_MOST_WIDE} repeats wider than {_WIDE}" if wide > _MOST_WIDE else None


def _class_end(pattern: str, start: int) -> int:
    position = start + 1
    if pattern[position : position + 1] == "^":
        position += 1
    if pattern[position : position + 1] == "]":
        position += 1
    while position < len(pattern) and pattern[position] != "]":
        position += 2 if pattern[position] == "\\" else 1
    return position + 1


def _repeat(pattern: str, position: int) -> tuple[int | None, int]:
    """Upper bound (None for no bound) and width of the repeat at a position; width 0 when there is none."""
    if pattern[position] in "*+":
        return None, 1
    if pattern[position] == "?" and pattern[position - 1 : position] != "(":
        return 1, 1
    match = _REPEAT.match(pattern, position)
    if match is None:
        return 0, 0
    least, comma, most = match.groups()
    bound = most if comma else least
    return (int(bound) if bound else None), match.end() - position
