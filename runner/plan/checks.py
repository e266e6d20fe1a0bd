"""What a matrix file must hold beyond the shape of its values: no value twice, paths that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from runner.plan.nodes import Steps, Tree
from runner.plan.problems import Place, Problem, nearest, quoted
from runner.plan.releases import Choice
from runner.plan.values import is_folder, python_build


def check(tree: Tree, data: dict[str, object], root: Path) -> Iterator[Problem]:
    """Check a file that may have other mistakes too; what is not readable is passed over, it was reported.

    Args:
        tree: the file's nodes.
        data: the same as plain data.
        root: the project's folder; paths are looked for there.
    """
    yield from _axes_missing(tree)
    yield from _duplicates(tree, data)
    project = data.get("project")
    if isinstance(project, dict):
        yield from _pytest_missing(tree, project)
        if not _is(Path.is_dir, root):
            yield Problem(tree.find(("project", "root")).node.place, f"there is no folder {str(root)!r}")
        else:
            yield from _paths_missing(tree, data, project, root)
    yield from _rule_files_missing(tree, data, root)
    yield from _empty_selectors(tree, data)


def _axes_missing(tree: Tree) -> Iterator[Problem]:
    keys = tree.root.value if isinstance(tree.root.value, dict) else {}
    if "environment" in keys and not {"python", "triton"} & keys.keys():
        return
    for axis in ("python", "triton"):
        if axis not in keys and not any(nearest(key, [axis]) for key in keys):  # misspelt is not missing
            yield Problem(Place(1, 1), f"{axis!r} is missing; it lists the {axis.title()} versions to test")


def _canonical_python(text: str) -> str:
    return str(python_build(text))


def _canonical_release(text: str) -> str:
    return Choice.parse(text).canonical


_CANONICAL: dict[str, Callable[[str], str]] = {
    "python": _canonical_python,
    "gil": str,
    "triton": _canonical_release,
    "torch": _canonical_release,
}


def _duplicates(tree: Tree, data: dict[str, object]) -> Iterator[Problem]:
    for axis, canonical in _CANONICAL.items():
        yield from _twice(tree, [(axis, index) for index in range(len(_list(data.get(axis))))], canonical, axis)
    names: list[Steps] = [("environment", index, "name") for index in range(len(_list(data.get("environment"))))]
    yield from _twice(tree, names, str, "environment")


def _twice(tree: Tree, paths: list[Steps], canonical: Callable[[str], str], what: str) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for path in paths:
        entry = tree.find(path)
        if not isinstance(entry.node.value, str):
            continue
        try:
            value = canonical(entry.node.value)
        except ValueError:
            value = entry.node.value
        if value in seen:
            sentence = f"{what} has {quoted(entry.node.value)} twice, first on line {seen[value]}"
            yield Problem(entry.node.place, sentence)
        seen.setdefault(value, entry.node.place.line)


def _pytest_missing(tree: Tree, project: dict[str, object]) -> Iterator[Problem]:
    base = [item for item in _many(project.get("base", "pytest")) if isinstance(item, str)]
    try:
        names = {canonicalize_name(Requirement(item).name) for item in base}
    except InvalidRequirement:
        return
    if "pytest" not in names:
        yield Problem(tree.find(("project", "base")).node.place, "base must hold a pytest, such as 'pytest>=8,<9'")


def _paths_missing(tree: Tree, data: dict[str, object], project: dict[str, object], root: Path) -> Iterator[Problem]:
    for index, item in enumerate(_many(project.get("install"))):
        if isinstance(item, str) and is_folder(item) and ("[" not in item or item.endswith("]")):
            folder = root / item.partition("[")[0]
            if not any(_is(Path.is_file, folder / name) for name in ("pyproject.toml", "setup.py", "setup.cfg")):
                place = tree.find(("project", "install", index)).node.place
                yield Problem(place, f"{quoted(item)} is no Python project: no pyproject.toml in {str(folder)!r}")
    settings: list[tuple[Steps, object]] = [(("project",), project)]
    settings += [(("overrides", index), item) for index, item in enumerate(_list(data.get("overrides")))]
    for path, setting in settings:
        if not isinstance(setting, dict):
            continue
        for index, item in enumerate(_many(setting.get("tests"))):
            if isinstance(item, str) and item.strip() and not _is(Path.exists, root / item.partition("::")[0]):
                place = tree.find((*path, "tests", index)).node.place
                yield Problem(place, f"there is no {quoted(item)} in {str(root)!r}")
        workdir = setting.get("workdir")
        if isinstance(workdir, str) and not _is(Path.is_dir, root / workdir):
            yield Problem(tree.find((*path, "workdir")).node.place, f"there is no folder {quoted(workdir)} in the root")


def _rule_files_missing(tree: Tree, data: dict[str, object], root: Path) -> Iterator[Problem]:
    for index, item in enumerate(_many(data.get("signatures"))):
        if isinstance(item, str) and item.strip() and not _is(Path.is_file, root / item):
            yield Problem(
                tree.find(("signatures", index)).node.place, f"there is no file {quoted(item)} in {str(root)!r}"
            )


def _empty_selectors(tree: Tree, data: dict[str, object]) -> Iterator[Problem]:
    paths: list[Steps] = [("exclude", index) for index in range(len(_list(data.get("exclude"))))]
    for kind in ("overrides", "expect"):
        paths += [(kind, index, "select") for index in range(len(_list(data.get(kind))))]
    for path in paths:
        entry = tree.find(path)
        if entry.node.value == {}:
            yield Problem(entry.node.place, "an empty selector names nothing; '*' selects every cell")


def _is(question: Callable[[Path], bool], path: Path) -> bool:
    """Ask the file system; a path that it cannot even take (too long, with a NUL) is not there."""
    try:
        return question(path)
    except (OSError, ValueError):
        return False


def _list(raw: object) -> list[object]:
    return raw if isinstance(raw, list) else []


def _many(raw: object) -> list[object]:
    return raw if isinstance(raw, list) else [] if raw is None else [raw]
