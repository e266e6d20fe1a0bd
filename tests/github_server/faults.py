"""What goes wrong on purpose: the stand-in answers with an error, breaks the connection, or loses an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Harm(Enum):
    """How a request is harmed."""

    REFUSED = auto()
    """Answered with `status`; nothing is applied."""
    APPLIED_THEN_STATUS = auto()
    """Applied, and answered with `status` all the same, as an overloaded gateway does."""
    RESET = auto()
    """The connection is reset before anything is applied."""
    LOST = auto()
    """Applied, then the connection is reset: the answer is lost."""
    TRUNCATED = auto()
    """Applied, then half of the answer is sent and the connection closed."""
    SILENT = auto()
    """Nothing is applied and nothing is ever answered; the client has to give up."""
    SILENT_AFTER = auto()
    """Applied, and nothing is ever answered."""


@dataclass
class Fault:
    """A rule: the requests number `first` to `first + times - 1` that fit are harmed.

    Attributes:
        operation: as `Operation.name` says it, such as `POST /issues/{issue_number}/comments`.
        harm: see `Harm`.
        status: for the harms that answer.
        message: what the answer says.
        headers: of the answer, such as `Retry-After`.
        first: 1-based number of the first request that is harmed.
        times: how many are.
    """

    operation: str
    harm: Harm = Harm.REFUSED
    status: int = 500
    message: str = "Server Error"
    headers: Mapping[str, str] = field(default_factory=dict)
    first: int = 1
    times: int = 1_000_000
    seen: int = 0

    def strikes(self, operation: str) -> bool:
        """Count a request and say whether it is harmed."""
        if operation != self.operation:
            return False
        self.seen += 1
        return self.first <= self.seen < self.first + self.times
