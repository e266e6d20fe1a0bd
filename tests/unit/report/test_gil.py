from __future__ import annotations

from typing import Any

import pytest

from runner.model.result import GilState
from runner.model.words import GilMode
from runner.report.gil import gil_course, gil_in_words, is_changing


def state(files: dict[str, bool], **more: Any) -> GilState:
    return GilState(requested=GilMode.DEFAULT, free_threaded_build=True, enabled_after_files=files, **more)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, ""),
        ({"a.py": True}, "on after a.py"),
        ({"a.py": False, "b.py": False}, "off after each of 2 test files"),
        ({"a.py": False, "b.py": True}, "off after a.py, on after b.py"),
        (
            {"a.py": False, "b.py": False, "c.py": True, "d.py": True, "e.py": True},
            "off after a.py and 1 more file, on after c.py and 2 more files",
        ),
        ({"a.py": False, "b.py": True, "c.py": False}, "off after a.py, on after b.py, off after c.py"),
        (
            {f"{number}.py": bool(number % 2) for number in range(7)},
            "off after 0.py, on after 1.py, off after 2.py, on after 3.py, and it changed 3 more times",
        ),
    ],
)
def test_the_course_names_every_change_and_no_more(files: dict[str, bool], said: str) -> None:
    assert gil_course(state(files)) == said
    assert is_changing(state(files)) == (len(set(files.values())) == 2)


def test_everything_is_said_once() -> None:
    gil = state(
        {"tests/test_a.py": False, "tests/test_b.py": True, "tests/test_c.py": True},
        enabled_at_start=False,
        enabled_at_end=True,
        enabled_by="triton._C.libtriton",
        enabled_by_test="tests/test_b.py::test_x",
        first_test_enabled="tests/test_b.py::test_x",
    )
    said = gil_in_words(gil)
    assert said == (
        "asked default; off at start, off after tests/test_a.py, on after tests/test_b.py and 1 more file, on at end; "
        "switched on by the import of triton._C.libtriton in tests/test_b.py::test_x"
    )


def test_a_flip_outside_of_imports_has_a_place_and_no_module() -> None:
    gil = state(
        {"a.py": False, "b.py": True},
        enabled_at_start=False,
        enabled_at_end=True,
        enabled_by_test="conftest.py",
        first_test_enabled="b.py::test_y",
    )
    said = gil_in_words(gil)
    assert said.endswith("; switched on in conftest.py; the first test with it on was b.py::test_y")


def test_names_from_tests_are_bounded_and_visible() -> None:
    hostile = "x" * 10_000 + "\x1b[2J\n::error::"
    gil = state(
        {hostile: False, "b.py": True},
        enabled_at_start=False,
        enabled_at_end=True,
        enabled_by=hostile,
        enabled_by_test=hostile,
        first_test_enabled=hostile + "!",
    )
    said = gil_in_words(gil)
    assert len(said) < 1_000
    assert said.isprintable()
