"""Names and texts of tests: bounded, printable, the same in every process."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

INSIDE = Path(__file__).parents[3] / "runner" / "inside" / "_triton_compat"


@pytest.fixture(scope="module")
def text() -> ModuleType:
    """Loaded by path, as a worker does."""
    spec = importlib.util.spec_from_file_location("_triton_compat_text_under_test", INSIDE / "text.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_name_becomes_one_printable_line(text: ModuleType) -> None:
    assert text.clean_id("t.py::test[a\nb\x1b\udc80é]") == "t.py::test[a\\nb\\x1b\\udc80é]"
    assert text.clean_id("t.py::test[plain]") == "t.py::test[plain]"


def test_long_names_stay_apart(text: ModuleType) -> None:
    one, other = text.clean_id("x" * 5000 + "a"), text.clean_id("x" * 5000 + "b")
    assert one != other
    assert len(one) <= text.ID_CHARS


def test_duplicates_are_numbered_around_names_that_are_taken(text: ModuleType) -> None:
    assert text.number_duplicates(["a", "b"]) == ["a", "b"]
    assert text.number_duplicates(["a", "a", "a#2", "a"]) == ["a", "a#3", "a#2", "a#4"]


def test_long_texts_keep_head_and_tail(text: ModuleType) -> None:
    bounded = text.bound("h" * 1000 + "m" * 100_000 + "t" * 1000, 3000)
    assert bounded.startswith("h" * 1000)
    assert bounded.endswith("t" * 1000)
    assert "[... 99000 characters left out ...]" in bounded


def test_lone_surrogates_become_escapes(text: ModuleType) -> None:
    assert text.bound("\udc80", 10) == "\\udc80"
