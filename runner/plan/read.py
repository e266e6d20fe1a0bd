"""A matrix file from disk: read, validated, and every mistake that the file alone shows, not only the first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from runner.errors import MatrixFileError
from runner.plan.checks import check
from runner.plan.compose import MAX_BYTES, read_tree
from runner.plan.fields import SENTENCE, Part
from runner.plan.matrix import AxisSelector, Coordinates, Matrix, Selector
from runner.plan.nodes import Steps, Tree, type_names
from runner.plan.problems import Place, Problem, nearest, quoted, suggestion

_SELECTOR: TypeAdapter[str | AxisSelector] = TypeAdapter(Selector)


@dataclass(frozen=True)
class Rule:
    """A selector of the file, with where it stands.

    Attributes:
        kind: `exclude`, `overrides` or `expect`.
        index: its number in that list, from 0.
        selector: a glob over cell ids or axis values.
        place: of the selector.
    """

    kind: str
    index: int
    selector: str | AxisSelector
    place: Place


@dataclass(frozen=True)
class MatrixFile:
    """A matrix file as read. Only a file without problems has a `matrix`; `make_plan` raises all problems at once.

    Attributes:
        file: the path as the user gave it.
        sha256: of its bytes.
        root: absolute folder of the project.
        root_source: where the root comes from, in words.
        tree: the nodes with their places.
        matrix: the validated file, or None when it has mistakes.
        coordinates: axes and extra cells, also of a file with mistakes elsewhere; None when they are not readable.
        rules: the selectors that are readable.
        problems: every mistake that shows without the package index.
    """

    file: str
    sha256: str
    root: Path
    root_source: str
    tree: Tree
    matrix: Matrix | None
    coordinates: Coordinates | None
    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]

    def place(self, *path: int | str) -> Place:
        """Where a value stands, or the nearest thing around it."""
        return self.tree.find(path).node.place

    def source(self, *path: int | str) -> str:
        """`matrices/sm90.yml:12`."""
        return f"{self.file}:{self.tree.find(path).place.line}"


class _LenientCoordinates(Coordinates):
    """Axes and extra cells of a file that has mistakes elsewhere."""

    model_config = ConfigDict(extra="ignore")


def read_matrix(path: Path) -> MatrixFile:
    """Read a matrix file.

    Raises:
        MatrixFileError: the file is missing or not readable as YAML at all. Other mistakes are kept in `problems`.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        remedy = "Name a matrix file, such as matrices/quickstart.yml."
        raise MatrixFileError(f"{path}: could not be read: {error.strerror}", remedy=remedy) from error
    tree = read_tree(content, str(path))
    data = tree.data()
    root, root_source = _root(path, data)
    matrix, errors = _validated(data)
    problems = [*tree.problems, *_translated(errors, tree), *check(tree, data, root)]
    return MatrixFile(
        file=str(path),
        sha256=hashlib.sha256(content).hexdigest(),
        root=root,
        root_source=root_source,
        tree=tree,
        matrix=None if problems else matrix,
        coordinates=_coordinates(data),
        rules=tuple(_rules(tree, data)),
        problems=tuple(problems),
    )


def _root(path: Path, data: dict[str, object]) -> tuple[Path, str]:
    folder = path.resolve().parent
    project = data.get("project")
    named = project.get("root") if isinstance(project, dict) else None
    if isinstance(named, str):
        try:
            return (folder / named).resolve(), "project.root"
        except (OSError, ValueError):  # too long, or with a NUL: no folder, which the checks say
            return folder / named, "project.root"
    checkout = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)
    if checkout is not None:
        return checkout, "default: the git checkout around the matrix file"
    return folder, "default: the matrix file's folder"


def _validated(data: dict[str, object]) -> tuple[Matrix | None, list[ErrorDetails]]:
    try:
        return Matrix.model_validate(data), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _coordinates(data: dict[str, object]) -> Coordinates | None:
    try:
        return _LenientCoordinates.model_validate(data)
    except ValidationError:
        return None


def _rules(tree: Tree, data: dict[str, object]) -> Iterator[Rule]:
    for kind in ("exclude", "overrides", "expect"):
        items = data.get(kind)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            path: Steps = (kind, index) if kind == "exclude" else (kind, index, "select")
            raw = item if kind == "exclude" else item.get("select") if isinstance(item, dict) else None
            try:
                selector = _SELECTOR.validate_python(raw)
            except ValidationError:
                continue  # the whole file's validation has said why
            yield Rule(kind, index, selector, tree.find(path).node.place)


def _translated(errors: Iterable[ErrorDetails], tree: Tree) -> Iterator[Problem]:
    """Pydantic's errors in our sentences."""
    errors = list(errors)
    for error in errors:
        path = tuple(error["loc"])
        found = tree.find(path)
        if error["type"] == "missing":
            around = path[:-1]
            key = str(path[-1])
            if not _has_key(tree, path) and not _is_misspelt(key, around, errors):
                yield Problem(tree.find(around).place, f"{quoted(key)} is missing{_within(around)}")
        elif error["input"] is None:
            continue  # reported as "has no value" when it was read
        elif error["type"] == "extra_forbidden":
            key = str(path[-1])
            words = _keys(path[:-1])
            yield Problem(found.place, f"unknown key {quoted(key)}{_within(path[:-1])}{suggestion(key, words)}")
        elif error["type"] == SENTENCE:
            yield Problem(found.place if path[-1] == "[key]" else found.node.place, error["msg"])
        else:
            yield Problem(found.node.place, _type_sentence(error))


def _has_key(tree: Tree, path: Steps) -> bool:
    around = tree.find(path[:-1]).node.value
    return isinstance(around, dict) and path[-1] in around


def _is_misspelt(key: str, around: Steps, errors: list[ErrorDetails]) -> bool:
    """Whether an unknown key beside it was reported as probably this one."""
    unknown = [e["loc"] for e in errors if e["type"] == "extra_forbidden" and tuple(e["loc"][:-1]) == around]
    return any(nearest(str(loc[-1]), _keys(around)) == key for loc in unknown)


def _within(path: Steps) -> str:
    """` under project`, or nothing at the top."""
    keys = [step for step in path if isinstance(step, str)]
    return f" under {keys[0] if keys[-1] == 'axes' else keys[-1]}" if keys else ""


_EXPECTED = {
    "tuple_type": "a list",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _type_sentence(error: ErrorDetails) -> str:
    expected = _EXPECTED.get(error["type"])
    if expected is None:
        return error["msg"]
    return f"{expected} is expected here, not {type_names.get(type(error['input']), 'this')}"


def _keys(path: Steps) -> list[str]:
    """The valid keys of the mapping at a path, by the model."""
    part: type[Part] = Matrix
    for step in path:
        if isinstance(step, str):
            fields = {field.alias or name: field for name, field in part.model_fields.items()}
            part = (_part_in(fields[step].annotation) if step in fields else None) or part
    return [field.alias or name for name, field in part.model_fields.items()]


def _part_in(annotation: Any) -> type[Part] | None:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    return next((part for inner in get_args(annotation) if (part := _part_in(inner)) is not None), None)
