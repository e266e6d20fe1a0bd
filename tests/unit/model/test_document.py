"""Documents that are damaged: each is refused with a sentence that says what to do, whatever is wrong with it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runner.errors import DocumentError
from runner.model.document import MOST_BYTES
from runner.model.plan import Plan
from runner.model.verdict import Verdict
from tests.unit.verdict.building import plan


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not text"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"a":' * 100_000, "is not JSON"),
        (b'{"schema": ' + b"9" * 5_000 + b"}", "is not JSON"),
        (b"null", "has schema None"),
        (json.dumps({"schema": ["x"] * 10_000}).encode(), "has schema ['x', "),
        (b'{"schema": "triton-compat/plan/99"}', "has schema 'triton-compat/plan/99'"),
        (b'{"schema": "triton-compat/plan/1"}', "matrix: Field required"),
    ],
)
def test_damage_is_a_short_sentence_with_a_remedy(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(DocumentError) as caught:
        Plan.read(path)
    assert said in caught.value.message
    assert len(caught.value.message) < 600 + len(str(path))
    assert caught.value.remedy == "Run triton-compat plan or nox -s matrix again with this version of triton-compat."


def test_a_missing_file_says_so_once(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        Verdict.read(tmp_path / "verdict.json")
    assert caught.value.message == f"{tmp_path}/verdict.json could not be read: No such file or directory"
    assert "triton-compat judge" in caught.value.remedy


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    os.mkfifo(path)
    with pytest.raises(DocumentError, match=r"verdict\.json could not be read: it is no regular file"):
        Verdict.read(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(DocumentError, match=r"verdict\.json could not be read: it is no regular file"):
        Verdict.read(path)


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    plan().write(tmp_path / "kept.json")
    (tmp_path / "plan.json").symlink_to("kept.json")
    assert Plan.read(tmp_path / "plan.json") == plan()


def test_a_document_has_a_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    with path.open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    with pytest.raises(DocumentError, match=r"could not be read: it has more than 1,073,741,824 bytes"):
        Verdict.read(path)


def without_environments(data: dict[str, Any]) -> None:
    data["environments"] = []


def with_every_cell_twice(data: dict[str, Any]) -> None:
    data["cells"] *= 2


def with_every_environment_twice(data: dict[str, Any]) -> None:
    data["environments"] *= 2


def with_an_environment_elsewhere(data: dict[str, Any]) -> None:
    data["environments"][0]["id"] = "../../elsewhere"
    for cell in data["cells"]:
        cell["environment"] = "../../elsewhere"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without_environments, "needs environment 'py3.13t-triton3.3.1', which is not there"),
        (with_every_cell_twice, "is there twice"),
        (with_every_environment_twice, "environment 'py3.13t-triton3.3.1' is there twice"),
        (with_an_environment_elsewhere, "is no file name"),
    ],
)
def test_a_plan_that_does_not_hang_together_is_refused(damage: Any, said: str) -> None:
    data = json.loads(plan().to_json())
    Plan.parse(json.dumps(data), "plan.json")
    damage(data)
    with pytest.raises(DocumentError, match=said):
        Plan.parse(json.dumps(data), "plan.json")
