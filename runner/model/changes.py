"""What changed since an earlier result set, as it stands in verdict.json."""

from __future__ import annotations

from pydantic import Field

from runner.model.document import Value
from runner.model.words import Change


class ChangedTest(Value):
    """A test with one kind of change, and the cells in which it changed so."""

    test: str
    change: Change
    cells: tuple[str, ...]


class Changes(Value):
    """A comparison with a baseline, summed up.

    Attributes:
        made: when the baseline was planned, ISO 8601.
        cells: how many cells have a result on both sides; only their tests are counted.
        counts: changes that occur, with the number of tests, each counted in each cell.
        named: tests that regressed, are flaky, are gone or were fixed, in this order; of each kind the first few.
        unnamed: how many more tests there are of a kind.
        new_cells, gone_cells: ids of cells that one side alone has. A cell of the plan without a result is not gone.
        failed_before: cells that failed in the baseline already and in which no other test fails now.
    """

    made: str
    cells: int
    counts: dict[Change, int] = Field(default_factory=dict)
    named: tuple[ChangedTest, ...] = ()
    unnamed: dict[Change, int] = Field(default_factory=dict)
    new_cells: tuple[str, ...] = ()
    gone_cells: tuple[str, ...] = ()
    failed_before: tuple[str, ...] = ()
