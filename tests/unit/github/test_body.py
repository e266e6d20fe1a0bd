"""The comment's text: what it says, in which order, and that nobody else's text has any power in it."""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from runner.github.body import COMMENT_BUDGET, SUMMARY_BUDGET, render_comment, render_summary
from runner.github.since import Compared
from runner.model.baseline import Origin
from runner.model.changes import ChangedTest, Changes
from runner.model.race import NotRaced, RacedTest, RaceError, Races
from runner.model.result import GilState
from runner.model.words import Change, Status
from runner.report.grid import lay_out
from runner.report.races import HEADS, race_rows
from runner.verdict.baseline import baseline_notes
from tests.unit.github.conftest import TESTED, Matrix, make_matrix

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOSTILE = [
    "<!-- triton-compat of=sm90@x head=" + "a" * 40 + " run=9999 attempt=1 -->",
    *("-->", "a|b", "\\|", "a\\", "```", "`", "``x``", "~~~", "\n\n# heading\n", "\r\n|---|---|\r\n"),
    *("<img src=x onerror=alert(1)>", "</details>", "<details>", "<summary>", "</code>", "<script>", "&lt;b&gt;"),
    *("&#64;x", "@octocat", "@octo/team", "hey @octocat, look", "#1", "octo/kernels#1", "GH-1", "JIRA-12"),
    *("ec26c3e57ca3a959ca5aad62de7213c562f8c821", "http://evil.example", "www.evil.example", "mailto:a@b.c", "a@b.c"),
    *(
        "[x](http://evil.example)",
        "![x](http://evil.example/i.png)",
        "[x]: http://evil.example",
        "<http://evil.example>",
    ),
    *("::error file=x,line=1::pwned", "##[error]pwned", "::set-output name=verdict::PASS", "::stop-commands::x"),
    *(
        "\u202etxt.exe",
        "\u2066x\u2069",
        "\u200bx",
        "\x1b[31mred\x1b[0m",
        "\x00",
        "\ud800",
        "\x85",
        "\u2028",
        "\x0b\x0c",
    ),
    *("**bold**", "__x__", "_x_", "~~x~~", "* x", "- x", "1. x", "> x", "    code", "\tx", "---", "===", "| a | b |"),
    *("$x^2$", "$$x$$", ":tada:", "- [ ] task", "[^1]", "[^1]: note", "{{ x }}", "${{ github.token }}", "", " "),
    *("\u00e9" * 500, "\U0001f600" * 300, "x" * 100_000, "`" * 3000, "|" * 5000, "<" * 5000, "@a " * 2000, "\n" * 3000),
]


def hostile(rng: random.Random) -> str:
    """A name put together from everything that has a meaning somewhere."""
    return rng.choice(["", " ", "x"]).join(rng.choice(HOSTILE) for _ in range(rng.choice([1, 1, 2, 3])))


def hostile_changes(rng: random.Random) -> Changes:
    """A comparison as a fork's artifact can hold it."""
    names = ("cell-0", hostile(rng), hostile(rng), hostile(rng))
    named = [
        ChangedTest(test=hostile(rng), change=rng.choice(list(Change)), cells=names[: rng.randint(0, 4)])
        for _ in range(rng.choice([0, 3, 30]))
    ]
    counts = {change: rng.choice([1, 10**30]) for change in rng.sample(list(Change), rng.randint(0, 7))}
    cells = {"new_cells": names[: rng.randint(0, 4)], "gone_cells": names[: rng.randint(0, 4)]}
    return Changes(
        made=hostile(rng), cells=rng.randint(0, 3), counts=counts, named=tuple(named), unnamed=counts, **cells
    )


def hostile_races(rng: random.Random, matrix: Matrix) -> dict[str, Races]:
    """Race stages as a fork's artifact can hold them."""

    def raced() -> RacedTest:
        error = RaceError(phase=hostile(rng), type=hostile(rng), message=hostile(rng), count=10**30, round=1)
        errors = (error,) * rng.randint(0, 3)
        return RacedTest(
            id=hostile(rng), threads=8, rounds=8, rounds_done=8, passed=1, failed=len(errors), errors=errors
        )

    return {
        cell.key.id: Races(
            cell=cell.key,
            threads=8,
            rounds=8,
            gil=GilState(requested=cell.key.gil),
            tests=tuple(raced() for _ in range(rng.randint(0, 3))),
            left_out=tuple(NotRaced(id=hostile(rng), reason=hostile(rng)) for _ in range(rng.randint(0, 3))),
        )
        for cell in rng.sample(matrix.plan.cells, rng.randint(0, min(2, len(matrix.plan.cells))))
    }


class Seen(HTMLParser):
    """What a browser would find in the rendered text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.prose: list[str] = []
        self.comments: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self._open.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        assert {name for name, _ in attrs} <= {"href", "align"}, attrs

    def handle_endtag(self, tag: str) -> None:
        self.tags[f"/{tag}"] += 1
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"code", "pre", "a"} & set(self._open):
            self.prose.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def look_at(markdown: str) -> Seen:
    return Seen(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))


OURS = {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li", "strong", "a"} | {
    "details",
    "summary",
    "blockquote",
}
ADDRESSES = {TESTED.head_url, TESTED.base_url, TESTED.run_url}
POWERFUL = re.compile(
    r"(?<![\w`])@[A-Za-z0-9]|#\d|\bGH-\d|://|www\.|<!--|\b[0-9a-f]{40}\b|##\[|^::"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2028\u2066-\u2069]",
    re.MULTILINE,
)


def check(text: str) -> Seen:
    """Nothing in the text is a link, mention, tag or command that we did not write."""
    seen = look_at(text)
    assert {tag for tag in seen.tags if not tag.startswith("/")} <= OURS
    assert all(seen.tags[tag] == seen.tags[f"/{tag}"] for tag in OURS)
    assert set(seen.links) <= ADDRESSES
    found = POWERFUL.search("\x20".join(seen.prose))
    assert found is None, found
    assert seen.comments == []
    assert text.count("\n<details>\n") == seen.tags["details"] == seen.tags["summary"]
    assert not any(line.startswith(("::", "##[")) for line in text.splitlines())
    return seen


@pytest.mark.parametrize("block", range(20))
def test_a_thousand_matrices_with_hostile_names(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = random.Random(seed)  # noqa: S311 - test data
        statuses = rng.choices(list(Status), k=rng.randint(1, 9))
        findings, columns = rng.randint(0, 4), rng.randint(1, 4)
        matrix = make_matrix(statuses, name=lambda rng=rng: hostile(rng), findings=findings, columns=columns)  # type: ignore[misc]
        origin = Origin(place=hostile(rng), commit=rng.choice(["a" * 40, None]), made=NOW)
        compared = Compared(origin, f"x{hostile(rng)}", "2 days")
        tested = replace(TESTED, baseline=compared, jobs={"cell-0": f"x{hostile(rng)}"})
        changes = hostile_changes(rng)
        notes = (*matrix.verdict.notes, *baseline_notes(changes))
        verdict = matrix.verdict.model_copy(update={"changes": changes, "notes": notes})
        matrix = replace(matrix, verdict=verdict)
        races = hostile_races(rng, matrix)
        comment = render_comment(matrix.plan, matrix.results, matrix.verdict, tested, races)
        assert len(comment.encode()) <= COMMENT_BUDGET
        seen = check(comment)
        if "Left out for want of room" not in comment:
            check_table(seen, matrix, races)
        summary = render_summary(matrix.plan, matrix.results, matrix.verdict, tested, races)
        assert len(summary.encode()) <= SUMMARY_BUDGET
        check_table(check(summary), matrix, races)


def check_table(seen: Seen, matrix: Matrix, races: dict[str, Races]) -> None:
    """The tables by axis, of races and of facts have exactly the cells that they should."""
    grid = lay_out(matrix.plan, matrix.results, matrix.verdict)
    across, facts, raced = len(grid.columns) + 2, 8, len(race_rows(matrix.plan, races))
    assert seen.tags["th"] == across + facts + (len(HEADS) if raced else 0)
    assert seen.tags["td"] == across * len(grid.rows) + facts * len(grid.lines) + len(HEADS) * raced


def test_races_are_told_whether_or_not_something_failed() -> None:
    matrix = make_matrix([Status.PASS])
    (cell,) = matrix.plan.cells
    clean = RacedTest(id="t.py::a", threads=8, rounds=50, rounds_done=50, passed=400)
    error = RaceError(phase="call", type="KeyError", message="lost", count=3, round=2)
    bad = clean.model_copy(update={"id": "t.py::b", "passed": 397, "failed": 3, "errors": (error,)})
    state = GilState(requested=cell.key.gil)
    races = Races(cell=cell.key, threads=8, rounds=50, gil=state, tests=(clean,))
    for render in (render_comment, render_summary):
        text = render(matrix.plan, matrix.results, matrix.verdict, TESTED, {cell.key.id: races})
        assert "1 test raced in 1 cell (8 threads, 50 rounds; 400 calls): 0 tests failed." in text
        both = races.model_copy(update={"tests": (clean, bad)})
        text = render(matrix.plan, matrix.results, matrix.verdict, TESTED, {cell.key.id: both})
        (row,) = [line for line in text.splitlines() if line.startswith("| `t.py::b`")]
        assert "failed 3 of 400" in row
        assert "3 x KeyError: lost" in row


def test_the_first_line_is_the_verdict_in_words() -> None:
    matrix = make_matrix([Status.PASS, Status.FAIL, Status.NO_RESULT])
    first = render_comment(matrix.plan, matrix.results, matrix.verdict, TESTED).splitlines()[0]
    assert first.startswith("## ❌ FAIL: 1 of 3 cells")


def test_findings_that_block_stand_open_and_others_are_folded() -> None:
    matrix = make_matrix([Status.FAIL, Status.PASS], findings=15)
    text = render_comment(matrix.plan, matrix.results, matrix.verdict, TESTED)
    opened, _, folded = text.partition("### Other findings")
    assert "**stale-cache, proven**" in opened
    assert "<summary>pre-existing, proven: 1 cell</summary>" in folded
    assert "**pre-existing, proven**" in folded
    assert "**pre-existing" not in opened


def test_a_finding_has_evidence_a_command_and_a_link_to_its_job() -> None:
    matrix = make_matrix([Status.FAIL], findings=1)
    plan = matrix.plan.model_copy(update={"matrix_file": "my matrices/sm90.yml"})
    job = "https://github.com/octo/kernels/actions/runs/9001/job/77"
    text = render_comment(plan, matrix.results, matrix.verdict, replace(TESTED, jobs={"cell-0": job}))
    assert f"- In [`cell-0`]({job}); 2 tests\n- contrast: " in text
    assert "- Reproduce: `triton-compat plan 'my matrices/sm90.yml' && triton-compat cell cell-0`" in text


def test_a_cell_that_is_no_plain_pass_is_linked_to_its_job_where_it_is_named() -> None:
    matrix = make_matrix([Status.FAIL, Status.PASS], name=lambda: "evil: `cell-0` said")
    jobs = {f"cell-{number}": f"https://github.com/octo/kernels/actions/runs/9001/job/{number}" for number in range(2)}
    text = render_comment(matrix.plan, matrix.results, matrix.verdict, replace(TESTED, jobs=jobs))
    assert f"- ❌ [`cell-0`]({jobs['cell-0']}) fail" in text
    assert text.count(jobs["cell-0"]) == 1, "what a test says is never linked"
    assert jobs["cell-1"] not in text


def test_a_failing_cell_that_no_finding_speaks_of_has_a_command_too() -> None:
    matrix = make_matrix([Status.PASS, Status.FAIL])
    text = render_comment(matrix.plan, matrix.results, matrix.verdict, TESTED)
    assert text.count("Reproduce: ") == 1
    assert "\n\nReproduce: `triton-compat plan tests/test_add.py::test_add && triton-compat cell cell-1`\n\n" in text
    matrix = make_matrix([Status.PASS, Status.NO_RESULT])
    assert "Reproduce: " not in render_comment(matrix.plan, matrix.results, matrix.verdict, TESTED)


def test_what_was_tested_stands_last_with_its_links() -> None:
    matrix = make_matrix([Status.PASS])
    last = render_comment(matrix.plan, matrix.results, matrix.verdict, TESTED).splitlines()[-1]
    assert last == (
        f"Tested: [`ec26c3e57c`]({TESTED.head_url}), base [`f95f852bd8`]({TESTED.base_url}), in "
        f"[run 41, attempt 1]({TESTED.run_url}), with the matrix file `tests/test_add.py::test_add`. Baseline: none."
    )


def test_remarks_stand_below_the_verdict() -> None:
    matrix = make_matrix([Status.PASS])
    text = render_comment(matrix.plan, matrix.results, matrix.verdict, replace(TESTED, remarks=("One.", "Two.")))
    assert text.split("\n\n")[1] == "> One.\n>\n> Two."


def test_the_largest_matrix_fits_and_says_what_it_left_out() -> None:
    statuses = [Status.FAIL] * 200 + [Status.PASS] * 40 + [Status.NO_RESULT] * 16
    matrix = make_matrix(statuses, tests=200, bad=25, findings=120, columns=8)
    text = render_comment(matrix.plan, matrix.results, matrix.verdict, TESTED)
    assert len(text.encode()) <= COMMENT_BUDGET
    seen = check(text)
    assert seen.tags["td"] >= 32 * 10, "the table is whole"
    assert re.search(r"Left out for want of room: .*\d+ cells' facts", text)
    assert TESTED.run_url in text.splitlines()[-1]


def measure() -> None:
    """Time and peak memory of the largest matrix: `python -m tests.unit.github.test_body`."""
    matrix = make_matrix([Status.FAIL] * 256, tests=2_000, bad=20, findings=20, columns=16)
    for render in (render_comment, render_summary):
        tracemalloc.start()
        start = time.perf_counter()
        text = render(matrix.plan, matrix.results, matrix.verdict, TESTED)
        seconds, (_, peak) = time.perf_counter() - start, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"{render.__name__}: {len(text.encode()):,} bytes, {seconds:.2f} s, {peak / 2**20:.1f} MiB")  # noqa: T201


if __name__ == "__main__":
    measure()


def test_what_changed_stands_above_the_table_once_and_the_baseline_below_everything() -> None:
    matrix = make_matrix([Status.FAIL])
    test = ChangedTest(test="tests/test_add.py::test_add", change=Change.REGRESSED, cells=("cell-0",))
    changes = Changes(made="2026-01-01", cells=1, counts={Change.REGRESSED: 1}, named=(test,))
    notes = (*baseline_notes(changes), "another note")
    verdict = matrix.verdict.model_copy(update={"changes": changes, "notes": notes})
    compared = Compared(Origin(place="main", commit="c" * 40, made=NOW), "https://github.com/c", "2 days")
    comment = render_comment(matrix.plan, matrix.results, verdict, replace(TESTED, baseline=compared))
    before, _, after = comment.partition("| Python |")
    assert "- ❌ regressed: `tests/test_add.py::test_add` in `cell-0`" in before
    assert "since the baseline" not in after, "the notes do not say it again"
    assert "- another note" in after
    assert comment.endswith("Baseline: [`ccccccc`](https://github.com/c) on main, 2 days old.\n")


def test_without_a_baseline_nothing_regressed() -> None:
    matrix = make_matrix([Status.FAIL])
    comment = render_comment(matrix.plan, matrix.results, matrix.verdict, TESTED)
    assert "regress" not in comment
    assert comment.endswith("Baseline: none.\n")
