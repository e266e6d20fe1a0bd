"""What a pull request is compared with, from the list of artifacts to the comment; and every way to have none."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.github.baseline import copy_baseline, fetch_baseline
from runner.github.candidates import report_name
from runner.github.documents import MOST_BYTES
from runner.github.download import download
from runner.github.event import read_context
from runner.model.baseline import Baseline
from runner.model.plan import Plan
from runner.model.words import Status
from tests.github_server.faults import Fault, Harm
from tests.github_server.packing import pack, pack_link, pack_texts
from tests.github_server.server import STORAGE, GitHubServer
from tests.github_server.state import READ, Pull, Run, Token
from tests.integration.github.conftest import HEAD, Connect, Step

LIST = "GET /actions/artifacts"
RUN = "GET /actions/runs/{run_id}"
ADDRESS = "GET /actions/artifacts/{artifact_id}/{archive_format}"
NAME = report_name("sm90", 1)
BASE = "b" * 40
Look = Callable[..., Baseline]
Keep = Callable[..., int]


@pytest.fixture
def before(tmp_path: Path, server: GitHubServer) -> Step:
    """The output folder of a run on main in which both cells passed."""
    folder = tmp_path / "before"
    folder.mkdir()
    made = Step(folder, server)
    made.write(Status.PASS, Status.PASS)
    return made


@pytest.fixture
def keep(server: GitHubServer, before: Step) -> Keep:
    """Upload what lies in `before` from a run: `keep(run, made=..., name=..., content=...)`; the artifact's id."""

    def keep_it(run: Run, *, made: str = "2026-01-01T12:00:00Z", name: str = NAME, content: bytes | None = None) -> int:
        server.state.now = made
        return server.state.artifact(run, name, pack(before.out) if content is None else content).id

    return keep_it


@pytest.fixture
def look(step: Step, connect: Connect, tmp_path: Path) -> Look:
    """Look for a baseline of pull request 7: `look(event, token=..., timeout=...)`."""

    def look_it(event: str = "pull_request", *, token: str = "token", timeout: float = 30.0) -> Baseline:  # noqa: S107
        data = step.event(event)
        if event == "pull_request":
            data["pull_request"]["base"] |= {"ref": "main", "sha": BASE}
        context = read_context(step.environ, data)
        plan = Plan.read(step.out / "plan.json")
        into = tmp_path / "into"
        shutil.rmtree(into, ignore_errors=True)
        found = fetch_baseline(lambda _: connect(token, timeout), context, plan, into, clock=lambda: 0.0)
        assert (into / "plan.json").exists() == (found.origin is not None)
        return found

    return look_it


def remark(found: Baseline) -> str:
    """The one sentence on why there is none."""
    assert found.origin is None
    (said,) = found.remarks
    # Shown as a sentence, and not as code.
    assert said.endswith(".")
    return said


def test_a_result_of_the_base_branch_is_downloaded_without_the_token(
    server: GitHubServer, look: Look, keep: Keep, tmp_path: Path
) -> None:
    keep(Run(5, head_sha=BASE))
    found = look()
    assert found.origin is not None
    assert (found.origin.place, found.origin.commit, found.origin.run) == ("main", BASE, 5)
    assert found.origin.made.isoformat() == "2026-01-01T12:00:00+00:00"
    assert found.remarks == ()
    files = {str(path.relative_to(tmp_path / "into")) for path in (tmp_path / "into").rglob("*") if path.is_file()}
    assert files == {"plan.json", "cells/cell-0/result.json", "cells/cell-1/result.json"}
    assert server.requests == [LIST, RUN, ADDRESS, STORAGE]


def test_the_base_commits_own_result_comes_before_a_newer_one(look: Look, keep: Keep) -> None:
    keep(Run(5, head_sha=BASE), made="2026-01-01T12:00:00Z")
    keep(Run(6, head_sha="c" * 40), made="2026-01-02T12:00:00Z")
    found = look()
    assert found.origin is not None
    assert found.origin.run == 5


def test_else_the_newest_one_counts_wherever_it_stands_in_the_list(look: Look, keep: Keep) -> None:
    for number in range(250):
        head = f"{number:040x}"
        is_main = number in {3, 40}
        made = "2026-01-02T12:00:00Z" if number == 3 else "2026-01-01T12:00:00Z"
        keep(Run(10 + number, "push" if is_main else "pull_request", "main" if is_main else "topic", head), made=made)
    found = look()
    assert found.origin is not None
    assert found.origin.run == 13


@pytest.mark.parametrize(("place", "pages"), [(120, 2), (249, 1), (None, 3)])
def test_no_page_is_read_beyond_the_base_commits_own_result(
    server: GitHubServer, look: Look, keep: Keep, place: int | None, pages: int
) -> None:
    for number in range(250):
        # The same commit on another branch is not the base branch's result.
        event = "push" if number == place else "pull_request"
        keep(Run(10 + number, event, "main" if number == place else "topic", BASE))
    assert (look().origin is not None) == (place is not None)
    assert server.requests.count(LIST) == pages + (place is None)


@pytest.mark.parametrize(
    "run",
    [
        Run(6, "pull_request", "main", "c" * 40),
        Run(6, "pull_request", "main", "c" * 40, "mallory/kernels"),
        Run(6, "push", "main", "c" * 40, "mallory/kernels"),
        Run(6, "pull_request", "topic", "c" * 40),
        Run(6, "push", "topic", "c" * 40),
        Run(6, "merge_group", "gh-readonly-queue/main/pr-7", "c" * 40),
        Run(6, "workflow_run", "main", "c" * 40),
    ],
    ids=lambda run: f"{run.event}-{run.head_branch.partition('/')[0]}-{run.head_repository.partition('/')[0]}",
)
def test_a_pull_request_never_makes_a_baseline(look: Look, keep: Keep, run: Run) -> None:
    keep(run, made="2026-01-02T12:00:00Z")
    assert "no run of the branch main has left a result of this matrix" in remark(look())
    keep(Run(5, head_sha="d" * 40), made="2026-01-01T12:00:00Z")
    found = look()
    assert found.origin is not None
    assert found.origin.run == 5


def test_the_newest_attempt_of_a_run_counts(server: GitHubServer, look: Look, keep: Keep) -> None:
    run = Run(5, head_sha=BASE, attempt=3)
    keep(run)
    keep(run, name=report_name("sm90", 2), made="2026-01-01T13:00:00Z")
    keep(run, name=report_name("sm90", 3), made="2026-01-01T14:00:00Z")
    found = look()
    assert found.origin is not None
    assert found.origin.made.hour == 14
    # The third attempt is still going on.
    server.state.artifacts.popitem()
    again = look()
    assert again.origin is not None
    assert again.origin.made.hour == 12


def test_a_run_whose_first_attempt_left_nothing_counts(look: Look, keep: Keep) -> None:
    keep(Run(5, head_sha=BASE, attempt=2), name=report_name("sm90", 2))
    assert look().origin is not None


@pytest.mark.parametrize("event", ["pull_request", "merge_group"])
def test_a_merge_group_has_a_baseline_as_well(look: Look, keep: Keep, event: str) -> None:
    keep(Run(5))
    assert look(event).origin is not None


def test_a_forks_token_can_read(server: GitHubServer, step: Step, look: Look, keep: Keep) -> None:
    server.tokens["fork"] = Token(permissions={"pull-requests": READ, "actions": READ, "contents": READ})
    step.pull_head = "mallory/kernels"
    keep(Run(5))
    assert look(token="fork").origin is not None


class TestNone:
    """No baseline is a sentence, and never an error."""

    def test_nothing_is_there(self, look: Look) -> None:
        assert remark(look()) == (
            "There is no baseline: no run of the branch main has left a result of this matrix that is still kept; "
            "a run for a push to it makes one."
        )

    def test_another_matrix_is_another_name(self, look: Look, keep: Keep) -> None:
        keep(Run(5), name=report_name("sm90-small", 1))
        assert "no run of the branch main" in remark(look())

    def test_everything_has_expired(self, server: GitHubServer, look: Look, keep: Keep) -> None:
        server.state.artifacts[keep(Run(5))].expired = True
        assert "that is still kept" in remark(look())

    def test_it_expires_in_between(self, server: GitHubServer, look: Look, keep: Keep) -> None:
        keep(Run(5))
        server.faults.append(Fault(ADDRESS, status=410, message="Artifact has expired"))
        assert remark(look()) == (
            "The result of run 5 of the branch main cannot be used: it has expired or was deleted."
        )

    def test_the_permission_lacks(self, server: GitHubServer, look: Look, keep: Keep) -> None:
        keep(Run(5))
        server.tokens["token"] = Token(permissions={"pull-requests": "write"})
        assert "the job needs the permission actions: read" in remark(look())

    def test_the_token_is_unknown(self, look: Look) -> None:
        assert "GitHub answered 401" in remark(look(token="unknown"))

    @pytest.mark.parametrize("operation", [LIST, RUN, ADDRESS, STORAGE])
    @pytest.mark.parametrize(
        "case", [403, 404, 410, 429, 500, 502, 503, Harm.RESET, Harm.TRUNCATED, Harm.SILENT, Harm.SILENT_AFTER], ids=str
    )
    def test_whatever_always_goes_wrong_is_told(
        self, server: GitHubServer, look: Look, keep: Keep, operation: str, case: int | Harm
    ) -> None:
        keep(Run(5))
        server.faults.append(Fault(operation, status=case) if isinstance(case, int) else Fault(operation, case))
        silent = case in {Harm.SILENT, Harm.SILENT_AFTER}
        if operation == ADDRESS and case is Harm.TRUNCATED:
            assert look().origin is not None, "a redirect has no body that could be torn"
            return
        said = remark(look(timeout=0.05 if silent else 30.0))
        assert "main" in said
        assert "signature" not in said, "whoever has the address has the file"
        assert operation in server.requests

    def test_no_storage_at_all_is_told_without_its_address(
        self, look: Look, keep: Keep, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keep(Run(5))
        monkeypatch.setattr(GitHubServer, "storage_url", "http://127.0.0.1:1")
        assert "it did not arrive whole (ConnectionError)" in remark(look())

    @pytest.mark.parametrize("operation", [LIST, RUN, ADDRESS, STORAGE])
    @pytest.mark.parametrize("case", [503, Harm.RESET, Harm.TRUNCATED], ids=str)
    def test_what_goes_wrong_once_costs_nothing(
        self, server: GitHubServer, look: Look, keep: Keep, operation: str, case: int | Harm
    ) -> None:
        keep(Run(5))
        once = Fault(operation, status=case, times=1) if isinstance(case, int) else Fault(operation, case, times=1)
        server.faults.append(once)
        assert look().origin is not None

    def test_a_download_that_drips_is_given_up(
        self, server: GitHubServer, step: Step, connect: Connect, keep: Keep, tmp_path: Path
    ) -> None:
        keep(Run(5))
        context = read_context(step.environ, step.event("pull_request"))
        context = replace(context, base_branch="main")
        times = iter([0.0, 121.0])
        plan = Plan.read(step.out / "plan.json")
        found = fetch_baseline(lambda _: connect(), context, plan, tmp_path / "into", clock=lambda: next(times))
        assert "it took more than 120 s" in remark(found)

    def test_an_archive_that_says_it_is_huge_is_not_downloaded(
        self, server: GitHubServer, look: Look, keep: Keep, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("runner.github.baseline._MOST_ARCHIVE", 1000)
        keep(Run(5))
        assert "and more than 1,000 are not downloaded" in remark(look())
        assert ADDRESS not in server.requests

    def test_an_archive_that_is_longer_than_it_says_is_cut_off(
        self, server: GitHubServer, look: Look, keep: Keep, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        artifact = server.state.artifacts[keep(Run(5))]
        monkeypatch.setattr("runner.github.baseline._MOST_ARCHIVE", len(artifact.content) - 1)
        monkeypatch.setattr("tests.github_server.state.len", lambda _: 1, raising=False)
        assert "it has more than" in remark(look())
        assert STORAGE in server.requests


def bomb() -> bytes:
    """64 KiB that unpack to more than one document may have."""
    return pack_texts([("plan.json", bytes(MOST_BYTES + 1))])


HOSTILE = [
    (b"", "no whole zip archive"),
    (b"<html>Service unavailable</html>", "no whole zip archive"),
    (pack_texts([("../../evil", b"x")]), "outside of its folder"),
    (pack_texts([("plan.json", b"{}"), ("/evil", b"x")]), "outside of its folder"),
    (pack_link("plan.json", "/etc/passwd"), "a link or a device"),
    (pack_texts([]), "plan.json could not be read"),
    (pack_texts([("plan.json", b"[" * 100_000)]), "plan.json is not JSON"),
    (pack_texts([("plan.json", b'{"schema": "triton-compat/plan/0"}')]), "schema 'triton-compat/plan/0'"),
    (pack_texts([(f"cells/{'x' * 300}/result.json", b"{}")]), "File name too long"),
    (bomb(), f"more than {MOST_BYTES:,} bytes"),
]


@pytest.mark.parametrize(("content", "why"), HOSTILE, ids=[why for _, why in HOSTILE])
def test_an_archive_that_cannot_be_used_is_left_out_and_an_older_one_is_taken(
    look: Look, keep: Keep, tmp_path: Path, content: bytes, why: str
) -> None:
    keep(Run(6, head_sha=BASE), content=content)
    said = remark(look())
    assert said.startswith("The result of run 6 of the branch main cannot be used: ")
    assert why in said
    keep(Run(5, head_sha="c" * 40))
    found = look()
    assert found.origin is not None
    assert found.origin.run == 5
    assert found.remarks == (said,)
    assert {path.name for path in tmp_path.iterdir()} == {"before", "out", "into"}


def test_three_that_cannot_be_used_are_enough(look: Look, keep: Keep) -> None:
    for number in range(5):
        keep(Run(10 + number, head_sha=f"{number:040x}"), content=b"")
    found = look()
    assert found.origin is None
    assert len(found.remarks) == 3


@pytest.mark.parametrize(("damaged", "usable"), [(("cell-0",), True), (("cell-0", "cell-1"), False)])
def test_results_of_another_schema_are_counted(
    before: Step, look: Look, keep: Keep, damaged: tuple[str, ...], usable: bool
) -> None:
    for cell in damaged:
        path = before.out / "cells" / cell / "result.json"
        path.write_text(re.sub(r"triton-compat/result/\d+", "triton-compat/result/0", path.read_text("utf-8")))
    keep(Run(5))
    found = look()
    (said,) = found.remarks
    assert (found.origin is not None) is usable
    assert said.startswith("1 result of the baseline cannot be used: " if usable else "The result of run 5 ")
    assert "triton-compat/result/0" in said


def test_a_result_of_another_plan_is_no_result(before: Step, look: Look, keep: Keep) -> None:
    for path in before.out.glob("cells/*/result.json"):
        path.write_text(path.read_text("utf-8").replace('"plan_sha": "', '"plan_sha": "x'), "utf-8")
    keep(Run(5))
    assert "belongs to another plan" in remark(look())


def test_another_matrix_file_of_the_same_name_is_refused(before: Step, look: Look, keep: Keep) -> None:
    path = before.out / "plan.json"
    plan = Plan.read(path)
    plan.model_copy(update={"matrix_file": "other/sm90.yml"}).write(path)
    keep(Run(5))
    assert "it is of the matrix file other/sm90.yml" in remark(look())


class TestFolder:
    """A folder of the machine instead."""

    def test_it_is_copied(self, step: Step, before: Step, tmp_path: Path) -> None:
        found = copy_baseline(before.out, Plan.read(step.out / "plan.json"), tmp_path / "into")
        assert found.origin is not None
        assert (found.origin.place, found.origin.commit) == (str(before.out), None)
        assert len(list((tmp_path / "into").glob("cells/*/result.json"))) == 2

    def test_one_that_is_not_there_is_told(self, step: Step, tmp_path: Path) -> None:
        found = copy_baseline(tmp_path / "nowhere", Plan.read(step.out / "plan.json"), tmp_path / "into")
        assert "nowhere cannot be used" in remark(found)
        assert not (tmp_path / "into").exists()


@pytest.fixture
def job(step: Step, server: GitHubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """The commands of the verdict's job, one after the other, as stages.sh has them; what the comment says then."""

    def run_it(wanted: str = "auto", event: dict[str, Any] | None = None, comment: str = "always") -> str:
        data = event or step.event("pull_request")
        if "pull_request" in data:
            data["pull_request"]["base"] |= {"ref": "main", "sha": BASE}
        payload, into = tmp_path / "event.json", tmp_path / "into"
        payload.write_text(json.dumps(data), encoding="utf-8")
        more = {"GITHUB_EVENT_PATH": str(payload), "TRITON_COMPAT_TOKEN": "token", "NO_PROXY": "127.0.0.1"}
        for name, value in {**step.environ, **more}.items():
            monkeypatch.setenv(name, value)
        out = ("--out", str(step.out))
        assert main(["baseline", wanted, *out, "--into", str(into)]) == 0
        judged = main(["judge", *out, *(["--baseline", str(into)] if (into / "plan.json").exists() else [])])
        assert main(["publish", *out, "--comment", comment]) == judged
        return "".join(server.state.bodies())

    return run_it


class TestComment:
    """What a reader sees."""

    def test_what_regressed_and_what_it_is_compared_with(
        self, job: Callable[..., str], keep: Keep, server: GitHubServer
    ) -> None:
        keep(Run(5, head_sha="1a2b3c4" + "0" * 33))
        body = job()
        above, _, below = body.partition("| Python |")
        assert "**Since the baseline**: 1 regressed, 5 same (test by test in 2 cells)." in above
        assert "- ❌ regressed: `tests/test_add.py::test_add[0]` in `cell-1`" in above
        assert "[`1a2b3c4`](https://github.example/octo/kernels/commit/1a2b3c40" in below
        assert re.search(r"Baseline: \[.*\) on main, \d+ days old\.", below)
        assert "There is no baseline" not in body

    def test_what_was_fixed(self, job: Callable[..., str], keep: Keep, step: Step, before: Step) -> None:
        before.write(Status.FAIL, Status.PASS)
        step.write(Status.PASS, Status.PASS)
        keep(Run(5))
        body = job()
        assert "- ✅ fixed: `tests/test_add.py::test_add[0]` in `cell-0`" in body
        assert "regress" not in body

    def test_without_one_it_says_so_and_nothing_regressed(self, job: Callable[..., str]) -> None:
        body = job()
        assert "> There is no baseline: no run of the branch main has left a result of this matrix" in body
        assert body.endswith("Baseline: none.\n")
        assert "regress" not in body

    def test_none_is_asked_for_and_nothing_is_said(
        self, job: Callable[..., str], keep: Keep, server: GitHubServer
    ) -> None:
        keep(Run(5))
        body = job("none")
        assert body.endswith("Baseline: none.\n")
        assert "There is no baseline" not in body
        assert LIST not in server.requests

    def test_a_baseline_of_an_earlier_run_in_the_same_folder_is_forgotten(
        self, job: Callable[..., str], keep: Keep, server: GitHubServer
    ) -> None:
        keep(Run(5))
        assert "Since the baseline" in job()
        server.state.comments.clear()
        body = job("none")
        assert body.endswith("Baseline: none.\n")
        assert "Since the baseline" not in body

    def test_why_there_was_none_is_forgotten_as_well(self, job: Callable[..., str], server: GitHubServer) -> None:
        assert "There is no baseline" in job()
        server.state.comments.clear()
        assert "There is no baseline" not in job("none")

    def test_a_folder_is_named(self, job: Callable[..., str], before: Step) -> None:
        body = job(str(before.out))
        assert "1 regressed" in body
        assert re.search(r"Baseline: the folder \S+, \d+ (hour|day)s? old\.", body)

    @pytest.mark.parametrize(
        ("old", "new", "count"),
        [
            ((Status.PASS, Status.FAIL), (Status.PASS, Status.FAIL), 0),
            ((Status.PASS, Status.PASS), (Status.PASS, Status.FAIL), 1),
            ((Status.FAIL, Status.PASS), (Status.FAIL, Status.FAIL), 1),
            ((Status.FAIL, Status.FAIL), (Status.PASS, Status.PASS), 0),
            ((Status.PASS,), (Status.PASS, Status.FAIL), 1),
            ((Status.PASS, Status.FAIL), (Status.PASS, Status.NO_RESULT), 1),
        ],
    )
    def test_a_comment_on_changes_alone_is_written_when_something_is_worse(
        self,
        job: Callable[..., str],
        keep: Keep,
        step: Step,
        before: Step,
        server: GitHubServer,
        old: tuple[Status, ...],
        new: tuple[Status, ...],
        count: int,
    ) -> None:
        for one, statuses in ((before, old), (step, new)):
            shutil.rmtree(one.out)
            one.write(*statuses)
        keep(Run(5))
        job(comment="changes")
        assert len(server.state.bodies()) == count

    def test_a_push_is_compared_with_nothing_and_asks_nothing(
        self, job: Callable[..., str], keep: Keep, step: Step, server: GitHubServer
    ) -> None:
        keep(Run(5))
        job(event=step.event("push"))
        assert server.requests == []
        assert "Baseline: none." in step.summary

    def test_the_end_of_a_forks_run_tells_what_that_run_compared_with(
        self, job: Callable[..., str], keep: Keep, step: Step, server: GitHubServer
    ) -> None:
        keep(Run(5))
        step.pull_head = "mallory/kernels"
        assert job() == ""
        assert "1 regressed" in step.summary
        server.state.pulls[7] = Pull(7, HEAD, "topic", "mallory/kernels")
        Path(step.environ["GITHUB_STEP_SUMMARY"]).unlink()
        payload = json.dumps(step.event("workflow_run"))
        with pytest.MonkeyPatch.context() as patch:
            event = step.folder / "ended.json"
            event.write_text(payload, encoding="utf-8")
            patch.setenv("GITHUB_EVENT_PATH", str(event))
            patch.setenv("GITHUB_EVENT_NAME", "workflow_run")
            main(["publish", "--out", str(step.out)])
        (body,) = server.state.bodies()
        assert "1 regressed" in body
        assert " on main, " in body


def test_the_place_of_the_baseline_is_not_where_it_comes_from(
    step: Step, before: Step, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["baseline", str(before.out), "--out", str(step.out), "--into", str(before.out)]
    assert main(words) == 11
    assert (before.out / "plan.json").exists()
    assert "Name another folder with --into" in capsys.readouterr().err


def test_a_second_try_begins_anew(server: GitHubServer, keep: Keep, connect: Connect) -> None:
    content = random.Random(7).randbytes(2**18)  # noqa: S311 - test data
    artifact = keep(Run(5), content=content)
    server.faults.append(Fault(STORAGE, Harm.TRUNCATED, times=1))
    target = io.BytesIO()
    path = f"/actions/artifacts/{artifact}/zip"
    download(connect(), path, target, needs="actions: read", limit=2**20, clock=lambda: 0.0)
    assert target.getvalue() == content
    assert server.requests == [ADDRESS, STORAGE] * 2


def test_the_storage_takes_no_token_and_no_guess(server: GitHubServer, keep: Keep, connect: Connect) -> None:
    keep(Run(5))
    github = connect()
    address = github.address(f"/actions/artifacts/{next(iter(server.state.artifacts))}/zip", needs="actions: read")
    assert github.session.get(address).status_code == 400
    assert server.misfits.pop() == "the storage, which is another host, was sent a token"
    github.session.auth = None
    assert github.session.get(address.replace("sig=", "sig=x")).status_code == 403
    stored = github.session.get(address)
    assert stored.status_code == 200
    assert pack_texts([])[:2] == io.BytesIO(stored.content).read(2)
