"""A matrix file as a tree of nodes: every scalar as it was written, every node with its place."""

from __future__ import annotations

from dataclasses import dataclass

from runner.plan.problems import Place, Problem

type_names: dict[type, str] = {str: "a single value", list: "a list", dict: "a mapping"}


Steps = tuple[int | str, ...]
"""Keys and indices that lead to a value of the file."""


@dataclass(frozen=True)
class Node:
    """A scalar as it was written, a list, or a mapping.

    Attributes:
        place: where it begins.
        value: text, None for YAML's null, items, or entries by key.
    """

    place: Place
    value: str | tuple[Node, ...] | dict[str, Entry] | None


@dataclass(frozen=True)
class Entry:
    """One `key: value`.

    Attributes:
        place: of the key.
        node: the value.
    """

    place: Place
    node: Node


@dataclass(frozen=True)
class Tree:
    """A matrix file as read, and the mistakes that reading it showed.

    Attributes:
        root: the outermost node, a mapping.
        problems: duplicate keys, keys without a value, tags, keys that are no words.
    """

    root: Node
    problems: tuple[Problem, ...] = ()

    def find(self, path: Steps) -> Entry:
        """The node at a path of keys and indices, or the nearest one around it.

        Steps that lead nowhere are passed over: a validator counts the one value of `python: 3.12` as a list's first.
        The place of the answer is that of the key when the last step that led somewhere was a key.
        """
        found = Entry(self.root.place, self.root)
        for step in path:
            value = found.node.value
            if isinstance(value, dict) and isinstance(step, str) and step in value:
                found = value[step]
            elif isinstance(value, tuple) and isinstance(step, int) and step < len(value):
                found = Entry(value[step].place, value[step])
        return found

    def data(self) -> dict[str, object]:
        """The tree as plain dicts, lists and texts; what has no value is left out."""
        plain = _plain(self.root)
        return plain if isinstance(plain, dict) else {}


def _plain(node: Node) -> object:
    if isinstance(node.value, tuple):
        # A null keeps its seat so that indices stay true; it was reported, and "" is never valid in a list.
        return [_plain(item) for item in node.value]
    if isinstance(node.value, dict):
        return {key: _plain(entry.node) for key, entry in node.value.items() if entry.node.value is not None}
    return node.value
