"""Which artifacts may be a baseline, and which of them comes first.

A result is one to compare with when this repository's own code made it on the branch that a pull request would go
into. So a run for a pull request never makes one, from a fork or not: a fork may have a branch called main as well, and
a pull request from main into another branch is a run whose branch is main.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

EVENTS = frozenset({"push", "schedule", "workflow_dispatch"})
"""Whose runs test a branch of this repository as it stands."""


@dataclass(frozen=True)
class Candidate:
    """An artifact that looks like a result of the branch; its run has the last word.

    Attributes:
        artifact: its id.
        run: id of the run that made it.
        commit: that the run tested.
        size: bytes of the archive.
        made: when it was uploaded.
    """

    artifact: int
    run: int
    commit: str
    size: int
    made: datetime


def report_name(slug: str, attempt: int) -> str:
    """What the reusable workflow calls the artifact with a run's whole result."""
    return f"triton-compat-{slug}-report-attempt{attempt}"


def candidates(listed: Iterable[Mapping[str, Any]], name: str, branch: str, base: str | None) -> list[Candidate]:
    """The artifacts that may be a baseline: those of the base commit first, then the newest first.

    Args:
        listed: as the API lists them.
        name: of the artifact; no other counts.
        branch: that the pull request would go into.
        base: hash of the commit that it begins at.
    """
    found = [made for item in listed if item.get("name") == name and (made := _candidate(item, branch))]
    return sorted(found, key=lambda one: (one.commit == base, one.made), reverse=True)


def may_be_baseline(run: Mapping[str, Any], candidate: Candidate, repository: str, branch: str) -> bool:
    """Whether the run that made an artifact is one of this repository's branch.

    Args:
        run: as the API shows it.
        candidate: that it is said to have made.
        repository: `owner/name`.
        branch: of the repository.
    """
    return (
        run.get("event") in EVENTS
        and run.get("head_branch") == branch
        and run.get("head_sha") == candidate.commit
        and (run.get("head_repository") or {}).get("full_name") == repository
    )


def _candidate(item: Mapping[str, Any], branch: str) -> Candidate | None:
    run = item.get("workflow_run") or {}
    here = run.get("repository_id")
    if item.get("expired") is not False or here is None or run.get("head_repository_id") != here:
        return None
    if run.get("head_branch") != branch:
        return None
    try:
        made = datetime.fromisoformat(item["created_at"])
        return Candidate(int(item["id"]), int(run["id"]), str(run["head_sha"]), int(item["size_in_bytes"]), made)
    except (KeyError, TypeError, ValueError):
        return None
