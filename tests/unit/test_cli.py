"""The front door: every way in which a command can end has an exit status of its own, and none looks like a FAIL."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from runner import cli, commands, errors
from runner.errors import TritonCompatError


def every_error(kind: type[TritonCompatError] = TritonCompatError) -> list[type[TritonCompatError]]:
    return [kind, *(one for child in kind.__subclasses__() for one in every_error(child))]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_each_error_has_a_remedy_and_an_exit_code_that_is_no_verdict(kind: type[TritonCompatError]) -> None:
    assert kind.exit_code >= 10
    assert kind.remedy.endswith((".", "."))
    assert str(kind("What happened.")) == f"What happened.\n{kind.remedy}"


def test_exit_codes_of_the_error_module_are_distinct() -> None:
    own = [kind for kind in every_error() if kind.__module__ == errors.__name__]
    assert len({kind.exit_code for kind in own}) == len(own)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["plann"], 11, "invalid choice: 'plann'"),
        (["plan"], 11, "required: matrix"),
        (["cell", "x", "--out", "/nowhere/at/all"], 17, "could not be read"),
        (["judge", "--out", "/nowhere/at/all"], 17, "Run triton-compat plan"),
        (["plan", "/nowhere/matrix.yml"], 12, "No such file"),
        (["audit", "/nowhere/python"], 11, "neither a Python nor"),
    ],
)
def test_mistakes_of_the_user(words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        got = cli.main(words)
    except SystemExit as ended:  # argparse ends by itself
        got = int(ended.code or 0)
    assert got == status
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (PermissionError(13, "Permission denied", "/out/plan.json"), 19, "/out/plan.json: Permission denied"),
        (OSError(28, "No space left on device"), 19, "A file: No space left on device"),
        (ZeroDivisionError("division by zero"), 10, "a mistake in triton-compat"),
        (KeyboardInterrupt(), 130, "Run the same command again"),
    ],
)
def test_whatever_is_raised_is_no_verdict(
    raised: BaseException, status: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: argparse.Namespace) -> int:
        raise raised

    monkeypatch.setattr(commands, "run", run)
    assert cli.main(["doctor"]) == status
    assert said in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "runner", "schema"]
    writer = subprocess.Popen(
        command, cwd=Path(cli.__file__).parents[1], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    assert b"Traceback" not in writer.stderr.read()
    writer.stderr.close()
    writer.wait()
