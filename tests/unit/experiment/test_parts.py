from __future__ import annotations

import ast
from pathlib import Path

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.experiment import parts
from runner.experiment.bench import CONTROL
from runner.experiment.parts import PARTS, name_of, telling
from runner.model.result import Attempt
from runner.model.words import GilMode, Outcome
from tests.unit.verdict.building import plan, result


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


def test_a_part_whose_known_failure_is_another_one_is_not_repeated() -> None:
    race = "TypeError: 'NoneType' object is not a mapping"
    failures = {
        "test_import": Attempt(outcome=Outcome.PASSED),
        "test_compile_add": Attempt(outcome=Outcome.FAILED, message="KeyError: 1"),
        "test_autotune_from_threads": Attempt(
            outcome=Outcome.FAILED, message=race, stack="triton/runtime/autotuner.py"
        ),
    }
    tests = {f"test_control.py::{name}": attempt for name, attempt in failures.items()}
    ran = result(plan(gils=(GilMode.OFF,)), "py3.13t-gil-off-triton3.3.1", tests)
    observer = Observer(built_in())
    assert telling(ran, observer, {"hang", ""}) == ("test_compile_add",)
    assert telling(ran, observer, {"autotuner-nargs-none"}) == ("test_compile_add", "test_autotune_from_threads")
