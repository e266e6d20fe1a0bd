"""The doctor's table: narrow as the terminal may be, a path stays whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import cli
from runner.commands import doctor
from runner.environment.doctor import Check

LONG = "/a/very/long/path" * 10


def test_a_long_path_is_folded_and_not_cut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def survey(folder: Path) -> tuple[Check, ...]:
        return (Check(name=f"disk of {LONG}", ok=True, detail=f"at {LONG}", remedy="", needed=True),)

    monkeypatch.setattr(doctor, "survey", survey)
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in said
    assert all(len(row) <= 60 for row in said.splitlines())
    assert said.count("/") == 2 * LONG.count("/")
