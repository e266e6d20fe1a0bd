from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.report import html
from runner.report.html import render
from runner.verdict.judge import judge

VOID = {"meta", "br", "link", "img", "input"}
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "main", "div", "table", "thead"),
    *(
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "a",
        "br",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
        "code",
        "pre",
        "b",
        "ul",
        "li",
    ),
}


class Tree(HTMLParser):
    """Checks that every tag is ours and closed in order, and that nothing is fetched or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in {"src", "srcset", "style", "action"}
            assert name != "href" or (value or "").startswith("#")
        self.count += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(page: str) -> Tree:
    tree = Tree()
    tree.feed(page)
    tree.close()
    assert tree.open == []
    return tree


def test_golden(sample: tuple[str, Any], golden: Callable[[str, str], None]) -> None:
    name, data = sample
    page = render(data.plan, data.results, data.verdict)
    parse(page)
    golden(f"{name}.html", page)


def test_every_cell_is_in_the_table_and_has_its_details(sample: tuple[str, Any]) -> None:
    _, data = sample
    page = render(data.plan, data.results, data.verdict)
    for cell in data.plan.cells:
        assert page.count(f'href="#{cell.key.id}"') == 1
        assert page.count(f'id="{cell.key.id}"') == 1


def test_each_failing_test_has_its_stack(crashes: Any) -> None:
    page = render(crashes.plan, crashes.results, crashes.verdict)
    assert page.count("line 71 in compile_module_from_src") == 3
    assert page.count("--- printed ---\non stdout") == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(st.text(alphabet=st.sampled_from("<>&\"'{}%#/!-ab= \n\x00\ud800\u202e`"), min_size=1, max_size=40))
def test_hostile_text_makes_no_tag(make: Any, text: str) -> None:
    def build(said: str) -> str:
        key = make.key()
        test = make.test(f"t.py::{said}x", make.Outcome.FAILED, message=f"{said}x", stack=f"{said}x")
        results = {key.id: make.result(key, [test], make.Status.FAIL, f"{said}x")}
        plan = make.plan([key], named={key.id: f"{said}x"})
        return render(plan, results, judge(plan, results, today=make.TODAY))

    page = build(text)
    assert parse(page).count == parse(build("y")).count
    page.encode()


def test_stacks_beyond_the_budget_are_left_out_and_said_to_be(make: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(html, "STACK_BUDGET", 300)
    monkeypatch.setattr(html, "TESTS_PER_CELL", 3)
    key = make.key()
    tests = [make.test(f"t.py::t{n}", make.Outcome.FAILED, message="m", stack="s" * 100) for n in range(5)]
    results = {key.id: make.result(key, tests, make.Status.FAIL)}
    plan = make.plan([key])
    page = render(plan, results, judge(plan, results, today=make.TODAY))
    assert len(re.findall("s{100}", page)) == 2
    assert page.count(f"Left out to keep this page small; see cells/{key.id}/junit.xml") == 1
    assert f"2 more in cells/{key.id}/junit.xml" in page
