"""GitHub's REST interface as far as it is used here: bounded retries, pages, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProxyError

from runner.errors import GitHubError
from runner.github.refusal import explain
from runner.github.retry import OVERLOADED, bounded_retry

_REFUSED = 300
"""From this status on nothing was done."""
_MOST_PAGES = 100
PAGE = 100
"""Objects of a list that are asked for at once."""


class LostAnswerError(GitHubError):
    """A POST was sent and no usable answer came: it may or may not have been done. Look before sending it again."""


class _Bearer(AuthBase):
    """A token as `auth`: a header alone would give way to a line in ~/.netrc."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


@dataclass(frozen=True)
class Made:
    """The answer to a POST: its status, the object, and GitHub's clock as the `Date` header says it."""

    status: int
    body: Any
    date: str


@dataclass(frozen=True)
class GitHub:
    """One repository on one GitHub, github.com or a server of one's own.

    Attributes:
        session: made by `open_session`; proxies and certificates come from the environment, as requests reads them.
        api_url: such as `https://api.github.com` or `https://github.example.com/api/v3`.
        repository: `owner/name`.
        timeout: seconds to connect, and seconds between two bytes of an answer.
    """

    session: requests.Session
    api_url: str
    repository: str
    timeout: tuple[float, float] = (10.0, 30.0)

    def get(self, path: str, *, needs: str, params: Mapping[str, str] | None = None) -> Any:
        """One object. `path` is relative to the repository; `needs` is the permission, for the error's sentence."""
        return self._ask("GET", self._url(path), needs=needs, params=params).json()

    def pages(
        self, path: str, *, needs: str, params: Mapping[str, str] | None = None, under: str | None = None
    ) -> Iterator[Any]:
        """Every object of a list over all its pages; `under` is the key of lists that are objects."""
        url: str | None = self._url(path)
        query: Mapping[str, str] | None = {"per_page": str(PAGE), **(params or {})}
        for _ in range(_MOST_PAGES):
            answer = self._ask("GET", str(url), needs=needs, params=query)
            page = answer.json()
            yield from page if under is None else page[under]
            url, query = answer.links.get("next", {}).get("url"), None
            if url is None:
                return
        raise GitHubError(f"{path} has more than {_MOST_PAGES} pages; reading stopped there.")

    def address(self, path: str, *, needs: str) -> str:
        """Where GitHub sends whoever asks for a file: another host, with a signature in the address.

        Raises:
            GitHubError: there is none; with what to do.
        """
        what = self._url(path)
        found = self._ask("GET", what, needs=needs, redirects=False).headers.get("Location", "")
        if not found.startswith(("https://", f"{self.api_url.partition('://')[0]}://")):
            raise GitHubError(f"GET {what} led to no address that a file could have.")
        return found

    def post(self, path: str, body: Mapping[str, Any], *, needs: str) -> Made:
        """Make something. Never sent twice.

        Raises:
            LostAnswerError: it may have been done.
            GitHubError: it was not done.
        """
        answer = self._ask("POST", self._url(path), needs=needs, body=body)
        return Made(answer.status_code, answer.json(), answer.headers.get("Date", ""))

    def patch(self, path: str, body: Mapping[str, Any], *, needs: str) -> Any:
        """Change something to what `body` says."""
        return self._ask("PATCH", self._url(path), needs=needs, body=body).json()

    def delete(self, path: str, *, needs: str) -> None:
        """Remove something; that it is gone already is no error."""
        try:
            self._ask("DELETE", self._url(path), needs=needs)
        except GitHubError as error:
            if error.status not in {404, 410}:
                raise

    def _url(self, path: str) -> str:
        return f"{self.api_url.rstrip('/')}/repos/{self.repository}{path}"

    def _ask(
        self,
        method: str,
        url: str,
        *,
        needs: str,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        redirects: bool = True,
    ) -> requests.Response:
        what = f"{method} {url}"
        try:
            # urllib3 tries again until an answer begins; one that breaks off half-way is left to us.
            tries = 1 if method == "POST" else 2
            # requests would turn a redirected POST into a GET.
            answer = self._send(method, url, params, body, tries=tries, follow=redirects and method == "GET")
        except (requests.RequestException, HTTPError, ValueError) as error:
            kind = LostAnswerError if method == "POST" and not _was_not_sent(error) else GitHubError
            raise kind(f"{what}: {_cause(error)}", remedy=_UNREACHABLE) from error
        if answer.status_code < _REFUSED or (answer.is_redirect and not redirects):
            return answer
        message, remedy = explain(answer.status_code, answer.headers, answer.text, needs)
        kind = LostAnswerError if method == "POST" and answer.status_code in OVERLOADED else GitHubError
        raise kind(f"{what}: {message}", remedy=remedy, status=answer.status_code)

    def _send(
        self,
        method: str,
        url: str,
        params: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        *,
        tries: int,
        follow: bool,
    ) -> requests.Response:
        """One request, answered whole and, when it was done, in JSON."""
        try:
            answer = self.session.request(
                method,
                url,
                params=params,
                json=body,
                timeout=self.timeout,
                allow_redirects=follow,
            )
            if answer.status_code < _REFUSED and answer.content:
                answer.json()
        except (requests.exceptions.ChunkedEncodingError, requests.exceptions.JSONDecodeError):
            if tries <= 1:
                raise
            return self._send(method, url, params, body, tries=tries - 1, follow=follow)
        return answer


_UNREACHABLE = (
    "GitHub could not be reached or did not answer whole; check the runner's network, its proxy (HTTPS_PROXY, "
    "NO_PROXY) and GITHUB_API_URL, then run this job again. The verdict is not affected."
)


def open_session(
    token: str, *, pause: Callable[[float], None], budget: float = 60.0, user_agent: str = "triton-compat"
) -> requests.Session:
    """A session with GitHub's headers, the token, and retries that wait `budget` seconds at most per request.

    Args:
        token: `GITHUB_TOKEN` or another; it is sent to no other host.
        pause: waits for a number of seconds (`time.sleep`).
        budget: seconds.
        user_agent: GitHub refuses requests without one.
    """
    retry = bounded_retry(pause, budget)
    session = requests.Session()
    session.auth = _Bearer(token)
    session.headers.update(
        {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": user_agent}
    )
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    return session


def _was_not_sent(error: Exception) -> bool:
    """Whether no connection came about, so that nothing can have been done."""
    return isinstance(_innermost(error), (NewConnectionError, ConnectTimeoutError, ProxyError))


def _cause(error: Exception) -> str:
    """The innermost reason, in one bounded line."""
    inner = _innermost(error)
    return " ".join(f"{type(inner).__name__}: {inner}".split())[:300]


def _innermost(error: BaseException) -> BaseException:
    """What went wrong below the layers of requests and urllib3."""
    below = getattr(error, "reason", None) or next(iter(error.args), None)
    return _innermost(below) if isinstance(below, BaseException) else error
