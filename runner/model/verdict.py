"""verdict.json: one word for the matrix, and the findings behind it."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from runner.model.changes import Changes
from runner.model.document import Document, Value
from runner.model.words import Cause, Confidence, Outcome, Status, VerdictWord

RACED = "race-"
"""The beginning of such roots' ids."""


class Evidence(Value):
    """One piece of evidence, as a sentence with its numbers.

    Attributes:
        kind: `contrast`, `signature`, `control`, `count`, `observation`.
        text: plain text in our words; quoted test output is bounded and never interpreted.
    """

    kind: str
    text: str


class Finding(Value):
    """A group of like failures with a cause, its evidence and the next step."""

    id: str
    cause: Cause
    title: str
    cells: tuple[str, ...]
    tests: tuple[str, ...] = ()
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    next_step: str

    @property
    def root(self) -> str:
        """Id of the root that it is about, as in contrasts.json."""
        return self.id.removeprefix(f"{self.cause.value}-")

    @property
    def is_raced(self) -> bool:
        """It is about what fails only where several threads run one test at once."""
        return self.root.startswith(RACED)


class CellVerdict(Value):
    """A cell's line in the verdict.

    Attributes:
        id: cell id.
        status: of the cell.
        counts: outcomes that occur, with how many tests have each.
        reason: why it is not a plain pass.
        expected: an expectation that has not expired covers everything that went wrong in it.
    """

    id: str
    status: Status
    counts: dict[Outcome, int] = Field(default_factory=dict)
    reason: str | None = None
    expected: bool = False


class Verdict(Document):
    """The verdict for the whole matrix.

    Attributes:
        verdict: the word.
        sentence: it in words with counts.
        findings: blockers first.
        cells: every planned cell, in the plan's order.
        notes: what was expected and did not happen, expectations that expired, and the like.
        changes: since the baseline; None when there was none to compare with.
    """

    SCHEMA: ClassVar[str] = "triton-compat/verdict/1"
    WRITER: ClassVar[str] = "triton-compat judge"

    verdict: VerdictWord
    sentence: str
    findings: tuple[Finding, ...] = ()
    cells: tuple[CellVerdict, ...]
    notes: tuple[str, ...] = ()
    changes: Changes | None = None
