"""The client against a server that refuses, breaks, keeps silent and loses answers."""

from __future__ import annotations

import pytest
import requests

from runner.errors import GitHubError
from runner.github.api import GitHub, LostAnswerError, open_session
from tests.github_server.faults import Fault, Harm
from tests.github_server.server import GitHubServer
from tests.github_server.state import READ, Pull, Token
from tests.integration.github.conftest import HEAD, Connect

GET_PULL = "GET /pulls/{pull_number}"
POST_COMMENT = "POST /issues/{issue_number}/comments"
COMMENTS = "/issues/7/comments"
WRITE = "pull-requests: write"


def post(github: GitHub) -> int:
    return github.post(COMMENTS, {"body": "hello"}, needs=WRITE).status


@pytest.mark.parametrize("harm", [Harm.RESET, Harm.LOST, Harm.TRUNCATED])
def test_a_get_over_a_broken_connection_is_asked_again(server: GitHubServer, connect: Connect, harm: Harm) -> None:
    server.faults.append(Fault(GET_PULL, harm, times=1))
    assert connect().get("/pulls/7", needs="pull-requests: read")["head"]["sha"] == HEAD
    assert server.requests == [GET_PULL] * 2


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_overloaded_github_is_asked_again_and_then_reported(
    server: GitHubServer, connect: Connect, pauses: list[float], status: int
) -> None:
    server.faults.append(Fault(GET_PULL, status=status, times=2))
    assert connect().get("/pulls/7", needs="pull-requests: read")["number"] == 7
    assert len(pauses) == 2
    server.faults.append(Fault(GET_PULL, status=status))
    with pytest.raises(GitHubError, match=f"answered {status}") as caught:
        connect().get("/pulls/7", needs="pull-requests: read")
    assert caught.value.status == status
    assert "fault of its own" in caught.value.remedy
    assert server.requests.count(GET_PULL) == 3 + 5


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_is_waited_for_as_long_as_it_says_even_by_a_post(
    server: GitHubServer, connect: Connect, pauses: list[float], status: int
) -> None:
    server.faults.append(Fault(POST_COMMENT, status=status, headers={"Retry-After": "7"}, times=2))
    assert post(connect()) == 201
    assert pauses == [7, 7]
    assert server.state.bodies() == ["hello"]


def test_a_limit_beyond_our_patience_is_reported_with_its_time(
    server: GitHubServer, connect: Connect, pauses: list[float]
) -> None:
    server.faults.append(Fault(POST_COMMENT, status=429, headers={"Retry-After": "3600"}))
    with pytest.raises(GitHubError, match="for 3600 s") as caught:
        post(connect())
    assert not isinstance(caught.value, LostAnswerError)
    assert pauses == []
    assert server.requests == [POST_COMMENT]


def test_patience_is_shared_by_all_tries_of_a_request(
    server: GitHubServer, connect: Connect, pauses: list[float]
) -> None:
    server.faults.append(Fault(GET_PULL, status=429, headers={"Retry-After": "25"}))
    with pytest.raises(GitHubError, match="answered 429"):
        connect().get("/pulls/7", needs="pull-requests: read")
    assert pauses == [25, 25]


def test_the_hourly_limit_is_told_from_a_missing_permission(server: GitHubServer, connect: Connect) -> None:
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767272400"}
    server.faults.append(Fault(GET_PULL, status=403, message="API rate limit exceeded", headers=headers))
    with pytest.raises(GitHubError, match=r"used up its share of requests until 13:00:00 UTC"):
        connect().get("/pulls/7", needs="pull-requests: read")


@pytest.mark.parametrize("harm", [Harm.RESET, Harm.LOST, Harm.TRUNCATED, Harm.APPLIED_THEN_STATUS])
def test_a_post_is_never_sent_twice(server: GitHubServer, connect: Connect, harm: Harm) -> None:
    server.faults.append(Fault(POST_COMMENT, harm, status=502))
    with pytest.raises(LostAnswerError):
        post(connect())
    assert server.requests == [POST_COMMENT]


@pytest.mark.parametrize("harm", [Harm.SILENT, Harm.SILENT_AFTER])
def test_a_silent_server_is_given_up(server: GitHubServer, connect: Connect, harm: Harm) -> None:
    server.faults.append(Fault(POST_COMMENT, harm))
    with pytest.raises(LostAnswerError, match="ReadTimeout"):
        post(connect(timeout=0.1))


def test_no_server_at_all_is_no_lost_answer(pauses: list[float]) -> None:
    with GitHubServer() as gone:
        url = gone.url
    with open_session("token", pause=pauses.append) as session:
        session.trust_env = False
        with pytest.raises(GitHubError, match="Connection refused") as caught:
            post(GitHub(session, url, "octo/kernels"))
    assert not isinstance(caught.value, LostAnswerError)
    assert len(pauses) == 4


@pytest.mark.parametrize(
    ("token", "said"),
    [("unknown", "answered 401 .*not valid"), ("fork", "answered 403 .*permissions: pull-requests: write.*fork")],
)
def test_a_token_that_may_not_write_is_told_what_lacks(
    server: GitHubServer, connect: Connect, token: str, said: str
) -> None:
    server.tokens["fork"] = Token(permissions={"pull-requests": READ})
    with pytest.raises(GitHubError, match=f"(?s){said}"):
        post(connect(token))


def test_a_locked_conversation_is_named(server: GitHubServer, connect: Connect) -> None:
    server.state.pulls[7].locked = True
    with pytest.raises(GitHubError, match="unlock it"):
        post(connect())


@pytest.mark.parametrize(
    ("status", "said"), [(404, "not there"), (410, "was deleted"), (422, "malformed or spam"), (418, "Run this job")]
)
def test_each_refusal_says_what_to_do(server: GitHubServer, connect: Connect, status: int, said: str) -> None:
    server.faults.append(Fault(GET_PULL, status=status))
    with pytest.raises(GitHubError, match=said):
        connect().get("/pulls/7", needs="pull-requests: read")


def test_too_long_a_body_is_refused_in_githubs_words(server: GitHubServer, connect: Connect) -> None:
    with pytest.raises(GitHubError, match="maximum is 65536 characters"):
        connect().post(COMMENTS, {"body": "x" * 65_537}, needs=WRITE)


def test_lists_are_read_over_all_pages_and_below_their_key(server: GitHubServer, connect: Connect) -> None:
    for number in range(205):
        server.state.comment(7, f"{number}")
    server.state.jobs[5, 1] = [{"id": number, "name": f"job {number}"} for number in range(101)]
    found = connect().pages(COMMENTS, needs="pull-requests: read")
    assert [item["body"] for item in found] == [str(number) for number in range(205)]
    jobs = list(connect().pages("/actions/runs/5/attempts/1/jobs", needs="actions: read", under="jobs"))
    assert len(jobs) == 101


def test_an_enterprise_server_has_a_path_before_its_repositories(pauses: list[float]) -> None:
    with GitHubServer(prefix="/api/v3") as server:
        server.state.pulls[7] = Pull(7, HEAD)
        for number in range(101):
            server.state.comment(7, f"{number}")
        with open_session("token", pause=pauses.append) as session:
            session.trust_env = False
            github = GitHub(session, server.url + "/", "octo/kernels")
            assert len(list(github.pages(COMMENTS, needs="pull-requests: read"))) == 101
    assert server.misfits == []


def test_the_token_wins_over_a_line_in_netrc(
    server: GitHubServer, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with open_session("token", pause=lambda _: None) as session:
        assert requests.utils.get_netrc_auth(server.url) == ("somebody", "else")
        assert GitHub(session, server.url, "octo/kernels").get("/pulls/7", needs="x")["number"] == 7


def test_a_proxy_of_the_environment_is_used(server: GitHubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with open_session("token", pause=lambda _: None) as session, pytest.raises(GitHubError, match="HTTPS_PROXY"):
        GitHub(session, server.url, "octo/kernels").get("/pulls/7", needs="x")
    assert server.requests == []
