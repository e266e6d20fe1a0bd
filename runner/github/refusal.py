"""What a refusal of GitHub's means and what to do about it: a status, its headers and its text to two sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

_STANDS = "The verdict is not affected; it stands in the job summary."


def explain(status: int, headers: Mapping[str, str], text: str, needs: str) -> tuple[str, str]:
    """What GitHub said, and what to do.

    Args:
        status: of the answer.
        headers: of the answer.
        text: its body.
        needs: the permission that the request needs, as a workflow writes it: `pull-requests: write`.

    Returns:
        The message for people and the sentence on what to do.
    """
    said = _message(text)
    return (
        f"GitHub answered {status}{f' ({said})' if said else ''}.",
        f"{_remedy(status, headers, said, needs)} {_STANDS}",
    )


def _remedy(status: int, headers: Mapping[str, str], said: str, needs: str) -> str:  # noqa: PLR0911 - a table
    if status in {403, 429} and (headers.get("Retry-After") or headers.get("X-RateLimit-Remaining") == "0"):
        return f"The token has used up its share of requests{_until(headers)}; run this job again after that."
    if "locked" in said.lower():
        return "The conversation of the pull request is locked; unlock it, or set `comment: off`."
    match status:
        case 401:
            return "The token is not valid (any more); pass `token: ${{ github.token }}` or renew the one that is set."
        case 403:
            return (
                f"The token may not do this: the job needs `permissions: {needs}`, and the run of a pull request from "
                "a fork never gets it (use the workflow_run recipe in docs/permissions.md there)."
            )
        case 404:
            return (
                f"It is not there, or the token may not see it: check the repository and `permissions: {needs}`; "
                "a pull request that was deleted has no comments."
            )
        case 410:
            return "It was deleted, or conversations are switched off in this repository."
        case 422:
            return "GitHub holds the request for malformed or spam; please report it with the message above."
        case _ if status >= 500:  # noqa: PLR2004
            return "GitHub has a fault of its own (see githubstatus.com); run this job again later."
        case _:
            return "Run this job again; please report it if it comes back."


def _until(headers: Mapping[str, str]) -> str:
    if headers.get("Retry-After", "").isdigit():
        return f" for {headers['Retry-After']} s"
    reset = headers.get("X-RateLimit-Reset", "")
    if reset.isdigit():
        return f" until {datetime.fromtimestamp(int(reset), UTC):%H:%M:%S} UTC"
    return ""


def _message(text: str) -> str:
    """GitHub's own words, in one bounded line."""
    try:
        found = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(found, dict):
        return ""
    details = found.get("errors")
    more = (
        [str(item.get("message", "")) for item in details if isinstance(item, dict)]
        if isinstance(details, list)
        else []
    )
    words = "; ".join(filter(None, [str(found.get("message", "")), *more]))
    return " ".join(words.split())[:300]
