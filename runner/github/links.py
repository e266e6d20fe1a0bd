"""What the API knows of a run: its pull request, and the pages of its jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from runner.github.api import GitHub
from runner.github.event import Context
from runner.model.plan import Plan


def find_pull(github: GitHub, context: Context) -> int | None:
    """The open pull request whose head is the commit that a run tested, or None.

    Asked of GitHub by repository, branch and commit: what a fork's artifact says about it proves nothing. Of several
    (one branch to two bases) the oldest.
    """
    if context.head_repository is None or context.branch is None:
        return None
    owner = context.head_repository.partition("/")[0]
    query = {"state": "open", "head": f"{owner}:{context.branch}"}
    found = [
        int(pull["number"])
        for pull in github.pages("/pulls", needs="pull-requests: read", params=query)
        if pull["head"]["sha"] == context.head
        and (pull["head"].get("repo") or {}).get("full_name") == context.head_repository
    ]
    return min(found, default=None)


def find_jobs(github: GitHub, context: Context, plan: Plan) -> Mapping[str, str]:
    """The page of the job that ran each cell, by cell id; cells whose job is not found are absent.

    A job of a reusable workflow is called `caller / name`.
    """
    path = f"/actions/runs/{context.run}/attempts/{context.attempt}/jobs"
    pages = {
        re.split(r" / ", str(job["name"]))[-1]: str(job.get("html_url") or "")
        for job in github.pages(path, needs="actions: read", under="jobs")
    }
    own = {page: url for page, url in pages.items() if url.startswith(f"{context.server_url}/")}
    return {cell: own[job.name] for job in plan.jobs if job.name in own for cell in job.cells}
