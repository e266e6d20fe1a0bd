"""Fitting parts into a budget: never over it, the important first, and nothing missing without a word."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from runner.github.room import Part, fit, size

ELSEWHERE = "The summary has everything."
PARTS = st.lists(
    st.builds(
        Part,
        name=st.sampled_from(["rows", "findings"]),
        head=st.text("abé", max_size=300),
        items=st.lists(st.text("bü", min_size=1, max_size=400), max_size=20).map(tuple),
        tail=st.text("c", max_size=50),
        rank=st.integers(0, 3),
    ),
    max_size=6,
)


@given(PARTS, st.integers(600, 9_000))
def test_never_over_the_budget_and_nothing_is_missing_silently(parts: list[Part], budget: int) -> None:
    text = fit(parts, budget, ELSEWHERE)
    assert size(text) <= budget
    whole = "\n\n".join(part.shown(len(part.items)) for part in parts) + "\n"
    assert (text == whole) == ("Left out" not in text)


def test_the_lowest_rank_is_placed_first_and_the_order_is_kept() -> None:
    parts = [
        Part("chapters", "first", ("x" * 300,) * 3, rank=1),
        Part("words", "last", rank=0),
        Part("pictures", "y" * 500, rank=2),
    ]
    text = fit(parts, 1_200, ELSEWHERE)
    assert re.sub(r"x+", "x", text) == (
        "first\nx\nx\n\n1 more chapters are not shown.\n\nlast\n\n"
        f"Left out for want of room: 1 chapters, 1 pictures. {ELSEWHERE}\n"
    )
