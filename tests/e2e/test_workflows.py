"""The README's workflows, as written there, from each event to the comment and the summary that it leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.world import CELLS, ROOT, Run, World, job_page, shown_workflows

Keep = Callable[[str, str], None]
GOOD, BAD = CELLS
FORK = "mallory/kernels"
FAIL = "## ❌ FAIL: 1 of 2 cells fails (1 of 4 tests), 1 passes."
PASS = "## ✅ PASS: 2 of 2 cells pass (4 tests)."
CANNOT_TELL = "## ❔ CANNOT TELL: 1 of 2 cells has no result, 1 passes."
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
    lines = next(block for block in text.split("\n\n") if block.startswith("|")).splitlines()
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


def test_a_failing_cell_is_told_and_its_rerun_turns_the_comment_green(world: World, keep: Keep) -> None:
    head = world.commit("a change")
    event = world.pull_request(7, head)
    (world.weather / "3.13").write_text("rain")
    run = world.run("pull_request", event, number=41, ref=MERGE.format(7))
    marker, text = only_comment(world, 7)
    keep("pull_request", text)
    keep("pull_request-summary", run.summary)
    assert run.jobs == {"plan": "success", GOOD: "success", BAD: "failure", "verdict": "failure"}
    check_told(run, FAIL, cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❌ fail 1 of 2"]])
    assert first_line(text) == FAIL
    assert rows(text) == rows(run.summary)
    assert "`tests/test_double.py::test_the_machine_is_well` failed" in text
    assert f"[`py3.13-gil-on-triton3.7.0`]({job_page(41, 2)})" in text
    assert re.search(r"::error file=tests/test_double\.py,line=\d+", run.log), "an annotation at the failing line"
    assert "sm90@.github/workflows/kernels.yml" in marker
    assert marker.endswith(f"head={head} run=41 attempt=1 -->")

    # act cannot leave the plan's job out as GitHub does; the other cell is not run and its first result counts.
    (world.weather / "3.13").unlink()
    again = world.run("pull_request", event, number=41, attempt=2, only=BAD, ref=MERGE.format(7))
    marker, text = only_comment(world, 7)
    keep("rerun", text)
    assert again.jobs == {"plan": "success", BAD: "success", "verdict": "success"}
    check_told(again, PASS, cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "✅ pass 2"]])
    assert first_line(text) == PASS
    assert marker.endswith(f"head={head} run=41 attempt=2 -->")


def test_a_lost_cell_is_a_row_without_a_result(world: World, keep: Keep) -> None:
    head = world.commit("another change")
    (world.weather / "3.13").write_text("lightning")
    run = world.run("pull_request", world.pull_request(8, head), number=42, ref=MERGE.format(8))
    marker, text = only_comment(world, 8)
    keep("lost", text)
    keep("lost-summary", run.summary)
    assert run.jobs == {"plan": "success", GOOD: "success", BAD: "failure", "verdict": "failure"}
    check_told(run, CANNOT_TELL, cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❔ no result"]])
    assert first_line(text) == CANNOT_TELL
    assert marker.endswith(f"head={head} run=42 attempt=1 -->")


def test_a_forks_run_is_the_gate_and_its_end_is_told(world: World, keep: Keep) -> None:
    head = world.commit("a stranger's change")
    event = world.pull_request(9, head, head_repository=FORK)
    (world.weather / "3.13").write_text("rain")
    asked = len(world.server.requests)
    run = world.run("pull_request", event, number=43, token="fork", ref=MERGE.format(9))
    assert run.jobs["verdict"] == "failure"
    check_told(run, FAIL, cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❌ fail 1 of 2"]])
    # It reads, and writes nothing.
    assert set(world.server.requests[asked:]) == {"GET /actions/artifacts"}
    assert world.comments(9) == []

    told = world.run("workflow_run", world.ended(run, event, number=43), workflow="kernels-told", number=5)
    marker, text = only_comment(world, 9)
    keep("fork", text)
    assert told.jobs == {"tell": "success"}, told.log
    assert first_line(text) == FAIL
    assert rows(text) == rows(run.summary)
    assert "> This result was made by a run of a fork's code" in text
    assert marker.endswith(f"head={head} run=43 attempt=1 -->")


def test_a_pull_request_is_compared_with_what_main_said(world: World, keep: Keep) -> None:
    main = world.commit("what is on main")
    (world.weather / "3.12").write_text("rain")
    pushed = world.run("push", world.event("push") | {"ref": "refs/heads/main"}, number=51)
    assert pushed.jobs["verdict"] == "failure"
    assert pushed.summary.endswith("Baseline: none.\n"), "a push is compared with nothing"

    (world.weather / "3.12").unlink()
    (world.weather / "3.13").write_text("rain")
    event = world.pull_request(11, world.commit("a change"), base=main)
    run = world.run("pull_request", event, number=52, ref=MERGE.format(11))
    _, text = only_comment(world, 11)
    keep("baseline", text)
    keep("baseline-summary", run.summary)
    assert first_line(text) == FAIL
    above, _, below = text.partition("| Python |")
    assert "**Since the baseline**: 1 regressed, 1 fixed, 2 same (test by test in 2 cells)." in above
    test = "`tests/test_double.py::test_the_machine_is_well`"
    assert f"- ❌ regressed: {test} in [`py3.13-gil-on-triton3.7.0`]({job_page(52, 2)})" in above
    assert f"- ✅ fixed: {test} in [`py3.12-gil-on-triton3.7.0`]({job_page(52, 1)})" in above
    page = f"https://github.example/octo/kernels/commit/{main}"
    assert below.endswith(f"Baseline: [`{main[:7]}`]({page}) on main, less than an hour old.\n")


@pytest.mark.parametrize(
    ("event", "ref"), [("push", "refs/heads/main"), ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-abc")]
)
def test_without_a_pull_request_the_summary_alone_is_written(world: World, keep: Keep, event: str, ref: str) -> None:
    payload = world.event(event) | {"ref": ref}
    before, asked = dict(world.server.state.comments), len(world.server.requests)
    run = world.run(event, payload, only=GOOD, ref=ref)
    keep(f"{event}-summary", run.summary)
    assert run.jobs == {"plan": "success", GOOD: "success", "verdict": "failure"}
    # The other cell's job never started, as when no machine takes it.
    check_told(run, CANNOT_TELL, cells=[["3.12", "on", "✅ pass 2"], ["3.13", "on", "❔ no result"]])
    assert world.server.state.comments == before
    assert all(said.startswith(("GET /actions/", "GET storage")) for said in world.server.requests[asked:])


def test_a_fork_reaches_ones_own_machines_once_a_person_has_approved(world: World) -> None:
    matrix, workflow = (world.repository / name for name in ("matrices/sm90.yml", ".github/workflows/kernels.yml"))
    before = {path: path.read_text(encoding="utf-8") for path in (matrix, workflow)}
    matrix.write_text(before[matrix] + "runner: [self-hosted, linux, x64, sm90]\n", encoding="utf-8")
    try:
        event = world.pull_request(10, world.commit("onto your machines"), head_repository=FORK)
        refused = world.run("pull_request", event, token="fork", ref=MERGE.format(10))
        assert refused.jobs["plan"] == "failure"
        assert set(refused.jobs) <= {"plan", "verdict"}, "no job of somebody's code was started"
        assert "its author's code would run on your machines" in refused.log

        workflow.write_text(shown_workflows(ROOT / "docs" / "permissions.md")[".github/workflows/kernels.yml"], "utf-8")
        approved = world.run("pull_request", event, token="fork", only=GOOD, ref=MERGE.format(10))
        assert approved.jobs == {"approve": "success", "plan": "success", GOOD: "success", "verdict": "failure"}
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
