"""The README's workflows, as written there, from each event to the comment and the summary that it leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.world import CELLS, Run, World, job_page

Keep = Callable[[str, str], None]
GOOD, BAD = CELLS
MERGE = "refs/pull/{}/merge"


@pytest.fixture(autouse=True)
def fair_weather(world: World) -> Iterator[None]:
    """Whatever a test made go wrong is well again after it."""
    yield
    for file in world.weather.iterdir():
        file.unlink()


def first_line(text: str) -> str:
    return text.splitlines()[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the first table, below its head."""
    lines = [line for line in text.split("\n\n")[1:][0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def only_comment(world: World, pull: int) -> tuple[str, str]:
    """Marker and text of the one comment on a pull request."""
    (body,) = world.comments(pull)
    marker, _, text = body.partition("\n")
    return marker, text


def check_told(run: Run, verdict: str, *, cells: list[list[str]]) -> None:
    """The run's summary says so, in its first line and in its table."""
    assert first_line(run.summary) == verdict, run.log
    assert rows(run.summary) == cells


class TestPullRequest:
    """One pull request of the same repository: red, run again, then a new commit whose machine goes down."""

    @pytest.fixture(scope="class")
    def head(self, world: World) -> str:
        return world.commit("a change")

    def test_a_failing_cell_is_told_in_comment_and_summary(self, world: World, head: str, keep: Keep) -> None:
        (world.weather / "3.13").write_text("rain")
        run = world.run("pull_request", world.pull_request(7, head), number=41, ref=MERGE.format(7))
        marker, text = only_comment(world, 7)
        keep("pull_request", text)
        keep("pull_request-summary", run.summary)
        assert run.jobs == {"plan": "success", GOOD: "success", BAD: "failure", "verdict": "failure"}
        verdict = "## ❌ FAIL: 1 of 2 cells fails (1 of 4 tests), 1 passes."
        check_told(run, verdict, cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❌ fail 1/2"]])
        assert first_line(text) == verdict
        assert rows(text) == rows(run.summary)
        assert "`tests/test_double.py::test_the_machine_is_well` failed" in text
        assert f"[`py3.13-gil-on-triton3.7.0`]({job_page(41, 2)})" in text
        assert marker.endswith(f"head={head} run=41 attempt=1 -->")
        assert "sm90@.github/workflows/kernels.yml" in marker
        assert re.search(r"error.*test_double\.py", run.log), "an annotation at the failing line"

    def test_run_again_the_failed_cell_alone_turns_the_comment_green(self, world: World, head: str, keep: Keep) -> None:
        """act cannot leave the plan's job out as GitHub does; the other cell is not run and its first result counts."""
        event = world.pull_request(7, head)
        run = world.run("pull_request", event, number=41, attempt=2, only=BAD, ref=MERGE.format(7))
        marker, text = only_comment(world, 7)
        keep("rerun", text)
        assert run.jobs == {"plan": "success", BAD: "success", "verdict": "success"}
        check_told(
            run,
            "## ✅ PASS: 2 of 2 cells pass (4 tests).",
            cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "✅ pass 2"]],
        )
        assert first_line(text) == first_line(run.summary)
        assert marker.endswith(f"head={head} run=41 attempt=2 -->")

    def test_a_lost_cell_is_a_row_without_a_result(self, world: World, keep: Keep) -> None:
        head = world.commit("another change")
        (world.weather / "3.13").write_text("lightning")
        run = world.run("pull_request", world.pull_request(7, head), number=42, ref=MERGE.format(7))
        marker, text = only_comment(world, 7)
        keep("lost", text)
        keep("lost-summary", run.summary)
        assert run.jobs == {"plan": "success", GOOD: "success", BAD: "failure", "verdict": "failure"}
        check_told(
            run,
            "## ❔ CANNOT TELL: 1 of 2 cells has no result, 1 passes.",
            cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❔ no result"]],
        )
        assert first_line(text) == first_line(run.summary)
        assert marker.endswith(f"head={head} run=42 attempt=1 -->")


class TestFork:
    """A fork's pull request: its own run is the gate and writes nothing; the end of that run tells."""

    FORK = "mallory/kernels"

    def test_the_forks_run_writes_its_summary_alone_and_the_second_workflow_the_comment(
        self, world: World, keep: Keep
    ) -> None:
        head = world.commit("a stranger's change")
        (world.weather / "3.13").write_text("rain")
        event = world.pull_request(8, head, head_repository=self.FORK)
        asked = len(world.server.requests)
        run = world.run("pull_request", event, number=43, token="fork", ref=MERGE.format(8))
        assert run.jobs["verdict"] == "failure"
        check_told(
            run,
            "## ❌ FAIL: 1 of 2 cells fails (1 of 4 tests), 1 passes.",
            cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❌ fail 1/2"]],
        )
        assert world.server.requests[asked:] == []
        assert world.comments(8) == []

        told = world.run("workflow_run", world.ended(run, event, number=43), workflow="kernels-told", number=5)
        marker, text = only_comment(world, 8)
        keep("fork", text)
        assert told.jobs == {"tell": "success"}, told.log
        assert first_line(text) == first_line(run.summary)
        assert rows(text) == rows(run.summary)
        assert "> This result was made by a run of a fork's code" in text
        assert marker.endswith(f"head={head} run=43 attempt=1 -->")


class TestWithoutAPullRequest:
    """A push and a merge group: a summary, no comment, no question to GitHub."""

    @pytest.mark.parametrize(
        ("event", "ref"), [("push", "refs/heads/main"), ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-abc")]
    )
    def test_they_write_their_summary_alone(self, world: World, keep: Keep, event: str, ref: str) -> None:
        before = dict(world.server.state.comments)
        asked = len(world.server.requests)
        payload = world.event(event)
        payload |= {"ref": ref} if event == "push" else {}
        run = world.run(event, payload, only=GOOD, number=44 if event == "push" else 45, ref=ref)
        keep(f"{event}-summary", run.summary)
        assert run.jobs == {"plan": "success", GOOD: "success", "verdict": "failure"}
        # The other cell's job never started, as when no machine takes it.
        check_told(
            run,
            "## ❔ CANNOT TELL: 1 of 2 cells has no result, 1 passes.",
            cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❔ no result"]],
        )
        assert world.server.state.comments == before
        assert world.server.requests[asked:] == []


def test_public_forks_and_machines_of_ones_own_need_a_person(world: World) -> None:
    path = world.repository / "matrices" / "sm90.yml"
    path.write_text(path.read_text() + "runner: [self-hosted, linux, x64, sm90]\n")
    head = world.commit("onto your machines")
    run = world.run("pull_request", world.pull_request(9, head, head_repository="mallory/kernels"), token="fork")
    assert run.jobs["plan"] == "failure"
    assert set(run.jobs) <= {"plan", "verdict"}, "no job of somebody's code was started"
    assert "its author's code would run on your machines" in run.log
