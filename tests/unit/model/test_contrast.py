from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from runner.errors import DocumentError
from runner.model.contrast import Contrast, Contrasts, ControlPart, Count, Side, Trial
from runner.model.words import Factor

DOCUMENT = Contrasts(
    cell="py3.13t-gil-off-triton3.3.1",
    contrasts=(
        Contrast(
            cell="py3.13t-gil-off-triton3.3.1",
            root="driver-helper-segfault-1234abcd",
            tests=("test_mimo.py",),
            factor=Factor.GIL,
            before=Side(value="off", count=Count(failed=6, total=6), env={"PYTHON_GIL": "0"}, command=("pytest",)),
            after=Side(value="on", count=Count(failed=6, total=6), env={"PYTHON_GIL": "1"}, seconds=3.5),
        ),
    ),
    control=(
        ControlPart(id="import", title="import triton", count=Count(failed=0, total=6)),
        ControlPart(id="launch", title="launch a kernel", needs_gpu=True, skipped="no SM90 GPU here"),
    ),
    workarounds=(Trial(root="r", title="delete the cache", count=Count(failed=0, total=6)),),
    spent_seconds=12.5,
    unfinished=("base commit: the budget was spent",),
)


def test_a_document_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "contrasts.json"
    DOCUMENT.write(path)
    assert Contrasts.read(path) == DOCUMENT
    assert '"schema": "triton-compat/contrasts/1"' in path.read_text(encoding="utf-8")


def test_another_version_is_refused() -> None:
    with pytest.raises(DocumentError, match="contrasts/9"):
        Contrasts.parse(DOCUMENT.to_json().replace("contrasts/1", "contrasts/9"), "contrasts.json")


@pytest.mark.parametrize(("failed", "other", "total"), [(3, 0, 2), (1, 2, 2), (-1, 0, 2)])
def test_counts_add_up(failed: int, other: int, total: int) -> None:
    with pytest.raises(ValidationError):
        Count(failed=failed, other=other, total=total)


def test_trials_are_processes_at_most() -> None:
    assert Count(failed=1, total=6).trials == 6
    assert Count(failed=1, total=6, processes=2).trials == 2
    assert Count(failed=1, total=2, processes=6).trials == 2


def test_a_part_was_run_or_says_why_not() -> None:
    with pytest.raises(ValidationError, match="either a count or the reason"):
        ControlPart(id="launch", title="launch a kernel")
    with pytest.raises(ValidationError, match="either a count or the reason"):
        ControlPart(id="launch", title="l", count=Count(failed=0, total=1), skipped="no GPU")
