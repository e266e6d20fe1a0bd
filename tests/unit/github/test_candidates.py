"""Which artifacts may be a baseline: this repository's own branch, and nothing a pull request made."""

from __future__ import annotations

from typing import Any

import pytest

from runner.github.candidates import candidates, may_be_baseline, report_name

NAME = report_name("sm90", 1)
BASE = "b" * 40


def item(number: int, made: str = "2026-01-01T00:00:00Z", **changes: Any) -> dict[str, Any]:
    """An artifact of a run on main, with some of its values changed."""
    run = {"id": number + 500, "repository_id": 1, "head_repository_id": 1, "head_branch": "main", "head_sha": "c" * 40}
    shown = {"id": number, "name": NAME, "size_in_bytes": 9, "expired": False, "created_at": made, "workflow_run": run}
    for name, value in changes.items():
        (run if name in run and name != "id" else shown)[name] = value
    return shown


def chosen(*items: dict[str, Any]) -> list[int]:
    return [one.artifact for one in candidates(items, NAME, "main", BASE)]


def test_the_base_commits_own_comes_first_and_then_the_newest() -> None:
    old_base, new_base = item(1, "2025-01-01T00:00:00Z", head_sha=BASE), item(2, "2025-01-02T00:00:00Z", head_sha=BASE)
    assert chosen(item(3, "2026-01-01T00:00:00Z"), old_base, item(4, "2026-01-02T00:00:00+00:00"), new_base) == [
        *(2, 1, 4, 3)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"expired": True},
        {"expired": None},
        {"name": "triton-compat-sm90-report-attempt2"},
        {"name": "triton-compat-sm90-report-attempt10"},
        {"head_branch": "topic"},
        {"head_branch": None},
        {"head_repository_id": 2},
        {"head_repository_id": None},
        {"repository_id": None, "head_repository_id": None},
        {"workflow_run": None},
        {"created_at": None},
        {"created_at": "yesterday"},
        {"size_in_bytes": None},
    ],
)
def test_everything_else_is_none(changes: dict[str, Any]) -> None:
    assert chosen(item(1, **changes)) == []
    assert chosen(item(1)) == [1]


RUN = {"event": "push", "head_branch": "main", "head_sha": "c" * 40, "head_repository": {"full_name": "octo/kernels"}}


@pytest.mark.parametrize(
    ("changes", "may"),
    [
        ({}, True),
        ({"event": "schedule"}, True),
        ({"event": "workflow_dispatch"}, True),
        ({"event": "pull_request"}, False),
        ({"event": "pull_request_target"}, False),
        ({"event": "merge_group"}, False),
        ({"event": "workflow_run"}, False),
        ({"event": None}, False),
        ({"head_branch": "topic"}, False),
        ({"head_sha": "d" * 40}, False),
        ({"head_repository": {"full_name": "mallory/kernels"}}, False),
        ({"head_repository": None}, False),
    ],
)
def test_the_run_has_the_last_word(changes: dict[str, Any], may: bool) -> None:
    (candidate,) = candidates([item(1)], NAME, "main", BASE)
    assert may_be_baseline({**RUN, **changes}, candidate, "octo/kernels", "main") is may
