"""What GitHub remembers in the stand-in: one repository's pull requests, comments, runs and checks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from tests.github_server.description import schema_of, specimen

BOT = "github-actions[bot]"
READ = "read"
WRITE = "write"
HERE = "octo/kernels"


@dataclass(frozen=True)
class Token:
    """Who a token speaks for, and what it may do.

    Attributes:
        login: the author of what it writes.
        permissions: as in a workflow's `permissions:`; what is not there is denied.
    """

    login: str = BOT
    permissions: dict[str, str] = field(
        default_factory=lambda: {"pull-requests": WRITE, "actions": READ, "checks": WRITE, "contents": READ}
    )

    def may(self, permission: str, access: str) -> bool:
        """Whether the token has this access."""
        return self.permissions.get(permission) in {access, WRITE}


@dataclass
class Pull:
    """A pull request: what the project reads of it. Tests move its head."""

    number: int
    head_sha: str
    head_branch: str = "topic"
    head_repository: str = "octo/kernels"
    base_sha: str = "b" * 40
    state: str = "open"
    locked: bool = False


@dataclass
class Comment:
    """A comment with its author and the ids of its reactions by (login, content)."""

    id: int
    issue: int
    login: str
    body: str
    reactions: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)


@dataclass
class Run:
    """A run of a workflow, a push to main unless a test says otherwise. Numbers are ids as well."""

    id: int
    event: str = "push"
    head_branch: str = "main"
    head_sha: str = "b" * 40
    head_repository: str = HERE
    path: str = ".github/workflows/kernels.yml"
    attempt: int = 1


@dataclass
class Artifact:
    """What a run uploaded. `expired`: it is still listed, and gone."""

    id: int
    run: int
    name: str
    content: bytes
    created_at: str
    expired: bool = False


@dataclass
class State:
    """Everything that is remembered. `now` dates what is new; `signed` are the storage's addresses -> artifacts."""

    repository: str = HERE
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    jobs: dict[tuple[int, int], list[dict[str, Any]]] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    signed: dict[str, int] = field(default_factory=dict)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    now: str = "2026-01-01T12:00:00Z"
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1000))

    def comment(self, issue: int, body: str, login: str = BOT) -> Comment:
        """Write a comment; ids rise, as GitHub's do."""
        made = Comment(next(self.numbers), issue, login, body)
        self.comments[made.id] = made
        return made

    def artifact(self, run: Run, name: str, content: bytes) -> Artifact:
        """Upload an artifact from a run."""
        self.runs[run.id] = run
        made = Artifact(next(self.numbers), run.id, name, content, self.now)
        self.artifacts[made.id] = made
        return made

    def repository_id(self, name: str) -> int:
        """The id of a repository: this one's, or a fork's."""
        return 1 if name == self.repository else 2

    def bodies(self, login: str = BOT) -> list[str]:
        """What the comments of one author say now, oldest first."""
        return [comment.body for _, comment in sorted(self.comments.items()) if comment.login == login]


def show_user(login: str) -> dict[str, Any]:
    """A user as the API shows one."""
    kind = "Bot" if login.endswith("[bot]") else "User"
    user: dict[str, Any] = specimen(schema_of("simple-user"))
    return {**user, "login": login, "type": kind}


def show_comment(comment: Comment, url: str) -> dict[str, Any]:
    """A comment as the API shows one."""
    shown: dict[str, Any] = specimen(schema_of("issue-comment"))
    place = f"https://github.example/octo/kernels/pull/{comment.issue}#issuecomment-{comment.id}"
    own = {"id": comment.id, "body": comment.body, "user": show_user(comment.login), "html_url": place, "url": url}
    return {**shown, **own}


def show_reaction(login: str, content: str, reaction: tuple[int, str]) -> dict[str, Any]:
    """A reaction as the API shows one."""
    shown: dict[str, Any] = specimen(schema_of("reaction"))
    return {**shown, "id": reaction[0], "created_at": reaction[1], "user": show_user(login), "content": content}


def show_pull(pull: Pull, repository: str, *, whole: bool) -> dict[str, Any]:
    """A pull request as the API shows one, in full or as a line of a list."""
    schema = schema_of("pull-request" if whole else "pull-request-simple")
    shown: dict[str, Any] = specimen(schema)
    head = {**shown["head"], **_side(schema, "head", pull.head_repository)}
    base = {**shown["base"], **_side(schema, "base", repository), "ref": "main", "sha": pull.base_sha}
    head |= {"ref": pull.head_branch, "sha": pull.head_sha, "label": f"{pull.head_repository}:{pull.head_branch}"}
    own = {"number": pull.number, "state": pull.state, "locked": pull.locked, "head": head, "base": base}
    return {**shown, **own}


def show_run(run: Run, state: State) -> dict[str, Any]:
    """A workflow run as the API shows one."""
    shown: dict[str, Any] = specimen(schema_of("workflow-run"))
    keys = ("id", "event", "head_branch", "head_sha", "path")
    own = {**{key: getattr(run, key) for key in keys}, "run_attempt": run.attempt}
    for side, name in (("repository", state.repository), ("head_repository", run.head_repository)):
        own[side] = {**shown[side], "full_name": name, "id": state.repository_id(name)}
    return {**shown, **own}


def show_artifact(artifact: Artifact, state: State, api: str) -> dict[str, Any]:
    """An artifact as the API shows one."""
    shown: dict[str, Any] = specimen(schema_of("artifact"))
    run, place = state.runs[artifact.run], f"{api}/actions/artifacts/{artifact.id}"
    own = {"id": artifact.id, "name": artifact.name, "size_in_bytes": len(artifact.content), "url": place}
    own |= {"archive_download_url": f"{place}/zip", "expired": artifact.expired, "created_at": artifact.created_at}
    repositories = {
        "repository_id": state.repository_id(state.repository),
        "head_repository_id": state.repository_id(run.head_repository),
    }
    head = {"id": run.id, "head_branch": run.head_branch, "head_sha": run.head_sha}
    return {**shown, **own, "workflow_run": repositories | head}


def show_job(job: dict[str, Any]) -> dict[str, Any]:
    """A job as the API shows one."""
    shown: dict[str, Any] = specimen(schema_of("job"))
    return {**shown, **job}


def show_check(check: dict[str, Any]) -> dict[str, Any]:
    """A check run as the API shows one."""
    shown: dict[str, Any] = specimen(schema_of("check-run"))
    output = {**shown["output"], **{k: v for k, v in check.get("output", {}).items() if k in shown["output"]}}
    keys = ("id", "name", "head_sha", "status", "conclusion", "external_id", "details_url")
    return {**shown, **{key: check.get(key) for key in keys if key in check}, "output": output}


def _side(schema: dict[str, Any], side: str, repository: str) -> dict[str, Any]:
    parts = schema["properties"][side]["properties"]
    repo = specimen({**parts["repo"], "type": "object"} if "$ref" not in parts["repo"] else parts["repo"])
    owner, _, name = repository.partition("/")
    return {"repo": {**(repo or {}), "full_name": repository, "name": name}, "user": show_user(owner)}
