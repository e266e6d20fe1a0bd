"""The variables of the tests: no secrets, nothing of this tool's own, and what the matrix file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.execution.surroundings import CACHES, TOKEN, variables_for_tests
from runner.model.words import GilMode


def variables(outer: dict[str, str], **more: object) -> dict[str, str]:
    known: dict[str, object] = {
        "python": Path("/env/bin/python"),
        "gil": GilMode.OFF,
        "free_threaded": True,
        "caches": Path("/caches"),
        "temporary": Path("/scratch/cell"),
        "token": "cell/0123456789abcdef",
        "user": {},
    }
    return variables_for_tests(outer, **{**known, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    ["GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "GH_TOKEN", "INPUT_TOKEN", "SSH_AUTH_SOCK", "UV_INDEX_X_PASSWORD"],
)
def test_secrets_of_the_machine_never_arrive(name: str) -> None:
    assert name not in variables({name: "secret", "HOME": "/home"})


@pytest.mark.parametrize("name", ["PYTHONHOME", "PYTHONPATH", "PYTHONINSPECT", "PYTEST_ADDOPTS", "PYTEST_PLUGINS"])
def test_what_would_bend_the_tests_counts_from_the_matrix_file_alone(name: str) -> None:
    assert name not in variables({name: "outer"})
    assert variables({name: "outer"}, user={name: "asked for"})[name] == "asked for"


@pytest.mark.parametrize(
    ("gil", "free_threaded", "value"),
    [
        (GilMode.ON, True, "1"),
        (GilMode.OFF, True, "0"),
        (GilMode.DEFAULT, True, None),
        (GilMode.ON, False, None),
    ],
)
def test_the_gil_is_asked_for_where_it_can_be(gil: GilMode, *, free_threaded: bool, value: str | None) -> None:
    found = variables({"PYTHON_GIL": "x"}, gil=gil, free_threaded=free_threaded, user={"PYTHON_GIL": "y"})
    assert found.get("PYTHON_GIL") == value


def test_caches_are_the_cells_own_and_its_processes_are_marked() -> None:
    found = variables({"TRITON_CACHE_DIR": "/home/.triton", "PATH": "/usr/bin"})
    assert {name: found[name] for name in CACHES} == {name: f"/caches/{folder}" for name, folder in CACHES.items()}
    assert found["PATH"] == "/env/bin:/usr/bin"
    assert found[TOKEN] == "cell/0123456789abcdef"
