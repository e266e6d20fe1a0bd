"""summary.json: how one cell ended, in a few hundred bytes. Its result says the same in as many as a megabyte."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field

from runner.model.document import Document
from runner.model.result import CellResult
from runner.model.words import Outcome, Status


class CellSummary(Document):
    """What is shown of a cell while others run.

    Attributes:
        cell: its id.
        status, reason, counts, plan_sha: as in its result.
        seconds: wall time of the cell and of making its environment.
    """

    SCHEMA: ClassVar[str] = "triton-compat/summary/1"

    cell: str
    status: Status
    reason: str | None = None
    counts: dict[Outcome, int] = Field(default_factory=dict)
    seconds: float = 0.0
    plan_sha: str = ""

    @classmethod
    def of(cls, result: CellResult) -> Self:
        """The summary of a result."""
        return cls(
            cell=result.cell.id,
            status=result.status,
            reason=result.reason,
            counts=result.counts,
            seconds=result.seconds + result.environment_seconds,
            plan_sha=result.plan_sha,
        )
