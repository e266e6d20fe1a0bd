"""What the cell command decides by itself: which earlier work still counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import cli
from runner.commands.cell import _keep_for_this_environment, _may_differ_now
from runner.errors import UsageError
from runner.model.result import CellResult, GilState, ObservedEnvironment
from runner.model.words import Status
from tests.unit.verdict.building import GOOD, plan, result

OBSERVED = ObservedEnvironment(python="3.13.5", build="b", soabi=None, executable="/p", triton=None, torch=None)


def test_a_journal_goes_on_in_the_environment_in_which_it_began(tmp_path: Path) -> None:
    _keep_for_this_environment(tmp_path, "one")
    (tmp_path / "journal.jsonl").write_text("{}\n")
    _keep_for_this_environment(tmp_path, "one")
    assert (tmp_path / "journal.jsonl").read_text() == "{}\n"


def test_a_journal_of_another_environment_or_of_an_unknown_one_is_void(tmp_path: Path) -> None:
    for begun_in in ("one", None):
        (tmp_path / "environment.txt").unlink(missing_ok=True)
        if begun_in is not None:
            (tmp_path / "environment.txt").write_text(begun_in)
        (tmp_path / "journal.jsonl").write_text("{}\n")
        _keep_for_this_environment(tmp_path, "other")
        assert not (tmp_path / "journal.jsonl").exists()
        assert (tmp_path / "environment.txt").read_text() == "other"


@pytest.mark.parametrize(
    ("status", "planned_unavailable", "differs"),
    [
        (Status.UNAVAILABLE, None, True),  # no interpreter: it may have been installed since
        (Status.NO_RESULT, None, True),  # no environment: the network may be back
        (Status.INFRA, None, True),
        (Status.UNAVAILABLE, "no wheel", False),
    ],
)
def test_what_the_machine_lacked_is_looked_for_again(
    status: Status, planned_unavailable: str | None, *, differs: bool
) -> None:
    planned = plan()
    environment = planned.environments[0].model_copy(update={"unavailable": planned_unavailable})
    key = planned.cells[0].key
    lacked = CellResult(cell=key, gil=GilState(requested=key.gil), status=status, reason="why")
    assert _may_differ_now(lacked, environment) is differs


def test_tests_that_ran_are_kept() -> None:
    planned = plan()
    for status in (Status.PASS, Status.FAIL, Status.NO_RESULT):
        ran = result(planned, planned.cells[0].key.id, {"test_a.py::test": GOOD}, status)
        ran = ran.model_copy(update={"environment": OBSERVED})
        assert not _may_differ_now(ran, planned.environments[0])


def test_a_plan_of_another_machine_asks_for_the_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planned = plan().model_copy(update={"root": str(tmp_path / "elsewhere")})
    planned.write(tmp_path / "plan.json")
    assert cli.main(["cell", planned.cells[0].key.id, "--out", str(tmp_path)]) == UsageError.exit_code
    said = capsys.readouterr().err
    assert f"{tmp_path}/elsewhere is not a folder here" in said
    assert "--root" in said
    assert not (tmp_path / "cells").exists()
