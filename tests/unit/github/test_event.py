"""Every event's payload, as GitHub sends it, to what there is to do."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from runner.errors import UsageError
from runner.github.event import Context, Mode, read_context
from runner.github.guard import check_runners

HERE = Path(__file__).parent / "payloads"
SHA = "f" * 40


def payload(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return found


def environ(event: str, **more: str) -> dict[str, str]:
    return {
        "GITHUB_EVENT_NAME": event,
        "GITHUB_REPOSITORY": "Codertocat/Hello-World",
        "GITHUB_SHA": SHA,
        "GITHUB_REF": "refs/heads/master",
        "GITHUB_RUN_ID": "9001",
        "GITHUB_RUN_NUMBER": "41",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_WORKFLOW_REF": "Codertocat/Hello-World/.github/workflows/kernels.yml@refs/heads/master",
        **more,
    }


def context(event: str, change: dict[str, Any] | None = None, **more: str) -> Context:
    """Read an event's example with some of its values changed (`a.b.c` names a value in objects in objects)."""
    data = copy.deepcopy(payload(event))
    for path, value in (change or {}).items():
        *steps, last = path.split(".")
        place = data
        for step in steps:
            place = place[step]
        place[last] = value
    return read_context(environ(event, **more), data)


def test_a_pull_request_is_known_by_its_head_not_by_the_merge_commit() -> None:
    assert context("pull_request") == Context(
        repository="Codertocat/Hello-World",
        event="pull_request",
        tested_event="pull_request",
        head="ec26c3e57ca3a959ca5aad62de7213c562f8c821",
        base="f95f852bd8fca8fcc58a9a2d6c842781e32a215e",
        base_branch="master",
        branch="changes",
        head_repository="Codertocat/Hello-World",
        pull=2,
        is_fork=False,
        run=9001,
        number=41,
        attempt=1,
        workflow=".github/workflows/kernels.yml",
        conclusion=None,
        api_url="https://api.github.com",
        server_url="https://github.com",
        mode=Mode.COMMENT,
        why=None,
        is_public=True,
    )


FORK = {"pull_request.head.repo.full_name": "mallory/Hello-World"}
TABLE: list[tuple[str, dict[str, Any], dict[str, str], Mode, str | None]] = [
    ("pull_request", {}, {}, Mode.COMMENT, "master"),
    ("pull_request", {}, {"GITHUB_RUN_ATTEMPT": "2"}, Mode.COMMENT, "master"),
    ("pull_request", {}, {"GITHUB_ACTOR": "dependabot[bot]"}, Mode.SUMMARY, "master"),
    ("pull_request", FORK, {}, Mode.SUMMARY, "master"),
    ("pull_request", {"pull_request.head.repo": None}, {}, Mode.SUMMARY, "master"),
    ("push", {}, {}, Mode.SUMMARY, None),
    ("push", {}, {"GITHUB_REF": "refs/heads/topic"}, Mode.SUMMARY, None),
    ("push", {}, {"GITHUB_REF": "refs/tags/master"}, Mode.SUMMARY, None),
    ("schedule", {}, {}, Mode.SUMMARY, None),
    ("workflow_dispatch", {"repository.default_branch": "master"}, {}, Mode.SUMMARY, None),
    ("workflow_dispatch", {}, {"GITHUB_REF": "refs/heads/topic"}, Mode.SUMMARY, None),
    ("merge_group", {}, {"GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-104"}, Mode.SUMMARY, "main"),
    ("workflow_run", {"workflow_run.event": "pull_request"}, {}, Mode.FIND, None),
    ("workflow_run", {}, {}, Mode.SUMMARY, None),
]


@pytest.mark.parametrize(("event", "change", "more", "mode", "base_branch"), TABLE)
def test_what_each_event_does(
    event: str, change: dict[str, Any], more: dict[str, str], mode: Mode, base_branch: str | None
) -> None:
    found = context(event, change, **more)
    assert (found.mode, found.base_branch) == (mode, base_branch)
    assert (found.why is None) == (mode is not Mode.SUMMARY)


def test_a_fork_and_a_rerun_are_seen() -> None:
    assert context("pull_request", FORK).is_fork
    assert context("pull_request", {"pull_request.head.repo": None}).is_fork
    assert context("pull_request", GITHUB_RUN_ATTEMPT="3").attempt == 3


def test_the_end_of_a_run_speaks_of_the_run_that_ended() -> None:
    change = {"workflow_run.event": "pull_request", "workflow_run.head_repository.full_name": "mallory/kernels"}
    found = context("workflow_run", change)
    assert (found.run, found.number, found.attempt) == (289782451, 163, 1)
    assert found.head == "3484a3fb816e0859fd6e1cea078d76385ff50625"
    assert found.workflow == ".github/workflows/test.yml"
    assert found.pull is None, "the pull request comes from the API alone"
    assert found.head_repository == "mallory/kernels"
    assert found.is_fork
    assert found.conclusion == "success"


def test_a_merge_group_is_compared_with_its_base() -> None:
    found = context("merge_group")
    assert found.head == "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d"
    assert found.base == "380387fbc80638b734a49e1be1c4dfec1c01b33c"


@pytest.mark.parametrize(("before", "base"), [("0" * 40, None), ("1" * 40, "1" * 40), (None, None)])
def test_a_push_is_compared_with_what_was_there_before(before: str | None, base: str | None) -> None:
    assert context("push", {"before": before}).base == base


def test_an_enterprise_server_has_addresses_of_its_own() -> None:
    found = context("push", GITHUB_API_URL="https://git.corp/api/v3", GITHUB_SERVER_URL="https://git.corp")
    assert found.api_url == "https://git.corp/api/v3"
    assert found.run_url == "https://git.corp/Codertocat/Hello-World/actions/runs/9001/attempts/1"
    assert found.commit_url(SHA) == f"https://git.corp/Codertocat/Hello-World/commit/{SHA}"


def test_pull_request_target_is_refused() -> None:
    with pytest.raises(UsageError, match="pull_request_target"):
        read_context(environ("pull_request_target"), payload("pull_request"))


@pytest.mark.parametrize("name", ["GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_NUMBER", "GITHUB_EVENT_NAME"])
def test_outside_of_a_job_the_missing_variable_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        read_context({**environ("push"), name: ""}, payload("push"))


@pytest.mark.parametrize(
    ("change", "said"),
    [({"pull_request.head.sha": "main"}, "does not look like"), ({"pull_request.head": None}, "not as GitHub sends")],
)
def test_a_damaged_payload_is_reported(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        context("pull_request", change)


@pytest.mark.parametrize("bad", ["zero", "0", "-1"])
def test_a_run_number_that_is_none_is_reported(bad: str) -> None:
    with pytest.raises(UsageError, match="GITHUB_RUN_NUMBER"):
        context("push", GITHUB_RUN_NUMBER=bad)


OWN = ("Self-Hosted", "linux", "sm90")


def test_a_forks_code_is_kept_from_ones_own_machines() -> None:
    with pytest.raises(UsageError, match="your machines"):
        check_runners(context("pull_request", FORK), OWN, approved=False)


def test_approval_and_ones_own_code_are_warned_of_only() -> None:
    assert "ephemeral" in str(check_runners(context("pull_request", FORK), OWN, approved=True))
    assert "ephemeral" in str(check_runners(context("push"), OWN, approved=False))


def test_private_repositories_and_hosted_runners_need_no_warning() -> None:
    private = {**FORK, "repository.private": True}
    assert check_runners(context("pull_request", private), OWN, approved=False) is None
    assert check_runners(context("pull_request", FORK), ("ubuntu-latest",), approved=False) is None
