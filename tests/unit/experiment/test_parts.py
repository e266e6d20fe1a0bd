from __future__ import annotations

import ast
from pathlib import Path

from runner.experiment import parts
from runner.experiment.bench import CONTROL
from runner.experiment.parts import PARTS, name_of


def control_tests() -> list[str]:
    tree = ast.parse((CONTROL / "test_control.py").read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def test_every_part_of_the_control_is_known_and_none_is_made_up() -> None:
    assert sorted(PARTS) == sorted(control_tests())


def test_a_part_with_threads_names_one_without() -> None:
    for name, part in PARTS.items():
        assert (part.threads > 1) == ("from_threads" in name)
        assert part.single is None or PARTS[part.single].threads == 1
        assert part.single is None or PARTS[part.single].needs_gpu == part.needs_gpu
        assert part.threads == 1 or part.single is not None


def test_the_number_of_threads_is_that_of_the_control() -> None:
    source = (Path(CONTROL) / "conftest.py").read_text()
    assert f"THREADS = {parts.THREADS}\n" in source


def test_names_are_readable() -> None:
    assert name_of("test_autotune_from_threads") == "autotune-from-threads"
