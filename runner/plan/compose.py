"""YAML text to a tree of nodes: every scalar stays as it was written, and every node knows its place.

YAML 1.1 reads `on` as true and `3.10` as the number 3.1, so nothing is constructed here: PyYAML composes
the text into its nodes and stops there. Mistakes that leave the rest readable (a duplicate key, a key without
a value, a tag) are collected; only text that is no YAML at all ends the reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml
from yaml.composer import ComposerError

from runner.errors import MatrixFileError
from runner.plan.nodes import Entry, Node, Tree
from runner.plan.problems import Place, Problem, listing, quoted

MAX_BYTES = 256 * 1024
MAX_DEPTH = 32
MAX_NODES = 20_000
"""Aliases are expanded, so a short file can stand for a tree without end."""

_MERGE = "tag:yaml.org,2002:merge"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


def read_tree(content: bytes, file: str) -> Tree:
    """Read a matrix file's bytes; `file` is what errors call it.

    Raises:
        MatrixFileError: the text is too long, not UTF-8, not YAML, empty, several documents, or not a mapping.
    """
    text = _decode(content, file)
    try:
        loader = _Composer(text)
        composed = loader.get_single_node()
        reading = _Reading(list(loader.tagged))
        root = reading.node(composed) if composed is not None else None
    except yaml.MarkedYAMLError as error:
        raise _fatal(file, _place(error.problem_mark or error.context_mark), _yaml_sentence(error)) from error
    except yaml.reader.ReaderError as error:
        character = f"the character U+{ord(text[error.position]):04X}"
        raise _fatal(file, _place_at(text, error.position), f"not valid YAML: {character} may not occur") from error
    if root is None or root.value is None:
        raise _fatal(file, Place(1, 1), "the file is empty; it needs python, triton and project")
    if not isinstance(root.value, dict):
        raise _fatal(file, root.place, "a matrix file is a mapping with keys such as python, triton and project")
    return Tree(root, tuple(reading.problems))


def _decode(content: bytes, file: str) -> str:
    if len(content) > MAX_BYTES:
        raise _fatal(
            file, Place(1, 1), f"the file has more than {MAX_BYTES} bytes; a matrix file has at most that many"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise _fatal(file, place, f"not UTF-8: byte 0x{content[error.start]:02x}; save the file as UTF-8") from error


def _fatal(file: str, place: Place, sentence: str) -> MatrixFileError:
    return MatrixFileError(listing([Problem(place, sentence)], file))


def _place(mark: yaml.Mark | None) -> Place:
    return Place(mark.line + 1, mark.column + 1) if mark is not None else Place(1, 1)


def _place_at(text: str, position: int) -> Place:
    before = text[:position]
    return Place(before.count("\n") + 1, position - before.rfind("\n"))


def _yaml_sentence(error: yaml.MarkedYAMLError) -> str:
    """PyYAML's words, and what a matrix's author most likely did."""
    problem, context = str(error.problem), str(error.context)
    said = f"not valid YAML: {problem}"
    if "'\\t'" in problem:
        return f"{said}; indent with spaces, not with tabs"
    if "another document" in problem:
        return "a second document begins here; a matrix file holds one"
    if "undefined alias" in problem or "scanning an alias" in context:
        return f"{said}; a glob that begins with * needs quotes: '*-gil-off-*'"
    if "indentation indicators" in problem or "'>'" in problem:
        return f"{said}; a range needs quotes: '>=3.3,<3.8'"
    return said


class _Composer(yaml.SafeLoader):
    """PyYAML's composer with a bound on depth, that notes each tag."""

    def __init__(self, text: str) -> None:
        self.tagged: list[Problem] = []
        self._depth = 0
        super().__init__(text)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        if tag is not None:
            sentence = (
                f"{quoted(tag)} reads as a YAML tag, which has no meaning here; text that begins with ! needs quotes"
            )
            self.tagged.append(Problem(_place(event.start_mark), sentence))
        if self._depth >= MAX_DEPTH:
            raise ComposerError(None, None, f"more than {MAX_DEPTH} levels of nesting", event.start_mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


@dataclass
class _Reading:
    """PyYAML's nodes to ours: duplicates found, merge keys and aliases expanded within bounds."""

    problems: list[Problem]
    _tagged: set[Place] = field(init=False)
    _count: int = 0
    _open: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._tagged = {problem.place for problem in self.problems}

    def node(self, source: yaml.Node) -> Node:
        place = _place(source.start_mark)
        self._count += 1
        if self._count > MAX_NODES:
            raise ComposerError(None, None, f"aliases make more than {MAX_NODES} values of it", source.start_mark)
        if isinstance(source, yaml.ScalarNode):
            is_null = source.style is None and source.value in _NULLS
            return Node(place, None if is_null else source.value)
        if id(source) in self._open:
            raise ComposerError(None, None, "this contains itself by an alias", source.start_mark)
        self._open.add(id(source))
        try:
            if isinstance(source, yaml.MappingNode):
                return Node(place, self._entries(source))
            return Node(place, tuple(self._items(source)))
        finally:
            self._open.discard(id(source))

    def _items(self, source: yaml.Node) -> Iterator[Node]:
        for item in source.value:
            node = self.node(item)
            if node.value is None and not self._is_tagged(item):
                self.problems.append(Problem(node.place, "this item has no value"))
            yield node

    def _entries(self, source: yaml.MappingNode) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, value in source.value:
            place = _place(key.start_mark)
            if key.tag == _MERGE:
                for name, entry in self._merged(value).items():
                    merged.setdefault(name, entry)
            elif not isinstance(key, yaml.ScalarNode):
                self.problems.append(Problem(place, "a key is a single word"))
            elif key.value in entries:
                first = entries[key.value].place.line
                self.problems.append(Problem(place, f"duplicate key {quoted(key.value)}, first given on line {first}"))
            else:
                entries[key.value] = Entry(place, self.node(value))
                if entries[key.value].node.value is None and not self._is_tagged(value):
                    self.problems.append(Problem(place, f"{quoted(key.value)} has no value"))
        # What stands in the mapping itself wins over what is merged into it.
        return {**merged, **entries}

    def _is_tagged(self, source: yaml.Node) -> bool:
        """Whether there is a tag at this very place: `!=3.4` is a tag on nothing, and one mistake."""
        return _place(source.start_mark) in self._tagged

    def _merged(self, source: yaml.Node) -> dict[str, Entry]:
        parts = source.value if isinstance(source, yaml.SequenceNode) else [source]
        found: dict[str, Entry] = {}
        for part in parts:
            node = self.node(part)
            if isinstance(node.value, dict):
                for name, entry in node.value.items():
                    found.setdefault(name, entry)
            else:
                self.problems.append(Problem(node.place, "<< merges mappings alone"))
        return found
