"""From the environment of a job and the payload of its event to what there is to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runner.errors import UsageError

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_WORKFLOW = re.compile(r"[^/]+/[^/]+/(?P<path>.+?)@")
_READ_ONLY_ACTORS = frozenset({"dependabot[bot]"})


class Mode(StrEnum):
    """Where a run's result goes. The job summary is always written."""

    COMMENT = "comment"
    """Onto the pull request that the payload names."""
    FIND = "find"
    """Onto the pull request that the API finds for the run whose end this is."""
    SUMMARY = "summary"
    """Nowhere else."""


@dataclass(frozen=True)
class Context:
    """Where and for what a job runs.

    Attributes:
        repository: `owner/name` of the repository whose workflow this is.
        event: `pull_request`, `push`, and so on.
        tested_event: the same, or for `workflow_run` the event of the run that tested.
        head: hash of the commit that was tested; for a pull request its head, not the merge commit.
        base: hash of the commit it is compared with, or None.
        base_branch: name of the branch that a pull request or merge group would go into, else None.
        branch: name of the head's branch, or None where there is none.
        head_repository: `owner/name` where the head stands, or None when that repository was deleted.
        pull: number of the pull request, or None.
        is_fork: the head stands in another repository.
        run: id of the run that tested.
        number, attempt: of that run; numbers count within its workflow.
        workflow: path of that run's workflow file.
        conclusion: how that run ended, as GitHub says; None while it runs.
        api_url, server_url: of github.com or of a server of one's own.
        mode: where the result goes.
        why: why the mode is no more than a summary, else None.
        is_public: everybody can see the repository and open pull requests.
    """

    repository: str
    event: str
    tested_event: str
    head: str
    base: str | None
    base_branch: str | None
    branch: str | None
    head_repository: str | None
    pull: int | None
    is_fork: bool
    run: int
    number: int
    attempt: int
    workflow: str
    conclusion: str | None
    api_url: str
    server_url: str
    mode: Mode
    why: str | None
    is_public: bool

    @property
    def run_url(self) -> str:
        """The page of the run that tested."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run}/attempts/{self.attempt}"

    def commit_url(self, commit: str) -> str:
        """The page of a commit. A fork's commits are shown by the repository it was forked from as well."""
        return f"{self.server_url}/{self.repository}/commit/{commit}"


def read_context(environ: Mapping[str, str], payload: Mapping[str, Any]) -> Context:
    """What this job is for.

    Args:
        environ: the job's variables (`GITHUB_REPOSITORY` and so on).
        payload: the event, as it stands in the file that `GITHUB_EVENT_PATH` names.

    Raises:
        UsageError: this is no job of GitHub Actions, its event is refused, or its payload lacks something.
    """
    event = _variable(environ, "GITHUB_EVENT_NAME")
    if event == "pull_request_target":
        raise UsageError(
            "pull_request_target would run a fork's code with this repository's token.",
            remedy="Use `on: pull_request`, and for forks the workflow_run recipe in docs/permissions.md.",
        )
    try:
        tested = _TABLE.get(event, _other)(environ, payload)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"The payload of the event {event} is not as GitHub sends it: {type(error).__name__}: {error}.",
            remedy="Check the file that GITHUB_EVENT_PATH names.",
        ) from error
    known: dict[str, Any] = {
        "repository": _matching(_REPOSITORY, _variable(environ, "GITHUB_REPOSITORY")),
        "event": event,
        "tested_event": event,
        "base": None,
        "base_branch": None,
        "branch": None,
        "head_repository": _variable(environ, "GITHUB_REPOSITORY"),
        "pull": None,
        "is_fork": False,
        "run": _number(environ, "GITHUB_RUN_ID"),
        "number": _number(environ, "GITHUB_RUN_NUMBER"),
        "attempt": _number(environ, "GITHUB_RUN_ATTEMPT"),
        "workflow": _workflow(environ.get("GITHUB_WORKFLOW_REF", "")),
        "conclusion": None,
        "api_url": environ.get("GITHUB_API_URL") or "https://api.github.com",
        "server_url": environ.get("GITHUB_SERVER_URL") or "https://github.com",
        "mode": Mode.SUMMARY,
        "why": f"the event {event} has no pull request",
        "is_public": (payload.get("repository") or {}).get("private") is False,
    }
    return Context(**{**known, **tested})


def _pull_request(environ: Mapping[str, str], payload: Mapping[str, Any]) -> dict[str, Any]:
    pull = payload["pull_request"]
    head = (pull["head"].get("repo") or {}).get("full_name")
    is_fork = head != pull["base"]["repo"]["full_name"]
    why = None
    if is_fork:
        why = "the token of a fork's run is read-only; the workflow_run recipe writes the comment"
    elif environ.get("GITHUB_ACTOR") in _READ_ONLY_ACTORS:
        why = "runs that Dependabot starts have a read-only token; the workflow_run recipe writes the comment"
    return {
        "head": _matching(_SHA, pull["head"]["sha"]),
        "base": _matching(_SHA, pull["base"]["sha"]),
        "base_branch": str(pull["base"]["ref"]),
        "branch": str(pull["head"]["ref"]),
        "head_repository": head,
        "pull": int(pull["number"]),
        "is_fork": is_fork,
        "mode": Mode.SUMMARY if why else Mode.COMMENT,
        "why": why,
    }


def _push(environ: Mapping[str, str], payload: Mapping[str, Any]) -> dict[str, Any]:
    before = str(payload.get("before", ""))
    is_new = not _SHA.fullmatch(before) or set(before) == {"0"}
    return _other(environ, payload) | {"base": None if is_new else before}


def _merge_group(environ: Mapping[str, str], payload: Mapping[str, Any]) -> dict[str, Any]:
    group = payload["merge_group"]
    return _other(environ, payload) | {
        "head": _matching(_SHA, group["head_sha"]),
        "base": _matching(_SHA, group["base_sha"]),
        "base_branch": str(group["base_ref"]).removeprefix("refs/heads/"),
        "why": "a merge group may hold several pull requests",
    }


def _workflow_run(_: Mapping[str, str], payload: Mapping[str, Any]) -> dict[str, Any]:
    run = payload["workflow_run"]
    head, here = (run.get("head_repository") or {}).get("full_name"), payload["repository"]["full_name"]
    is_pull = run["event"] == "pull_request"
    return {
        "tested_event": str(run["event"]),
        "head": _matching(_SHA, run["head_sha"]),
        "branch": run.get("head_branch"),
        "head_repository": head,
        "is_fork": head != here,
        "run": int(run["id"]),
        "number": int(run["run_number"]),
        "attempt": int(run["run_attempt"]),
        "workflow": str(run.get("path") or "").partition("@")[0],
        "conclusion": run.get("conclusion"),
        "mode": Mode.FIND if is_pull else Mode.SUMMARY,
        "why": None if is_pull else f"the run that ended was for {run['event']}, not for a pull request",
    }


def _other(environ: Mapping[str, str], _: Mapping[str, Any]) -> dict[str, Any]:
    """push, schedule, workflow_dispatch and whatever else has a commit and no pull request."""
    ref = environ.get("GITHUB_REF", "")
    return {
        "head": _matching(_SHA, _variable(environ, "GITHUB_SHA")),
        "branch": ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None,
    }


_TABLE = {
    "pull_request": _pull_request,
    "push": _push,
    "merge_group": _merge_group,
    "workflow_run": _workflow_run,
}


def _variable(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    if not value:
        raise UsageError(
            f"{name} is not set: this is no job of GitHub Actions.",
            remedy="Run it in a workflow; elsewhere `triton-compat report` shows the result.",
        )
    return value


def _number(environ: Mapping[str, str], name: str) -> int:
    text = _variable(environ, name)
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{name} is {text!r}, not a number from 1.", remedy="Check the job's environment.")
    return int(text)


def _matching(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} does not look like {pattern.pattern}")
    return text


def _workflow(ref: str) -> str:
    match = _WORKFLOW.match(ref)
    return match["path"] if match else ""
