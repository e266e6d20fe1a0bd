"""Slips of the pen in Python versions, against what the real uv knows."""

from __future__ import annotations

import pytest

from runner.environment.releases import known_builds, why_no_such_python
from runner.model.cell import PythonBuild


def test_uv_names_both_builds() -> None:
    known = {str(build) for build in known_builds()}
    assert {"3.12.1", "3.13.0", "3.13.0t"} <= known
    assert "3.12.1t" not in known


@pytest.mark.parametrize("text", ["3.12", "3.13t", "3.13.0", "3.14t"])
def test_what_exists_is_no_slip(text: str) -> None:
    assert why_no_such_python(PythonBuild.parse(text)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3.31t", "there is no Python 3.31t; the newest is 3."),
        ("3.99", "there is no Python 3.99; the newest is 3."),
        ("3.12.77", "there is no Python 3.12.77; the newest 3.12 is 3.12."),
    ],
)
def test_a_slip_is_named_with_the_newest_that_exists(text: str, said: str) -> None:
    assert (why_no_such_python(PythonBuild.parse(text)) or "").startswith(said)
