"""report.html: one file without scripts or outside resources, with the stack of every failing test that has room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from runner.model.audit import Audit
from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.result import CellResult, TestResult
from runner.model.verdict import Verdict
from runner.report import phrases
from runner.report.audit import sentence, telling
from runner.report.escape import block, first_line, line
from runner.report.gil import gil_in_words
from runner.report.grid import Grid, Line, lay_out
from runner.report.markdown import NO_AUDITS
from runner.report.races import HEADS, NO_RACES, race_rows, race_sentences
from runner.verdict.cell_status import outcome_of

TESTS_PER_CELL = 200
STACK_BUDGET = 6_000_000
"""Characters of stacks and output in the whole file; a browser still opens it. What is left out says where it is."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing test on the page; `text` is its stack and output, empty when there is none or no room for it."""

    name: str
    outcome: str
    said: str
    message: str
    text: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Details:
    """A cell with what went wrong in it, and how many failing tests the page leaves out."""

    line: Line
    failures: tuple[Failure, ...]
    more: int


def render(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    audits: Mapping[str, Audit] = NO_AUDITS,
    races: Mapping[str, Races] = NO_RACES,
) -> str:
    """The whole page."""
    grid = lay_out(plan, results, verdict)
    return template("report.html.j2").render(
        plan=plan,
        verdict=verdict,
        grid=grid,
        details=tuple(_details(grid)),
        machines=phrases.machines(plan, grid.lines),
        phrases=phrases,
        gil_in_words=gil_in_words,
        race_heads=HEADS,
        races=race_rows(plan, races),
        race_sentences=list(race_sentences(races)) if races else [],
        audits=[(environment, sentence(audit), telling(audit)) for environment, audit in audits.items()],
    )


@lru_cache
def template(name: str) -> Template:
    """A template of this folder: everything put into it is escaped, and a name that it misspells is an error."""
    environment = Environment(
        loader=PackageLoader("runner.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(line=line, first_line=first_line, block=block)
    return environment.get_template(name)


def _details(grid: Grid) -> Iterator[Details]:
    left = STACK_BUDGET
    for one in grid.lines:
        tests = list(phrases.failures(one))
        failures = []
        for test in tests[:TESTS_PER_CELL]:
            failure = _failure(test, left)
            left -= len(failure.text)
            failures.append(failure)
        yield Details(one, tuple(failures), len(tests) - len(failures))


def _failure(test: TestResult, room: int) -> Failure:
    attempt = phrases.telling_attempt(test)
    parts = [attempt.message, attempt.stack] if attempt else []
    if attempt and attempt.message and attempt.stack and attempt.message in attempt.stack:
        parts = [attempt.stack]
    said = [block(part) for part in parts if part]
    if attempt and attempt.output:
        said.append(f"--- printed ---\n{block(attempt.output)}")
    text = "\n\n".join(said)
    fits = len(text) <= room
    return Failure(
        name=line(test.id, 1_000),
        outcome=phrases.outcome_word(outcome_of(test)),
        said=phrases.attempts_in_words(test),
        message=first_line(attempt.message if attempt else None),
        text=text if fits else "",
        cut=not fits,
    )
