from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from runner.report.terminal import summary
from runner.verdict.judge import judge


def printed(data: Any, width: int, **options: Any) -> str:
    out = options.pop("file", None) or io.StringIO()
    Console(file=out, width=width, **options).print(summary(data.plan, data.results, data.verdict))
    return str(out.getvalue()) if isinstance(out, io.StringIO) else ""


@pytest.mark.parametrize("width", [80, 160])
def test_golden(sample: tuple[str, Any], width: int, golden: Callable[[str, str], None]) -> None:
    name, data = sample
    text = printed(data, width)
    assert all(len(row) <= width for row in text.split("\n"))
    golden(f"{name}-summary-{width}.txt", text)


def test_no_color_still_says_every_status_in_words(every_status: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed(every_status, 100, force_terminal=True)
    assert "\x1b[3" not in text
    for word in ("pass 3", "fail 1 of 4", "expected fail 1 of 1", "unavailable", "infra", "no result"):
        assert word in text


def test_hostile_text_reaches_no_terminal_and_no_runner(every_status: Any) -> None:
    text = printed(every_status, 100, force_terminal=True, color_system=None)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(row.lstrip().startswith("::") for row in text.split("\n"))


def test_many_columns_are_cut_into_tables_that_fit(make: Any) -> None:
    keys = [make.key("3.13t", "off", f"3.{minor}.0") for minor in range(2, 22)]
    results = {key.id: make.result(key, make.tests(24, 8)) for key in keys}
    plan = make.plan(keys)
    verdict = judge(plan, results, today=make.TODAY)
    out = io.StringIO()
    Console(file=out, width=80).print(summary(plan, results, verdict))
    text = out.getvalue()
    assert all(len(row) <= 80 for row in text.split("\n"))
    assert all(text.count(f"Triton 3.{minor}.0") == 1 for minor in range(2, 22))
    assert text.count("pass 16") == 20


def test_hundreds_of_failing_cells_are_counted_once_enough_were_named(make: Any) -> None:
    keys = [make.key("3.13t", "off", f"3.{minor}.0") for minor in range(30)]
    bad = [make.test(f"tests/test_a.py::test_{number}", make.Outcome.FAILED) for number in range(6)]
    results = {key.id: make.result(key, bad, make.Status.FAIL) for key in keys}
    plan = make.plan(keys)
    out = io.StringIO()
    Console(file=out, width=100).print(summary(plan, results, judge(plan, results, today=make.TODAY)))
    text = out.getvalue()
    assert text.count("tests/test_a.py::test_0") == text.count("and 1 more") - text.count("and 1 more cell") == 8
    assert "and 22 more cells with tests that went wrong" in text


def test_a_console_without_unicode_gets_plain_marks(quickstart: Any) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    printed(quickstart, 80, file=stream)
    stream.flush()
    assert b"+ pass 16" in raw.getvalue()
