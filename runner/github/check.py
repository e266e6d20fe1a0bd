"""An optional check run on the head commit: the verdict among the pull request's checks, with its places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.errors import GitHubError
from runner.github.api import GitHub, LostAnswerError
from runner.github.commands import Annotation
from runner.github.event import Context
from runner.model.verdict import Verdict
from runner.model.words import VerdictWord
from runner.report.escape import line

_WRITE = "checks: write"
_MOST_ANNOTATIONS = 50
_CONCLUSIONS = {
    VerdictWord.PASS: "success",
    VerdictWord.FAIL: "failure",
    # Not `neutral`, which a branch rule takes for a pass.
    VerdictWord.CANNOT_TELL: "action_required",
}


def write_check(
    github: GitHub, context: Context, name: str, verdict: Verdict, text: str, places: Sequence[Annotation]
) -> None:
    """Create the check run of this run and attempt. One whose answer was lost is looked up, not created again.

    Args:
        github: the repository.
        context: the run; its head commit gets the check.
        name: of the matrix.
        verdict: decides the conclusion.
        text: Markdown, at most 65,535 bytes.
        places: the first 50 are sent.

    Raises:
        GitHubError: with what to do about it.
    """
    body: dict[str, Any] = {
        "name": f"triton-compat: {line(name, 80)}",
        "head_sha": context.head,
        "external_id": f"{context.run}-{context.attempt}",
        "details_url": context.run_url,
        "status": "completed",
        "conclusion": _CONCLUSIONS[verdict.verdict],
        "output": {
            "title": line(verdict.sentence, 250),
            "summary": text,
            "annotations": [
                {
                    "path": place.file,
                    "start_line": place.line,
                    "end_line": place.line,
                    "annotation_level": "failure",
                    "title": place.title[:250],
                    "message": place.message,
                }
                for place in places[:_MOST_ANNOTATIONS]
            ],
        },
    }
    try:
        github.post("/check-runs", body, needs=_WRITE)
    except LostAnswerError as error:
        query = {"check_name": body["name"]}
        found = github.pages(
            f"/commits/{context.head}/check-runs", needs="checks: read", params=query, under="check_runs"
        )
        if not any(check.get("external_id") == body["external_id"] for check in found):
            raise GitHubError(error.message, remedy=error.remedy, status=error.status) from error
