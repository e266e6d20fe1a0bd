"""The marker survives names that want to break it, and nothing else is taken for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.github.stamp import Stamp, identity

HEAD = "a" * 40


@given(st.text(max_size=400), st.text(max_size=400), st.integers(1, 10**9), st.integers(1, 999))
def test_what_is_written_is_read_again(matrix: str, workflow: str, run: int, attempt: int) -> None:
    stamp = Stamp(identity(matrix, workflow), HEAD, run, attempt)
    assert Stamp.read(f"{stamp}\nbody") == stamp
    assert Stamp.read(f"{stamp}\r\nbody") == stamp
    assert str(stamp).count("--") == 2
    assert len(str(stamp)) < 600


@given(st.text(max_size=300), st.text(max_size=300))
def test_different_names_have_different_identities(one: str, other: str) -> None:
    same = one.encode("utf-8", "replace") == other.encode("utf-8", "replace") or {one, other} <= {"", " "}
    assert (identity(one, "w") == identity(other, "w")) == same


@pytest.mark.parametrize(
    "body",
    [
        "",
        "hello",
        f"> {Stamp('m@w', HEAD, 1, 1)}",
        f"hello\n{Stamp('m@w', HEAD, 1, 1)}",
        f"{Stamp('m@w', HEAD, 1, 1)} and more",
        str(Stamp("m@w", HEAD, 1, 1)).replace("run=1", "run=0"),
        str(Stamp("m@w", HEAD[1:], 1, 1)),
        str(Stamp("m@w", HEAD, 10**40, 1)),
    ],
)
def test_anything_else_is_no_marker(body: str) -> None:
    assert Stamp.read(body) is None


def test_the_newer_run_and_the_later_attempt_are_newer() -> None:
    ages = [Stamp("m@w", HEAD, run, attempt).age for run, attempt in [(9, 3), (10, 1), (10, 2)]]
    assert ages == sorted(ages)


def test_an_identity_is_readable() -> None:
    assert identity("sm90", ".github/workflows/kernels.yml") == "sm90@.github/workflows/kernels.yml"
