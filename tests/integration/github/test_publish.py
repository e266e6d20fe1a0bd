"""From an output folder to the stand-in: what a user sees after each event, and after everything that can go wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runner.errors import DocumentError, GitHubError
from runner.github.comment import Settled
from runner.github.event import Context
from runner.github.publish import CommentMode, Wishes, publish
from runner.github.stamp import Stamp
from runner.model.plan import Plan, Race, Settings, plan_sha
from runner.model.race import RacedTest, Races
from runner.model.result import CellResult, GilState
from runner.model.words import Status
from tests.github_server.faults import Fault, Harm
from tests.github_server.server import GitHubServer
from tests.github_server.state import READ, Pull, Token
from tests.integration.github.conftest import HEAD, NOW, Run, Step, stamp


def test_a_pull_request_gets_comment_summary_outputs_and_annotations(
    server: GitHubServer, step: Step, run: Run
) -> None:
    server.state.jobs[9001, 1] = [
        {"name": "matrix / job-cell-1", "html_url": "https://github.example/octo/kernels/actions/runs/9001/job/5"},
        {"name": "matrix / job-cell-0", "html_url": "https://evil.example/"},
    ]
    done = run()
    assert done.problems == ()
    (body,) = server.state.bodies()
    assert body.startswith(f"{stamp(41)}\n## ❌ FAIL: 1 of 2 cells")
    assert "[`cell-1`](https://github.example/octo/kernels/actions/runs/9001/job/5)" in body
    assert "evil" not in body
    assert step.summary.startswith("## ❌ FAIL")
    assert "verdict<<delimiter\nFAIL\ndelimiter\n" in step.outputs
    assert any(said.startswith("::error file=project/tests/test_add.py") for said in step.log)
    assert done.exit_code(strict=False) == done.exit_code(strict=True) == 1


def test_a_green_run_clears_a_red_comment_in_every_mode_but_off(server: GitHubServer, step: Step, run: Run) -> None:
    for mode in (CommentMode.ALWAYS, CommentMode.CHANGES, CommentMode.PROBLEMS):
        server.state.comments.clear()
        server.state.comment(7, f"{stamp(40)}\nFAIL")
        step.write(Status.PASS)
        run(comment=mode)
        (body,) = server.state.bodies()
        assert body.startswith(f"{stamp(41)}\n## ✅ PASS")
    server.state.comments.clear()
    server.state.comment(7, f"{stamp(40)}\nFAIL")
    run(comment=CommentMode.OFF)
    assert server.state.bodies() == [f"{stamp(40)}\nFAIL"]


@pytest.mark.parametrize(
    ("mode", "status", "count"),
    [
        (CommentMode.ALWAYS, Status.PASS, 1),
        (CommentMode.CHANGES, Status.PASS, 0),
        (CommentMode.CHANGES, Status.FAIL, 1),
        (CommentMode.PROBLEMS, Status.PASS, 0),
        (CommentMode.PROBLEMS, Status.NO_RESULT, 1),
        (CommentMode.OFF, Status.FAIL, 0),
    ],
)
def test_when_a_first_comment_is_written(
    server: GitHubServer, step: Step, run: Run, mode: CommentMode, status: Status, count: int
) -> None:
    step.write(status)
    run(comment=mode)
    assert len(server.state.bodies()) == count


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch", "merge_group"])
def test_events_without_a_pull_request_write_the_summary_and_ask_github_nothing(
    server: GitHubServer, step: Step, run: Run, event: str
) -> None:
    step.environ["GITHUB_REF"] = "refs/heads/main"
    done = run(event)
    assert server.requests == []
    assert step.summary.startswith("## ❌ FAIL")
    assert done.comment is None
    assert done.exit_code(strict=True) == 1


def test_a_rerun_replaces_what_its_first_attempt_said(server: GitHubServer, step: Step, run: Run) -> None:
    run()
    step.environ["GITHUB_RUN_ATTEMPT"] = "2"
    step.write(Status.PASS, Status.PASS)
    run()
    (body,) = server.state.bodies()
    assert body.startswith(f"{stamp(41, attempt=2)}\n## ✅ PASS: ")


def test_a_lost_cell_has_a_row(server: GitHubServer, step: Step, run: Run) -> None:
    step.write(Status.PASS, Status.NO_RESULT)
    done = run()
    assert done.exit_code(strict=False) == 3
    (body,) = server.state.bodies()
    assert "❔ no result" in body


class TestForks:
    """A fork's run tests with a read-only token; the end of that run publishes."""

    def fork(self, server: GitHubServer) -> None:
        server.state.pulls[7] = Pull(7, HEAD, "topic", "mallory/kernels")
        server.state.pulls[8] = Pull(8, HEAD, "topic", "other/kernels")
        server.state.pulls[9] = Pull(9, "c" * 40, "topic", "mallory/kernels")

    def test_the_pull_request_is_found_by_repository_branch_and_commit(
        self, server: GitHubServer, step: Step, run: Run
    ) -> None:
        self.fork(server)
        done = run("workflow_run")
        assert done.problems == ()
        assert [comment.issue for comment in server.state.comments.values()] == [7]
        (body,) = server.state.bodies()
        assert Stamp.read(body) == Stamp("sm90@.github/workflows/kernels.yml", HEAD, 163, 1)
        assert "This result was made by a run of a fork's code" in body
        assert not any(said.startswith("::error") for said in step.log), "the checkout is another commit"

    def test_a_pass_of_a_run_that_failed_is_doubted(self, server: GitHubServer, step: Step, run: Run) -> None:
        self.fork(server)
        step.write(Status.PASS)
        run("workflow_run")
        assert (
            "> The run ended with `failure` although its result says PASS: believe the run." in server.state.bodies()[0]
        )

    def test_nobody_elses_pull_request_is_taken(self, server: GitHubServer, step: Step, run: Run) -> None:
        self.fork(server)
        del server.state.pulls[7]
        done = run("workflow_run")
        assert done.comment is not None
        assert done.comment.settled is Settled.NO_PULL
        assert server.state.bodies() == []

    def test_the_forks_own_run_says_why_it_writes_no_comment(self, server: GitHubServer, step: Step, run: Run) -> None:
        step.pull_head = "mallory/kernels"
        run()
        assert any("No comment: the token of a fork's run is read-only" in said for said in step.log)
        assert server.requests == []


def test_too_few_permissions_for_links_cost_the_links_alone(server: GitHubServer, step: Step, run: Run) -> None:
    server.tokens["token"] = Token(permissions={"pull-requests": "write"})
    assert run().problems == ()
    assert len(server.state.bodies()) == 1


def test_a_read_only_token_is_told_the_line_that_lacks(server: GitHubServer, step: Step, run: Run) -> None:
    server.tokens["token"] = Token(permissions={"pull-requests": READ})
    (problem,) = run().problems
    assert "permissions: pull-requests: write" in problem.remedy
    assert "permissions: pull-requests: write" in step.summary


def test_no_token_at_all_is_a_problem_like_others(step: Step, server: GitHubServer) -> None:
    def refuse(_: Context) -> Any:
        raise GitHubError("There is no token.", remedy="Set token.")

    done = publish(
        step.out,
        step.environ,
        step.event("pull_request"),
        refuse,
        wishes=Wishes(),
        now=NOW,
        say=step.log.append,
        delimiter="delimiter",
    )
    assert [problem.message for problem in done.problems] == ["There is no token."]
    assert "Could not be published: There is no token. Set token." in step.summary


@pytest.mark.parametrize(
    ("status", "conclusion"),
    [(Status.PASS, "success"), (Status.FAIL, "failure"), (Status.NO_RESULT, "action_required")],
)
def test_a_check_run_says_the_verdict(
    server: GitHubServer, step: Step, run: Run, status: Status, conclusion: str
) -> None:
    step.write(status)
    assert run(check=True, comment=CommentMode.OFF).problems == ()
    (check,) = server.state.checks.values()
    assert (check["head_sha"], check["conclusion"]) == (HEAD, conclusion)
    assert server.state.bodies() == []
    if status is Status.FAIL:
        (place,) = check["output"]["annotations"]
        assert (place["path"], place["start_line"]) == ("project/tests/test_add.py::test_add", 1)


def test_a_check_whose_answer_was_lost_is_looked_up(server: GitHubServer, run: Run) -> None:
    server.faults.append(Fault("POST /check-runs", Harm.LOST))
    assert run(check=True).problems == ()
    assert len(server.state.checks) == 1
    server.state.checks.clear()
    server.faults[:] = [Fault("POST /check-runs", Harm.RESET)]
    assert len(run(check=True).problems) == 1


class TestHostileFolders:
    """What a fork's artifact can hold."""

    def test_a_link_to_a_file_of_the_machine_is_not_followed(self, step: Step, run: Run, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        (step.out / "verdict.json").rename(secret)
        (step.out / "verdict.json").symlink_to(secret)
        with pytest.raises(DocumentError, match=r"verdict\.json could not be read"):
            run()

    def test_a_linked_folder_is_not_followed(self, step: Step, run: Run, tmp_path: Path) -> None:
        (step.out / "cells").rename(tmp_path / "elsewhere")
        (step.out / "cells").symlink_to(tmp_path / "elsewhere")
        run()
        assert sum("cannot be read" in said for said in step.log) == 2

    def test_a_pipe_does_not_hang(self, step: Step, run: Run) -> None:
        (step.out / "plan.json").unlink()
        os.mkfifo(step.out / "plan.json")
        with pytest.raises(DocumentError, match="no plain file"):
            run()

    def test_a_huge_file_is_refused(self, step: Step, run: Run) -> None:
        with (step.out / "verdict.json").open("r+b") as stream:
            stream.truncate(65 * 2**20)
        with pytest.raises(DocumentError, match="more than 67,108,864 bytes"):
            run()

    @pytest.mark.parametrize("text", ["[" * 100_000, "{", "\udcff", '{"schema": "triton-compat/result/1", "more": 1}'])
    def test_a_damaged_result_costs_its_own_facts_alone(
        self, step: Step, run: Run, server: GitHubServer, text: str
    ) -> None:
        path = step.out / "cells" / "cell-0" / "result.json"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        run()
        assert any("cell-0 has a result that cannot be read" in said for said in step.log)
        assert "1 result is there that cannot be used" in server.state.bodies()[0]

    def test_races_are_told_and_damaged_ones_cost_themselves_alone(
        self, step: Step, run: Run, server: GitHubServer
    ) -> None:
        plan = Plan.read(step.out / "plan.json")
        settings = Settings(race=Race(threads=4, rounds=5))
        plan = plan.model_copy(
            update={"cells": tuple(one.model_copy(update={"settings": settings}) for one in plan.cells)}
        )
        plan.write(step.out / "plan.json")
        for cell in plan.cells:
            folder, sha = step.out / "cells" / cell.key.id, plan_sha(cell, plan.environment(cell.environment))
            CellResult.read(folder / "result.json").model_copy(update={"plan_sha": sha}).write(folder / "result.json")
            test = RacedTest(id="t.py::a", threads=4, rounds=5, rounds_done=5, passed=20)
            state = GilState(requested=cell.key.gil)
            Races(cell=cell.key, threads=4, rounds=5, gil=state, tests=(test,), plan_sha=sha).write(
                folder / "races.json"
            )
        (step.out / "cells" / "cell-1" / "races.json").write_text("{", encoding="utf-8")
        run()
        assert any("cell-1 has races that cannot be read" in said for said in step.log)
        assert "1 test raced in 1 cell (4 threads, 5 rounds; 20 calls): 0 tests failed." in server.state.bodies()[0]

    def test_a_result_of_another_plan_is_not_shown(self, step: Step, run: Run) -> None:
        path = step.out / "cells" / "cell-0" / "result.json"
        path.write_text(path.read_text(encoding="utf-8").replace('"plan_sha": "', '"plan_sha": "x'), encoding="utf-8")
        run()
        assert any("another plan" in said for said in step.log)
