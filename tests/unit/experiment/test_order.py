from __future__ import annotations

from runner.experiment.order import most_telling_first


def test_each_next_cell_shows_what_most_cells_show_and_none_before_it() -> None:
    roots = {
        "rare": {"rare"},
        "common": {"common"},
        "both": {"common", "twice"},
        "again": {"common", "twice"},
        "none": set[str](),
    }
    assert most_telling_first(roots) == ("both", "rare", "common", "again", "none")


def test_cells_that_tell_as_much_stay_in_their_order() -> None:
    assert most_telling_first({"b": {"x"}, "a": {"y"}, "c": {"x"}}) == ("b", "a", "c")
    assert most_telling_first({}) == ()
