"""How a worker is stopped once a deadline has passed: its stacks, then SIGTERM, then SIGKILL."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from runner.execution.processes import end_group
from runner.execution.worker import WorkerProcess

STACK_SECONDS = 3.0
"""For the stacks to arrive after they were asked for."""
QUIET_SECONDS = 0.15
"""Without more text after this the stacks are taken as complete."""
HURRIED_SECONDS = 0.3
"""The same while memory runs out."""
GRACE_SECONDS = 1.0
"""Between SIGTERM and SIGKILL."""


class Stop:
    """The steps that are left, each with how long it is given.

    Args:
        worker: still running.
        hurried: memory runs out, so there is no time to ask it politely.
    """

    def __init__(self, worker: WorkerProcess, *, hurried: bool) -> None:
        self._steps: list[tuple[Callable[[], None], float]] = [
            (worker.ask_for_stacks, HURRIED_SECONDS if hurried else STACK_SECONDS)
        ]
        if not hurried:
            self._steps.append((lambda: end_group(worker.pid, signal.SIGTERM), GRACE_SECONDS))
        self._steps.append((lambda: end_group(worker.pid, signal.SIGKILL), float("inf")))
        self._until = 0.0
        self._taken = 0

    def due(self, dumped_at: float | None) -> float:
        """When the next step is to be taken, on the monotonic clock.

        Args:
            dumped_at: when the last piece of the stacks arrived, or None.
        """
        are_arriving = self._taken == 1 and dumped_at is not None
        return min(self._until, (dumped_at or 0.0) + QUIET_SECONDS) if are_arriving else self._until

    def step(self) -> None:
        """Take the next step."""
        take, seconds = self._steps[self._taken]
        self._taken += 1
        take()
        self._until = time.monotonic() + seconds
