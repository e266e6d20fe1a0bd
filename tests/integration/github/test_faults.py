"""The fault table: whatever goes wrong at whichever call, the verdict stands and the user is told what to do."""

from __future__ import annotations

import pytest

from runner.model.words import Status, VerdictWord
from tests.github_server.faults import Fault, Harm
from tests.github_server.server import GitHubServer
from tests.github_server.state import BOT, Pull
from tests.integration.github.conftest import HEAD, Run, Step, stamp

GET_PULL = "GET /pulls/{pull_number}"
FIND_PULL = "GET /pulls"
LIST = "GET /issues/{issue_number}/comments"
CREATE = "POST /issues/{issue_number}/comments"
UPDATE = "PATCH /issues/comments/{comment_id}"
REMOVE = "DELETE /issues/comments/{comment_id}"
HOLD = "POST /issues/comments/{comment_id}/reactions"
WHOSE = "GET /issues/comments/{comment_id}/reactions"
RELEASE = "DELETE /issues/comments/{comment_id}/reactions/{reaction_id}"
JOBS = "GET /actions/runs/{run_id}/attempts/{attempt_number}/jobs"
CHECK = "POST /check-runs"
CHECKS = "GET /commits/{ref}/check-runs"

STATUSES = (401, 403, 404, 410, 422, 429, 500, 502, 503, 504)
HARMS = (Harm.RESET, Harm.LOST, Harm.TRUNCATED, Harm.SILENT, Harm.SILENT_AFTER)
ADVICE = {
    401: "token is not valid",
    403: "permissions: ",
    404: "not there",
    410: "was deleted",
    422: "malformed or spam",
    429: "Run this job again",
    500: "fault of its own",
    502: "fault of its own",
    503: "fault of its own",
    504: "fault of its own",
}
UNREACHABLE = "could not be reached or did not answer whole"
RESTLESS = "Give the workflow a `concurrency` group"
"""GitHub says that a comment is gone and goes on to list it."""

Case = int | Harm
DONE = frozenset({Harm.LOST, Harm.TRUNCATED, Harm.SILENT_AFTER})
"""GitHub did it, and only its answer is lost."""
EVERYTHING: frozenset[Case] = frozenset({*STATUSES, *HARMS})
NOTHING_LOST: dict[str, frozenset[Case]] = {
    JOBS: EVERYTHING,  # cells are linked to the run instead
    RELEASE: EVERYTHING,  # the reaction ages and is then taken for abandoned
    CREATE: DONE,  # looked up and found
    CHECK: DONE,
    REMOVE: frozenset({Harm.TRUNCATED}),  # half of no answer is no less
    HOLD: EVERYTHING - {401, 429},  # no reactions here, or whose it is is looked up: written all the same
}
"""What costs the user nothing, even when it always happens; everything else is told."""


def advice(operation: str, case: Case) -> str | None:
    """What the user is told to do when this call always goes wrong so; None when there is nothing to tell."""
    if case in NOTHING_LOST.get(operation, ()):
        return None
    if operation in {UPDATE, REMOVE} and case in {404, 410}:
        return RESTLESS
    return ADVICE[case] if isinstance(case, int) else UNREACHABLE


def prepare(server: GitHubServer, operation: str, case: Case) -> str:
    """Bring about that the call is made, and always goes wrong; the event that makes it."""
    pull = Pull(7, HEAD, "topic", "mallory/kernels") if operation == FIND_PULL else Pull(7, HEAD)
    server.state.pulls[7] = pull
    if operation in {UPDATE, REMOVE, HOLD, WHOSE, RELEASE}:
        server.state.comment(7, f"{stamp(39)}\nold")
    if operation == REMOVE:
        server.state.comment(7, f"{stamp(40)}\nolder double")
    if operation == WHOSE:
        server.faults.append(Fault(HOLD, Harm.LOST, times=1))
    if operation == CHECKS:
        server.faults.append(Fault(CHECK, Harm.LOST))
    harm = Fault(operation, status=case) if isinstance(case, int) else Fault(operation, case)
    server.faults.append(harm)
    return "workflow_run" if operation == FIND_PULL else "pull_request"


CALLS = (GET_PULL, FIND_PULL, LIST, CREATE, UPDATE, REMOVE, HOLD, WHOSE, RELEASE, JOBS, CHECK, CHECKS)
NAMES = ("pull", "find", "list", "create", "update", "remove", "hold", "whose", "release", "jobs", "check", "checks")


@pytest.mark.parametrize("case", [*STATUSES, *HARMS], ids=lambda case: getattr(case, "name", str(case)))
@pytest.mark.parametrize("operation", CALLS, ids=NAMES)
def test_whatever_always_goes_wrong_is_told_and_hides_nothing(
    server: GitHubServer, step: Step, run: Run, operation: str, case: Case
) -> None:
    event = prepare(server, operation, case)
    before = server.state.bodies()
    is_silent = case in {Harm.SILENT, Harm.SILENT_AFTER}
    done = run(event, timeout=0.05 if is_silent else 30.0, check=operation in {CHECK, CHECKS})

    assert operation in server.requests
    warnings = [text for text in step.log if text.startswith("::warning title=triton-compat::Could not be published: ")]
    wanted = advice(operation, case)
    if wanted is None:
        assert (done.problems, warnings) == ((), [])
    else:
        (problem,) = done.problems
        assert wanted in problem.remedy
        assert len(warnings) == 1
        assert step.summary.count("Could not be published") == 1
    # The verdict stands in the exit status, the outputs and the summary, and no comment is half an old one.
    assert done.exit_code(strict=False) == done.exit_code(strict=True) == VerdictWord.FAIL.exit_code
    assert "verdict<<delimiter\nFAIL\n" in step.outputs
    assert step.summary.startswith("## ❌ FAIL")
    for body in server.state.bodies():
        assert body in before or body.startswith((f"{stamp(41)}\n## ❌ FAIL", "<!-- triton-compat of=sm90@"))
    if wanted is None and operation != JOBS:
        assert len(server.state.bodies()) == 1


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("case", [403, 503, Harm.RESET], ids=str)
@pytest.mark.parametrize("operation", [GET_PULL, LIST, CREATE])
def test_a_pass_that_was_not_told_fails_a_strict_job_alone(
    server: GitHubServer, step: Step, run: Run, operation: str, case: Case, strict: bool
) -> None:
    step.write(Status.PASS)
    prepare(server, operation, case)
    done = run()
    assert len(done.problems) == 1
    assert done.exit_code(strict=strict) == (20 if strict else 0)
    assert step.summary.startswith("## ✅ PASS")


@pytest.mark.parametrize("exists", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("harm", [Harm.LOST, Harm.TRUNCATED, Harm.APPLIED_THEN_STATUS, Harm.SILENT_AFTER])
@pytest.mark.parametrize("operation", [CREATE, UPDATE, REMOVE, HOLD, RELEASE])
def test_an_answer_that_was_lost_once_leaves_one_comment_and_no_problem(
    server: GitHubServer, run: Run, operation: str, harm: Harm, exists: bool
) -> None:
    for number in range(2 * exists):
        server.state.comment(7, f"{stamp(39 + number)}\nold")
    server.faults.append(Fault(operation, harm, status=502, times=1))
    done = run(timeout=0.2 if harm is Harm.SILENT_AFTER else 30.0)
    assert done.problems == ()
    (body,) = server.state.bodies()
    assert body.startswith(f"{stamp(41)}\n")
    (comment,) = server.state.comments.values()
    assert comment.reactions == {}


def test_a_reaction_that_could_not_be_let_go_keeps_a_later_run_for_a_while_only(
    server: GitHubServer, step: Step, run: Run
) -> None:
    server.state.comment(7, f"{stamp(40)}\nold")
    server.faults.append(Fault(RELEASE, status=500))
    run()
    server.faults.clear()
    (comment,) = server.state.comments.values()
    assert (BOT, "eyes") in comment.reactions
    comment.reactions[BOT, "eyes"] = (comment.reactions[BOT, "eyes"][0], "2026-01-01T11:00:00Z")
    step.environ["GITHUB_RUN_NUMBER"] = "42"
    run()
    (body,) = server.state.bodies()
    assert body.startswith(f"{stamp(42)}\n")
    assert comment.reactions == {}
