"""Whether strangers' code may run on machines of one's own."""

from __future__ import annotations

from collections.abc import Iterable

from runner.errors import UsageError
from runner.github.event import Context

_SELF_HOSTED = "self-hosted"


def check_runners(context: Context, labels: Iterable[str], *, approved: bool) -> str | None:
    """Look at the labels that a plan asks for before any job is started on them.

    Args:
        context: the run.
        labels: of all jobs.
        approved: the workflow says that a person has looked at this pull request's code.

    Returns:
        A warning, or None when there is nothing to warn of.

    Raises:
        UsageError: a fork's code would run on a machine of one's own, and nobody approved it.
    """
    if not context.is_public or _SELF_HOSTED not in {label.lower() for label in labels}:
        return None
    if context.is_fork and not approved:
        raise UsageError(
            "This pull request comes from a fork of a public repository, and the matrix asks for self-hosted runners: "
            "its author's code would run on your machines.",
            remedy="Read the code, then start the workflow with `fork-approved: true` (docs/permissions.md shows how a "
            "protected environment asks a person), or give forks a matrix on hosted runners.",
        )
    return (
        "This repository is public and the matrix asks for self-hosted runners. Require approval for all outside "
        "contributors, use ephemeral runners, and restrict the runner group to this workflow."
    )
