"""What each operation does to the state: the rules that GitHub enforces, and the objects it answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.github_server import state as show
from tests.github_server.state import READ, WRITE, Comment, State, Token

LONGEST_BODY = 65_536
MOST_ANNOTATIONS = 50


class RefusalError(Exception):
    """GitHub says no, with a status and a message."""

    def __init__(self, status: int, message: str, errors: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.status = status
        body: dict[str, Any] = {"message": message, "documentation_url": "https://docs.github.com/rest"}
        self.body = body | ({"errors": errors} if errors else {})


@dataclass(frozen=True)
class Request:
    """One request as an operation sees it."""

    arguments: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    token: Token
    url: str
    state: State

    def number(self, name: str) -> int:
        """A number from the path."""
        return int(self.arguments[name])

    def comment(self) -> Comment:
        """The comment that the path names."""
        found = self.state.comments.get(self.number("comment_id"))
        if found is None:
            raise RefusalError(404, "Not Found")
        return found

    def own_comment(self) -> Comment:
        """The same, when the token may change it: a workflow's token may change its own comments alone here."""
        found = self.comment()
        if found.login != self.token.login:
            raise RefusalError(403, "Resource not accessible by integration")
        return found


@dataclass(frozen=True)
class Elsewhere:
    """What a redirect answers with instead of a body: `address` is relative to the storage."""

    address: str


Answer = tuple[int, Any]


def list_comments(request: Request) -> Answer:
    issue = request.number("issue_number")
    pull_of(request, issue)
    found = [comment for _, comment in sorted(request.state.comments.items()) if comment.issue == issue]
    return 200, [show.show_comment(comment, request.url) for comment in found]


def create_comment(request: Request) -> Answer:
    pull = pull_of(request, request.number("issue_number"))
    if pull.locked:
        raise RefusalError(403, "Unable to create comment because issue is locked.")
    check_body(request.body["body"])
    made = request.state.comment(pull.number, request.body["body"], request.token.login)
    return 201, show.show_comment(made, request.url)


def get_comment(request: Request) -> Answer:
    return 200, show.show_comment(request.comment(), request.url)


def update_comment(request: Request) -> Answer:
    comment = request.own_comment()
    check_body(request.body["body"])
    comment.body = request.body["body"]
    return 200, show.show_comment(comment, request.url)


def delete_comment(request: Request) -> Answer:
    del request.state.comments[request.own_comment().id]
    return 204, None


def create_reaction(request: Request) -> Answer:
    comment, key = request.comment(), (request.token.login, request.body["content"])
    status = 200 if key in comment.reactions else 201
    reaction = comment.reactions.setdefault(key, (next(request.state.numbers), request.state.now))
    return status, show.show_reaction(*key, reaction)


def list_reactions(request: Request) -> Answer:
    reactions = request.comment().reactions
    return 200, [show.show_reaction(*key, reaction) for key, reaction in reactions.items()]


def delete_reaction(request: Request) -> Answer:
    comment = request.comment()
    for key, (number, _) in list(comment.reactions.items()):
        if number == request.number("reaction_id"):
            del comment.reactions[key]
            return 204, None
    raise RefusalError(404, "Not Found")


def list_pulls(request: Request) -> Answer:
    wanted, head = request.query.get("state", "open"), request.query.get("head")
    found = [
        pull
        for _, pull in sorted(request.state.pulls.items())
        if wanted in {pull.state, "all"}
        and (head is None or head == f"{pull.head_repository.partition('/')[0]}:{pull.head_branch}")
    ]
    return 200, [show.show_pull(pull, request.state.repository, whole=False) for pull in found]


def get_pull(request: Request) -> Answer:
    pull = request.state.pulls.get(request.number("pull_number"))
    if pull is None:
        raise RefusalError(404, "Not Found")
    return 200, show.show_pull(pull, request.state.repository, whole=True)


def get_run(request: Request) -> Answer:
    run = request.state.runs.get(request.number("run_id"))
    if run is None:
        raise RefusalError(404, "Not Found")
    return 200, show.show_run(run, request.state)


def list_jobs(request: Request) -> Answer:
    jobs = request.state.jobs.get((request.number("run_id"), request.number("attempt_number")))
    if jobs is None:
        raise RefusalError(404, "Not Found")
    return 200, [show.show_job(job) for job in jobs]


def list_artifacts(request: Request) -> Answer:
    """Of one run or of all, the newest first."""
    state, name, run = request.state, request.query.get("name"), request.arguments.get("run_id")
    api = request.url.partition("/actions/")[0]
    return 200, [
        show.show_artifact(artifact, state, api)
        for _, artifact in sorted(state.artifacts.items(), reverse=True)
        if (name is None or artifact.name == name) and (run is None or artifact.run == int(run))
    ]


def download_artifact(request: Request) -> Answer:
    """Where the archive is, for a short while, for whoever has the address."""
    artifact = request.state.artifacts.get(request.number("artifact_id"))
    if artifact is None or request.arguments["archive_format"] != "zip":
        raise RefusalError(404, "Not Found")
    if artifact.expired:
        raise RefusalError(410, "Artifact has expired")
    signature = f"signature-{next(request.state.numbers)}"
    request.state.signed[signature] = artifact.id
    return 302, Elsewhere(f"/{artifact.id}?sig={signature}")


def create_check(request: Request) -> Answer:
    check_annotations(request.body)
    check = {**request.body, "id": next(request.state.numbers)}
    request.state.checks[check["id"]] = check
    return 201, show.show_check(check)


def update_check(request: Request) -> Answer:
    check = request.state.checks.get(request.number("check_run_id"))
    if check is None:
        raise RefusalError(404, "Not Found")
    check_annotations(request.body)
    check.update(request.body)
    return 200, show.show_check(check)


def list_checks(request: Request) -> Answer:
    ref, name = request.arguments["ref"], request.query.get("check_name")
    found = [check for check in request.state.checks.values() if check["head_sha"] == ref]
    return 200, [show.show_check(check) for check in found if name is None or check["name"] == name]


def pull_of(request: Request, number: int) -> show.Pull:
    """The pull request with that number (issues are not here)."""
    pull = request.state.pulls.get(number)
    if pull is None:
        raise RefusalError(404, "Not Found")
    return pull


def check_body(body: str) -> None:
    """GitHub's limits on what a comment says."""
    if not body.strip():
        raise RefusalError(422, "Validation Failed", [{"code": "missing_field", "field": "body"}])
    if len(body) > LONGEST_BODY or "\0" in body:
        message = f"Body is too long (maximum is {LONGEST_BODY} characters)"
        raise RefusalError(422, "Validation Failed", [{"code": "unprocessable", "field": "data", "message": message}])


def check_annotations(body: Mapping[str, Any]) -> None:
    """GitHub takes 50 annotations with one request."""
    if len(body.get("output", {}).get("annotations", ())) > MOST_ANNOTATIONS:
        raise RefusalError(422, "Invalid request.")


@dataclass(frozen=True)
class Rule:
    """How an operation is done and what it needs.

    Attributes:
        act: what it does.
        permission, access: what the token must have.
        under: the key under which a page of a list stands, for lists that are objects.
    """

    act: Callable[[Request], Answer]
    permission: str
    access: str = READ
    under: str | None = None


_COMMENT = "/issues/comments/{comment_id}"
RULES: dict[str, Rule] = {
    "GET /issues/{issue_number}/comments": Rule(list_comments, "pull-requests"),
    "POST /issues/{issue_number}/comments": Rule(create_comment, "pull-requests", WRITE),
    f"GET {_COMMENT}": Rule(get_comment, "pull-requests"),
    f"PATCH {_COMMENT}": Rule(update_comment, "pull-requests", WRITE),
    f"DELETE {_COMMENT}": Rule(delete_comment, "pull-requests", WRITE),
    f"GET {_COMMENT}/reactions": Rule(list_reactions, "pull-requests"),
    f"POST {_COMMENT}/reactions": Rule(create_reaction, "pull-requests", WRITE),
    f"DELETE {_COMMENT}/reactions/{{reaction_id}}": Rule(delete_reaction, "pull-requests", WRITE),
    "GET /pulls": Rule(list_pulls, "pull-requests"),
    "GET /pulls/{pull_number}": Rule(get_pull, "pull-requests"),
    "GET /actions/runs/{run_id}": Rule(get_run, "actions"),
    "GET /actions/runs/{run_id}/attempts/{attempt_number}/jobs": Rule(list_jobs, "actions", READ, "jobs"),
    "GET /actions/runs/{run_id}/artifacts": Rule(list_artifacts, "actions", READ, "artifacts"),
    "GET /actions/artifacts": Rule(list_artifacts, "actions", READ, "artifacts"),
    "GET /actions/artifacts/{artifact_id}/{archive_format}": Rule(download_artifact, "actions"),
    "POST /check-runs": Rule(create_check, "checks", WRITE),
    "PATCH /check-runs/{check_run_id}": Rule(update_check, "checks", WRITE),
    "GET /commits/{ref}/check-runs": Rule(list_checks, "checks", READ, "check_runs"),
}
