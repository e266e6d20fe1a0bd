"""The truth about the GIL of one cell: what the workers said of it, folded into one state."""

from __future__ import annotations

from collections.abc import Iterable

from runner.model.result import GilState, TestResult
from runner.model.words import GilMode


class GilRecord:
    """What is known of the GIL so far.

    Attributes:
        state: as it will stand in the result.
    """

    def __init__(self, requested: GilMode) -> None:
        self.state = GilState(requested=requested)
        self._now: bool | None = None

    def begin(self, *, enabled: bool, free_threaded_build: bool, first: bool) -> None:
        """A worker came up; the first one says how the cell began."""
        if first:
            self._update(free_threaded_build=free_threaded_build, enabled_at_start=enabled)
        self._now = enabled

    def note(self, enabled: bool, during: str | None) -> None:
        """The state as it is now, and the test or file that is (or was just) running."""
        self._now = enabled
        state = self.state
        if state.enabled_by is None and state.enabled_by_test is None and enabled != state.enabled_at_start:
            self._update(enabled_by_test=during)

    def switch(self, module: str | None, *, enabled: bool, during: str | None) -> None:
        """An import switched the GIL on; with no module: that was undone."""
        self.note(enabled, during)
        if module is None:
            self._update(enabled_by=None, enabled_by_test=None)
        elif self.state.enabled_by is None:
            self._update(enabled_by=module, enabled_by_test=during)

    def end(self) -> None:
        """A worker ended: one that ended with the GIL on is enough."""
        if self._now is not None:
            self._update(enabled_at_end=bool(self.state.enabled_at_end or self._now))

    def _update(self, **changes: object) -> None:
        self.state = GilState.model_validate({**self.state.model_dump(), **changes})


def follow_tests(state: GilState, tests: Iterable[TestResult]) -> GilState:
    """Add the state after each test file, and the first test after which the GIL was on.

    Args:
        state: of a finished cell.
        tests: in the order in which they ran.
    """
    if not state.free_threaded_build:
        return state
    files: dict[str, bool] = {}
    first: str | None = None
    for test in tests:
        enabled = test.attempts[0].gil_enabled
        if enabled is None:
            continue
        files[test.file or test.id.split("::")[0]] = enabled
        if enabled and first is None:
            first = test.id
    return state.model_copy(update={"enabled_after_files": files, "first_test_enabled": first})
