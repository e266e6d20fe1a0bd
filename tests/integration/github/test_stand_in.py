"""The stand-in itself: it takes nothing and gives nothing that GitHub's description does not know."""

from __future__ import annotations

import pytest
import requests

from tests.github_server.description import MisfitError, document, find_operation
from tests.github_server.operations import RULES
from tests.github_server.server import GitHubServer
from tests.github_server.state import Pull
from tests.integration.github.conftest import HEAD

AUTHORIZED = {"Authorization": "Bearer token"}
REPOSITORY = "/repos/octo/kernels"


@pytest.mark.parametrize(
    ("method", "path", "body", "misfit"),
    [
        ("POST", "/issues/7/comments", {"text": "x"}, "'body' is a required property"),
        ("POST", "/issues/7/comments", {"body": 1}, "is not of type 'string'"),
        ("GET", "/issues/7/comments?sort=up", None, "knows no parameter 'sort'"),
        ("GET", "/issues/seven/comments", None, "invalid literal"),
        ("POST", "/issues/comments/1/reactions", {"content": "stare"}, "is not one of"),
        ("GET", "/pulls?state=half", None, "is not one of"),
        ("GET", "/branches", None, "is no operation of the stand-in"),
        ("DELETE", "/pulls/7", None, "is no operation of the stand-in"),
    ],
)
def test_a_request_that_github_does_not_describe_is_noted(
    method: str, path: str, body: dict[str, object] | None, misfit: str
) -> None:
    with GitHubServer() as server:
        server.state.pulls[7] = Pull(7, HEAD)
        comment = server.state.comment(7, "x")
        path = path.replace("comments/1/", f"comments/{comment.id}/")
        answer = requests.request(
            method, server.url + REPOSITORY + path, json=body, headers=AUTHORIZED, timeout=30, proxies={"http": ""}
        )
    assert answer.status_code in {404, 422}
    assert len(server.misfits) == 1
    assert misfit in server.misfits[0]


def test_an_answer_that_github_would_not_give_is_noted() -> None:
    operation = find_operation("GET", f"{REPOSITORY}/pulls/7")
    assert operation is not None
    with pytest.raises(MisfitError, match="required property"):
        operation.check_answer(200, {"number": 7})
    with pytest.raises(MisfitError, match="never answers 201"):
        operation.check_answer(201, {})


def test_the_stand_in_does_every_operation_that_is_committed_and_no_other() -> None:
    described = {
        f"{method.upper()} {path.removeprefix('/repos/{owner}/{repo}')}"
        for path, methods in document()["paths"].items()
        for method in methods
    }
    assert set(RULES) == described
