"""What the plan job of a workflow hands on, once nobody's code can get where it must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.github.commands import append, outputs, plan_outputs, warning
from runner.github.event import read_context
from runner.github.guard import check_runners
from runner.github.publish import project_folder
from runner.model.plan import Plan


def hand_on(
    plan: Plan,
    environ: Mapping[str, str],
    payload: Mapping[str, Any],
    *,
    default_runner: Sequence[str],
    approved: bool,
    say: Callable[[str], None],
    delimiter: str,
) -> None:
    """Write the jobs of a plan as outputs of the step.

    Args:
        plan: as made.
        environ: the job's variables.
        payload: the event.
        default_runner: labels for cells whose matrix names none.
        approved: a person has looked at this pull request's code.
        say: prints one line into the job's log.
        delimiter: for `GITHUB_OUTPUT`.

    Raises:
        UsageError: this is no job of GitHub Actions, or the plan would run a stranger's code on machines of one's own.
    """
    context = read_context(environ, payload)
    values = plan_outputs(plan, default_runner)
    labels = {str(label) for job in json.loads(values["matrix"])["include"] for label in job["runner"]}
    if said := check_runners(context, labels, approved=approved):
        say(warning(said))
    if path := environ.get("GITHUB_OUTPUT"):
        append(Path(path), outputs({**values, "root": project_folder(plan, environ)}, delimiter))


def read_payload(environ: Mapping[str, str]) -> dict[str, Any]:
    """The event that started the job.

    Raises:
        UsageError: `GITHUB_EVENT_PATH` names no file with a JSON object.
    """
    path = environ.get("GITHUB_EVENT_PATH", "")
    if not path:
        raise UsageError(
            "This is for a job of GitHub Actions, and here is none: GITHUB_EVENT_PATH is not set.",
            remedy="Elsewhere `triton-compat judge --baseline DIR` compares with the results in a folder, and "
            "`triton-compat report` shows the verdict.",
        )
    try:
        payload = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"The event could not be read from GITHUB_EVENT_PATH ({path!r}): {error}",
            remedy="Run this in a job of GitHub Actions; elsewhere `triton-compat report` shows the result.",
        ) from error
    if not isinstance(payload, dict):
        raise UsageError(f"{path} holds no event.", remedy="Check GITHUB_EVENT_PATH.")
    return payload
