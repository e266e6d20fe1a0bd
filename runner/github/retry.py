"""How often and how long an unhappy request is asked again: within a budget, and never twice what may not be."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import MaxRetryError
from urllib3.response import BaseHTTPResponse
from urllib3.util.retry import Retry

OVERLOADED = frozenset({500, 502, 503, 504})
_REPEATABLE = frozenset({"GET", "PATCH", "PUT", "DELETE"})
"""Methods that do no harm when they are done twice. A PATCH here always writes the whole."""
_TRIES = 4


class BoundedRetry(Retry):
    """Retries within a budget of time that all tries of one request share.

    Beyond urllib3's: a 403 or 429 with `Retry-After` (a secondary limit) is retried for every method, as GitHub did not
    apply the request; an answer that asks for more patience than is left is returned as it is.

    Attributes:
        budget: seconds of waiting that are left.
        pause: waits for a number of seconds.
    """

    budget: float = 60.0
    pause: Callable[[float], None] = staticmethod(lambda _: None)

    def new(self, **kwargs: Any) -> Self:
        """A copy, as urllib3 makes one for each try."""
        made = super().new(**kwargs)
        made.budget, made.pause = self.budget, self.pause
        return made

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        """Whether an answer with this status is to be asked for again."""
        if status_code in {403, 429}:
            return has_retry_after and bool(self.total)
        return super().is_retry(method, status_code, has_retry_after)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        """The retries that are left after this try; MaxRetryError, which hands the answer on, when there are none."""
        left = super().increment(method, url, response, error, _pool, _stacktrace)
        if response is not None and left.wait_for(response) > self.budget and _pool is not None:
            raise MaxRetryError(_pool, url or "", None)
        return left

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """Wait as long as the answer asks for, or longer with each try."""
        seconds = min(self.wait_for(response), self.budget)
        self.budget -= seconds
        self.pause(seconds)

    def wait_for(self, response: BaseHTTPResponse | None) -> float:
        """Seconds to wait before the next try."""
        asked = self.get_retry_after(response) if response is not None else None
        return self.get_backoff_time() if asked is None else asked


def bounded_retry(pause: Callable[[float], None], budget: float) -> BoundedRetry:
    """Retries of everything that does no harm when it is done twice.

    Args:
        pause: waits for a number of seconds.
        budget: seconds of waiting for each request.
    """
    retry = BoundedRetry(
        total=_TRIES,
        redirect=5,
        status_forcelist=OVERLOADED,
        allowed_methods=_REPEATABLE,
        backoff_factor=0.5,
        backoff_jitter=0.5,
        raise_on_status=False,
        respect_retry_after_header=True,
    )
    retry.budget, retry.pause = budget, pause
    return retry
