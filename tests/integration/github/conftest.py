"""The stand-in, a client for it that never sleeps, and a step of a job that publishes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runner.github.api import GitHub, open_session
from runner.github.publish import Published, Wishes, publish
from runner.github.stamp import Stamp, identity
from runner.model.plan import plan_sha
from runner.model.words import Status
from tests.github_server.server import GitHubServer
from tests.github_server.state import Pull
from tests.unit.github.conftest import make_matrix

HEAD = "a" * 40
NOW = datetime(2026, 1, 3, 13, tzinfo=UTC)
Connect = Callable[..., GitHub]
Run = Callable[..., Published]
PAYLOADS = Path(__file__).parents[2] / "unit" / "github" / "payloads"


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    """A repository with pull request 7, whose head is `HEAD`; what does not fit GitHub's description fails the test."""
    with GitHubServer() as stand_in:
        stand_in.state.pulls[7] = Pull(7, HEAD)
        yield stand_in
    assert stand_in.misfits == []


@pytest.fixture
def pauses() -> list[float]:
    """The seconds that a client would have slept."""
    return []


@pytest.fixture
def connect(server: GitHubServer, pauses: list[float]) -> Iterator[Connect]:
    """Make clients of the stand-in: `connect(token, timeout=seconds)`."""
    opened: list[GitHub] = []

    def open_one(token: str = "token", timeout: float = 30.0) -> GitHub:  # noqa: S107 - the stand-in knows this one
        session = open_session(token, pause=pauses.append)
        session.trust_env = False
        opened.append(GitHub(session, server.url, server.state.repository, (timeout, timeout)))
        return opened[-1]

    yield open_one
    for github in opened:
        github.session.close()


def stamp(run: int, attempt: int = 1, head: str = HEAD) -> Stamp:
    """The stamp of one run of the same matrix."""
    return Stamp(identity("sm90", ".github/workflows/kernels.yml"), head, run, attempt)


class Step:
    """One step of a job: its folder, variables, log and files."""

    def __init__(self, folder: Path, server: GitHubServer) -> None:
        self.folder = folder
        self.server = server
        self.out = folder / "out"
        self.log: list[str] = []
        self.pull_head = "octo/kernels"
        self.environ = {
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_REPOSITORY": "octo/kernels",
            "GITHUB_SHA": "f" * 40,
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_RUN_ID": "9001",
            "GITHUB_RUN_NUMBER": "41",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_WORKFLOW_REF": "octo/kernels/.github/workflows/kernels.yml@refs/pull/7/merge",
            "GITHUB_API_URL": server.url,
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_WORKSPACE": "/",
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        }

    def write(self, *statuses: Status) -> None:
        """The output folder of a run in which the cells ended so."""
        matrix = make_matrix(statuses)
        plan = matrix.plan.model_copy(update={"matrix": "sm90"})
        plan.write(self.out / "plan.json")
        matrix.verdict.write(self.out / "verdict.json")
        for cell in plan.cells:
            if result := matrix.results.get(cell.key.id):
                sha = plan_sha(cell, plan.environment(cell.environment))
                path = self.out / "cells" / cell.key.id / "result.json"
                result.model_copy(update={"plan_sha": sha}).write(path)

    def event(self, name: str) -> dict[str, Any]:
        """An event of the repository, about pull request 7."""
        data: dict[str, Any] = json.loads((PAYLOADS / f"{name}.json").read_text(encoding="utf-8"))
        data["repository"]["full_name"] = "octo/kernels"
        if name == "pull_request":
            pull = data["pull_request"]
            pull["number"], pull["head"]["sha"] = 7, HEAD
            pull["head"]["repo"]["full_name"] = self.pull_head
            pull["base"]["repo"]["full_name"] = "octo/kernels"
        if name == "workflow_run":
            run = data["workflow_run"]
            run |= {"event": "pull_request", "head_sha": HEAD, "head_branch": "topic", "pull_requests": []}
            run |= {"path": ".github/workflows/kernels.yml", "conclusion": "failure"}
            run["head_repository"]["full_name"] = "mallory/kernels"
        self.environ["GITHUB_EVENT_NAME"] = name
        return data

    @property
    def summary(self) -> str:
        return (self.folder / "summary").read_text(encoding="utf-8")

    @property
    def outputs(self) -> str:
        return (self.folder / "output").read_text(encoding="utf-8")


@pytest.fixture
def step(tmp_path: Path, server: GitHubServer) -> Step:
    made = Step(tmp_path, server)
    made.write(Status.PASS, Status.FAIL)
    return made


@pytest.fixture
def run(step: Step, connect: Connect) -> Run:
    """Publish: `run(event, **wishes)`."""

    def run_it(event: str = "pull_request", *, token: str = "token", timeout: float = 30.0, **wishes: Any) -> Published:  # noqa: S107
        return publish(
            step.out,
            step.environ,
            step.event(event),
            lambda _: connect(token, timeout),
            wishes=Wishes(**wishes),
            now=NOW,
            say=step.log.append,
            delimiter="delimiter",
        )

    return run_it
