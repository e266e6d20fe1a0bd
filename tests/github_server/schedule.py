"""Interleaving: several clients, one request at a time, in an order that the test chooses. Nothing sleeps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


class Turnstile:
    """Lets one request in at a time, once every client has either one waiting or has ended.

    So the order depends on `choose` alone, not on how threads are scheduled.

    Args:
        actors: names of the clients (their tokens).
        choose: from the sorted names of those who wait, who goes next.
    """

    def __init__(self, actors: Sequence[str], choose: Callable[[list[str]], str]) -> None:
        self._choose = choose
        self._running = set(actors)
        self._waiting: set[str] = set()
        self._granted: str | None = None
        self._changed = threading.Condition()
        self.order: list[str] = []

    @contextmanager
    def turn(self, actor: str) -> Iterator[None]:
        """Wait for one's turn; the next is let in when this one has been answered and its client asks again or ends."""
        with self._changed:
            self._running.discard(actor)
            self._waiting.add(actor)
            self._grant()
            self._changed.wait_for(lambda: self._granted == actor)
            self._waiting.discard(actor)
            self._running.add(actor)
            self.order.append(actor)
        try:
            yield
        finally:
            with self._changed:
                self._granted = None
                self._grant()

    def leave(self, actor: str) -> None:
        """The client asks for nothing more."""
        with self._changed:
            self._running.discard(actor)
            self._grant()

    def _grant(self) -> None:
        if self._granted is None and not self._running and self._waiting:
            self._granted = self._choose(sorted(self._waiting))
            self._changed.notify_all()
