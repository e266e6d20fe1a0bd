"""baseline.json: what a result set is compared with, and why it is not compared with anything."""

from __future__ import annotations

from typing import ClassVar

from pydantic import AwareDatetime, Field

from runner.model.document import Document, Value


class Origin(Value):
    """Where a baseline comes from.

    Attributes:
        place: the branch whose run made it, or the folder that was given.
        commit: that the run tested; None for a folder.
        run: its id on GitHub; None for a folder.
        made: when.
    """

    place: str
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")
    run: int | None = None
    made: AwareDatetime


class Baseline(Document):
    """What was looked for and found.

    Attributes:
        origin: of the baseline; None where there is none.
        remarks: sentences on why there is none, or what of it cannot be used.
    """

    SCHEMA: ClassVar[str] = "triton-compat/baseline/1"
    WRITER: ClassVar[str] = "triton-compat baseline"

    origin: Origin | None = None
    remarks: tuple[str, ...] = ()
