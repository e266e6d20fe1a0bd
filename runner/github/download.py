"""A file from an address that GitHub signed: bounded in bytes and time, and the token stays here."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import requests
from urllib3.exceptions import HTTPError

from runner.errors import GitHubError
from runner.github.api import GitHub

_SECONDS = 120.0
_TRIES = 2
_CHUNK = 2**16
_OK = 200


def download(
    github: GitHub, path: str, target: BinaryIO, *, needs: str, limit: int, clock: Callable[[], float]
) -> None:
    """Write a file of the repository into `target`.

    Each try asks for an address of its own: one is good for a minute.

    Args:
        github: the repository.
        path: relative to it; GitHub redirects it.
        target: empty, and can be sought in.
        needs: the permission.
        limit: bytes.
        clock: seconds that only grow.

    Raises:
        GitHubError: it was refused, is too large, took too long, or did not arrive whole.
    """
    end = clock() + _SECONDS
    with requests.Session() as session:  # one that never knew the token
        session.trust_env, session.auth = github.session.trust_env, _anonymously
        session.headers.update({"User-Agent": str(github.session.headers["User-Agent"]), "Accept-Encoding": "identity"})
        for left in reversed(range(_TRIES)):
            address = github.address(path, needs=needs)
            target.seek(0)  # an artifact never changes, so the second try is no shorter
            try:
                _receive(session, address, github.timeout, target, limit, lambda: clock() < end)
            except (requests.RequestException, HTTPError) as error:
                if left:
                    continue
                raise GitHubError(f"it did not arrive whole ({_cause(error)})") from error
            return


def _receive(
    session: requests.Session,
    address: str,
    timeout: tuple[float, float],
    target: BinaryIO,
    limit: int,
    in_time: Callable[[], bool],
) -> None:
    with session.get(address, stream=True, timeout=timeout, allow_redirects=False) as answer:
        if answer.status_code != _OK:
            raise requests.HTTPError(f"the storage answered {answer.status_code}", response=answer)
        received = 0
        for chunk in answer.iter_content(_CHUNK):
            received += len(chunk)
            if received > limit:
                raise GitHubError(f"it has more than {limit:,} bytes")
            if not in_time():
                raise GitHubError(f"it took more than {_SECONDS:.0f} s")
            target.write(chunk)


def _anonymously(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """The signature is in the address; without this requests would look for a login in ~/.netrc."""
    return request


def _cause(error: Exception) -> str:
    """A status in words, or the kind of error: its text holds the address, and that is as good as a key."""
    return str(error) if isinstance(error, requests.HTTPError) else type(error).__name__
