from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runner.report.markdown import render


def test_golden(sample: tuple[str, Any], golden: Callable[[str, str], None]) -> None:
    name, data = sample
    golden(f"{name}.md", render(data.plan, data.results, data.verdict))
