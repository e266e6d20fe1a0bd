from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.report.svg import render
from runner.verdict.judge import judge

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    root = ET.fromstring(picture)  # noqa: S314 - our own text
    assert {element.tag.removeprefix(NAMESPACE) for element in root.iter()} <= {"svg", "title", "style", "rect", "text"}
    return [element.text or "" for element in root.iter(f"{NAMESPACE}text")]


def test_golden(sample: tuple[str, Any], golden: Callable[[str, str], None]) -> None:
    name, data = sample
    picture = render(data.plan, data.results, data.verdict)
    assert texts(picture)[0] == data.verdict.sentence
    golden(f"{name}.svg", picture)


def test_every_cell_is_in_the_picture(quickstart: Any) -> None:
    found = texts(render(quickstart.plan, quickstart.results, quickstart.verdict))
    assert found.count("✓ pass 16, 8 skipped") == 10
    assert found.count("✓ pass 16, 8 skipped, GIL back on") == 2
    assert found.count("- unavailable") == 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(), min_size=1, max_size=40))
def test_hostile_text_stays_text(make: Any, text: str) -> None:
    key = make.key()
    plan = make.plan([key], named={key.id: text})
    results = {key.id: make.result(key, make.tests(2))}
    verdict = judge(plan, results, today=make.TODAY).model_copy(update={"sentence": text})
    assert len(texts(render(plan, results, verdict))) == 7
