from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import cmarkgfm
from cmarkgfm.cmark import Options
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.model.verdict import Evidence, Finding
from runner.model.words import Cause, Confidence
from runner.report.markdown import TESTS_IN_ALL, TESTS_PER_CELL, render, sections
from runner.verdict.judge import judge

OURS = {
    "h2",
    "h3",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "ul",
    "li",
    "p",
    "strong",
    "code",
    "details",
    "summary",
}
HOSTILE = st.text(alphabet=st.sampled_from("ab1 `|\\<>&[]()!*_~#@:/.\n\r\x1b\u202e\ud800-+="), min_size=1, max_size=60)


def test_golden(sample: tuple[str, Any], golden: Callable[[str, str], None]) -> None:
    name, data = sample
    golden(f"{name}.md", render(data.plan, data.results, data.verdict))


def test_the_first_line_is_the_verdict_and_every_cell_has_a_row(sample: tuple[str, Any]) -> None:
    _, data = sample
    text = render(data.plan, data.results, data.verdict)
    assert data.verdict.sentence in text.split("\n")[0]
    facts = text[text.index("<details>") :]
    for cell in data.plan.cells:
        assert len(re.findall(rf"^\| `{re.escape(cell.key.id)}` \|", facts, re.MULTILINE)) == 1


def page_of(markdown: str) -> str:
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(names=st.lists(HOSTILE, min_size=1, max_size=4), message=HOSTILE)
def test_a_hostile_result_changes_no_structure(names: list[str], message: str, make: Any) -> None:
    """The same matrix with meek texts has the same cells, tags and headings."""

    def build(texts: list[str], said: str) -> str:
        key = make.key()
        tests = [make.test(f"t.py::{text}", make.Outcome.FAILED, message=said) for text in texts]
        results = {key.id: make.result(key, tests, make.Status.FAIL, said)}
        plan = make.plan([key], named={key.id: said}) if said.strip() else make.plan([key])
        finding = Finding(
            id="f",
            cause=Cause.PROJECT,
            title=said,
            cells=(key.id,),
            confidence=Confidence.LIKELY,
            evidence=(Evidence(kind=said, text=said),),
            next_step=said,
        )
        verdict = judge(plan, results, today=make.TODAY, findings=[finding])
        verdict = verdict.model_copy(update={"notes": (said,), "sentence": f"FAIL: {said}"})
        return page_of(render(plan, results, verdict))

    page = build([f"{number}{name}" for number, name in enumerate(names)], message)
    meek = build([f"{number}x" for number in range(len(names))], "x")
    outside = html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<code.*?</code>", " ", page, flags=re.DOTALL)))
    assert set(re.findall(r"</?([\w-]+)", page)) <= OURS
    assert re.search(r"@\w|#\d|://|www\.", outside) is None
    for tag in ("<tr>", "<td>", "<th>", "<li>", "<h2>", "<h3>", "<details>"):
        if message.strip() or tag != "<li>":
            assert page.count(tag) == meek.count(tag), tag


def test_failures_are_bounded_and_what_is_left_out_is_counted(make: Any) -> None:
    keys = [make.key("3.13t", gil, triton) for gil in ("on", "off") for triton in map(str, range(3, 13))]
    tests = [make.test(f"t.py::test_{number}", make.Outcome.FAILED, message="no") for number in range(30)]
    results = {key.id: make.result(key, tests, make.Status.FAIL) for key in keys}
    plan = make.plan(keys)
    text = render(plan, results, judge(plan, results, today=make.TODAY))
    assert text.count("failed: `no`") == TESTS_IN_ALL
    assert f"- {30 - TESTS_PER_CELL} more in" in text
    assert "- 30 more in" in text


def test_sections_are_in_the_order_of_their_weight(crashes: Any) -> None:
    found = sections(crashes.plan, crashes.results, crashes.verdict)
    names = [section.name for section in found]
    assert names == ["verdict", "table", "reasons", "findings", "failures", "machine", "environments"]
    for section in found:
        assert page_of(section.text).count("<details>") == section.text.count("<details>")
