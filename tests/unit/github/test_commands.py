"""Workflow commands, outputs and the matrix of jobs: the exact text, and that no name can leave its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import UsageError
from runner.github.commands import MOST_JOBS, Annotation, annotate, job_matrix, outputs, plan_outputs, warning
from runner.github.planned import hand_on, read_payload
from runner.github.publish import CommentMode, wants_comment
from runner.model.plan import Job
from runner.model.words import Cause, Status
from tests.unit.github.conftest import make_finding, make_matrix, usual
from tests.unit.github.test_event import environ, payload

COMMAND = re.compile(
    r"::error file=(?P<file>[^,:\n\r]*),line=(?P<line>\d+),title=(?P<title>[^,:\n\r]*)::(?P<data>[^\n\r]*)"
)


def runner_reads(text: str) -> str:
    """What GitHub's runner makes of an escaped value."""
    for code, sign in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, sign)
    return text


@given(st.text(), st.text(), st.text(), st.integers(1, 10**6))
def test_an_annotation_is_one_command_with_what_was_meant(file: str, title: str, message: str, line: int) -> None:
    match = COMMAND.fullmatch(str(Annotation(file, line, title, message)))
    assert match is not None
    assert [runner_reads(match[name]) for name in ("file", "title", "data")] == [file, title, message]


def test_a_warning_stays_on_its_line() -> None:
    assert warning("50 %\n::error::x") == "::warning title=triton-compat::50 %25%0A::error::x"


def test_a_place_that_fails_in_several_cells_is_marked_once() -> None:
    matrix = make_matrix([Status.FAIL, Status.FAIL, Status.PASS], bad=2)
    found = annotate(matrix.plan, matrix.results, matrix.verdict, "project")
    file = "project/tests/test_add.py::test_add"
    assert [(place.file, place.line, place.title) for place in found] == [
        (file, 1, "cell-0 and 1 more"),
        (file, 2, "cell-0 and 1 more"),
    ]
    assert found[0].message == "tests/test_add.py::test_add[0] failed: tests/test_add.py::test_add"


def test_no_more_places_than_github_shows() -> None:
    matrix = make_matrix([Status.FAIL], tests=50, bad=40)
    assert len(annotate(matrix.plan, matrix.results, matrix.verdict, "")) == 10


def test_an_expected_failure_is_not_marked() -> None:
    matrix = make_matrix([Status.FAIL])
    cells = tuple(cell.model_copy(update={"expected": True}) for cell in matrix.verdict.cells)
    verdict = matrix.verdict.model_copy(update={"cells": cells})
    assert annotate(matrix.plan, matrix.results, verdict, "") == ()


def test_outputs_are_written_between_delimiters() -> None:
    assert outputs({"a": "1\n2", "b": ""}, "X") == "a<<X\n1\n2\nX\nb<<X\n\nX\n"
    with pytest.raises(ValueError, match="the output a holds the delimiter"):
        outputs({"a": "1\nX\nverdict<<Y\nPASS\nY"}, "X")


def test_a_plan_gives_one_job_for_each_machine_that_is_needed() -> None:
    plan = make_matrix([Status.PASS, Status.UNAVAILABLE, Status.PASS]).plan
    jobs = (
        Job(name="first", cells=("cell-0", "cell-1"), runner=("self-hosted", "sm90")),
        Job(name="gone", cells=("cell-1",), runner=()),
        Job(name="last", cells=("cell-2",), runner=()),
    )
    plan = plan.model_copy(update={"jobs": jobs, "matrix": "sm90: all"})
    assert plan_outputs(plan, ["ubuntu-latest"]) == {
        "matrix": '{"include":[{"name":"first","cells":"cell-0","runner":["self-hosted","sm90"],'
        '"artifact":"000-first"},'
        '{"name":"last","cells":"cell-2","runner":["ubuntu-latest"],"artifact":"001-last"}]}',
        "job-count": "2",
        "cell-count": "3",
        "cells": "cell-0 cell-2",
        "name": "sm90: all",
        "slug": "sm90-all",
    }


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=257, max_size=600))
def test_beyond_256_jobs_those_for_one_kind_of_machine_share_and_none_is_lost(runners: list[str]) -> None:
    jobs = tuple(Job(name=f"job {i}", cells=(f"cell-{i}",), runner=(label,)) for i, label in enumerate(runners))
    plan = LARGE.model_copy(update={"jobs": jobs})
    made: list[dict[str, Any]] = job_matrix(plan, [])["include"]
    assert len(made) <= MOST_JOBS
    assert len({job["name"] for job in made}) == len({job["artifact"] for job in made}) == len(made)
    cells = [(cell, tuple(job["runner"])) for job in made for cell in job["cells"].split(" ")]
    assert sorted(cells) == sorted((f"cell-{i}", (label,)) for i, label in enumerate(runners))


LARGE = make_matrix([Status.PASS] * 600, tests=0, columns=600).plan


@pytest.mark.parametrize(
    ("causes", "statuses", "wanted"),
    [
        ([Cause.PRE_EXISTING], [Status.FAIL], False),
        ([Cause.PRE_EXISTING, Cause.PROJECT], [Status.FAIL], True),
        ([Cause.REGRESSION], [Status.FAIL], True),
        ([], [Status.FAIL], True),
        ([], [Status.PASS], False),
        ([], [Status.NO_RESULT], True),
    ],
)
def test_changes_is_about_what_the_pull_request_made_worse(
    causes: list[Cause], statuses: list[Status], wanted: bool
) -> None:
    verdict = make_matrix(statuses).verdict
    findings = [make_finding(list(Cause).index(cause), ["cell-0"], usual) for cause in causes]
    verdict = verdict.model_copy(update={"findings": tuple(findings)})
    assert wants_comment(CommentMode.CHANGES, verdict) is wanted


def test_a_plan_is_handed_on_with_a_warning_about_ones_own_machines(tmp_path: Path) -> None:
    matrix = make_matrix([Status.PASS])
    jobs = (Job(name="one", cells=("cell-0",), runner=("self-hosted",)),)
    plan = matrix.plan.model_copy(update={"jobs": jobs, "root": "/w/kernels/sub"})
    said: list[str] = []
    variables = environ("push", GITHUB_OUTPUT=str(tmp_path / "output"), GITHUB_WORKSPACE="/w/kernels")
    hand_on(plan, variables, payload("push"), default_runner=["x"], approved=False, say=said.append, delimiter="D")
    written = (tmp_path / "output").read_text(encoding="utf-8")
    assert "job-count<<D\n1\nD\n" in written
    assert written.endswith("root<<D\nsub\nD\n")
    assert [text.startswith("::warning title=triton-compat::This repository is public") for text in said] == [True]
    fork = payload("pull_request")
    fork["pull_request"]["head"]["repo"] = None
    with pytest.raises(UsageError, match="your machines"):
        hand_on(
            plan, {**variables, **environ("pull_request")}, fork, default_runner=["x"], approved=False, say=said.append,
            delimiter="D",
        )  # fmt: skip


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_an_event_that_cannot_be_read_is_reported(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "event.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"GITHUB_EVENT_PATH|holds no event"):
        read_payload({"GITHUB_EVENT_PATH": str(path)})


@pytest.mark.parametrize("variables", [{}, {"GITHUB_EVENT_PATH": ""}])
def test_outside_a_job_it_says_what_to_do_there(variables: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="for a job of GitHub Actions, and here is none") as caught:
        read_payload(variables)
    assert "`triton-compat judge --baseline DIR` compares" in caught.value.remedy


def test_an_event_is_read(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"a": 1}), encoding="utf-8")
    assert read_payload({"GITHUB_EVENT_PATH": str(path)}) == {"a": 1}
