from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.plan import values


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("30s", 30), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("1.5h", 5400), ("2m5s", 125), ("0.5", 0.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert math.isclose(values.duration(text), seconds)


@pytest.mark.parametrize(
    "text", ["", "fast", "5 m", "m", "1m2h", "-1", "1e3", "0", "0s", "169h", "9" * 400, "٣", "inf"]
)
def test_wrong_durations(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        values.duration(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [("8GiB", 8 * 2**30), ("512MB", 512 * 10**6), ("1.5 kib", 1536), ("1024", 1024), ("7B", 7), ("2TiB", 2**41)],
)
def test_sizes(text: str, found: int) -> None:
    assert values.size(text) == found


def test_wrong_sizes_say_what_was_meant() -> None:
    with pytest.raises(ValueError, match="did you mean '8GiB'"):
        values.size("8G")
    for text in ("", "GiB", "8XB", "-1", "0", "0.1B", "9" * 400):
        with pytest.raises(ValueError, match="size"):
            values.size(text)


def test_numbers_have_bounds() -> None:
    assert [values.number(text, 2, 64) for text in ("2", "64")] == [2, 64]
    for text in ("1", "65", "-2", "2.0", "", "two", "٣", "9" * 400):
        with pytest.raises(ValueError, match="not a whole number from 2 to 64"):
            values.number(text, 2, 64)


@given(st.text())
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    for read in (
        values.python_build,
        values.gil_mode,
        values.duration,
        values.size,
        values.boolean,
        values.date,
        values.compute_capability,
        values.link,
        values.sentence,
        values.label,
        values.relative_folder,
        values.executable,
        values.environment_name,
        values.variable_name,
        values.variable_value,
        values.arguments,
        values.requirement,
    ):
        try:
            read(text)
        except ValueError as error:
            assert str(error).isprintable(), error  # noqa: PT017 - that it raises is not what is tested


@pytest.mark.parametrize(
    ("text", "meant"),
    [("313", "3.13"), ("3.13-t", "3.13t"), ("py3.13t", "3.13t"), ("cp314t", "3.14t"), ("3.13+freethreaded", "3.13t")],
)
def test_a_python_that_is_nearly_right(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
        values.python_build(text)


def test_no_free_threaded_build_before_its_time() -> None:
    with pytest.raises(ValueError, match=r"no free-threaded Python before 3\.13"):
        values.python_build("3.12t")


@pytest.mark.parametrize(
    ("text", "meant"), [("yes", "on"), ("False", "off"), ("of", "off"), ("ON", "on"), ("defualt", "default")]
)
def test_a_gil_mode_that_is_nearly_right(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
        values.gil_mode(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("9", "9.0"), ("sm90", "9.0"), ("sm_90a", "9.0"), ("100", "10.0"), ("86", "8.6")]
)
def test_a_compute_capability_that_is_nearly_right(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
        values.compute_capability(text)


@pytest.mark.parametrize("text", ["2027-02-30", "20270131", "2027-W01-1", "tomorrow", "2027-1-1", "٢٠٢٧-01-01"])
def test_dates_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"date|day of the calendar"):
        values.date(text)


def test_the_name_of_an_existing_python() -> None:
    assert values.environment_name("conda-3.12") == "conda-3.12"
    for text in ("py3.12", "a b", "../x", "x" * 65, ""):
        with pytest.raises(ValueError, match=r"name|may hold|longer"):
            values.environment_name(text)


def test_the_gil_variable_belongs_to_the_axis() -> None:
    with pytest.raises(ValueError, match="PYTHON_GIL cannot be set: the gil axis sets it"):
        values.variable_name("PYTHON_GIL")


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_process_can_be_given(text: str) -> None:
    with pytest.raises(ValueError, match="no environment variable can have"):
        values.variable_value(text)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        (".", True),
        ("./a[test]", True),
        ("/abs", True),
        ("sub/dir", True),
        ("numpy", False),
        ("numpy[x]>=2", False),
        ("git+https://h/p", False),
        ("a @ https://h/p", False),
    ],
)
def test_folders_and_requirements(text: str, folder: bool) -> None:
    assert values.is_folder(text) is folder


def test_direct_links_are_refused() -> None:
    with pytest.raises(ValueError, match="direct link"):
        values.requirement("a @ https://example.org/a.whl")
