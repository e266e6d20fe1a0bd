"""The stand-in, and a client for it that never sleeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from runner.github.api import GitHub, open_session
from runner.github.stamp import Stamp, identity
from tests.github_server.server import GitHubServer
from tests.github_server.state import Pull

HEAD = "a" * 40
Connect = Callable[..., GitHub]


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    """A repository with pull request 7, whose head is `HEAD`; what does not fit GitHub's description fails the test."""
    with GitHubServer() as stand_in:
        stand_in.state.pulls[7] = Pull(7, HEAD)
        yield stand_in
    assert stand_in.misfits == []


@pytest.fixture
def pauses() -> list[float]:
    """The seconds that a client would have slept."""
    return []


@pytest.fixture
def connect(server: GitHubServer, pauses: list[float]) -> Iterator[Connect]:
    """Make clients of the stand-in: `connect(token, timeout=seconds)`."""
    opened: list[GitHub] = []

    def open_one(token: str = "token", timeout: float = 30.0) -> GitHub:  # noqa: S107 - the stand-in knows this one
        session = open_session(token, pause=pauses.append)
        session.trust_env = False
        opened.append(GitHub(session, server.url, server.state.repository, (timeout, timeout)))
        return opened[-1]

    yield open_one
    for github in opened:
        github.session.close()


def stamp(run: int, attempt: int = 1, head: str = HEAD) -> Stamp:
    """The stamp of one run of the same matrix."""
    return Stamp(identity("sm90", ".github/workflows/kernels.yml"), head, run, attempt)
