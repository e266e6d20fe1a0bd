"""report.md: the verdict, the table and the reasons in GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from runner.model.audit import Audit
from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.result import CellResult, TestResult
from runner.model.verdict import Finding, Verdict
from runner.model.words import Status, VerdictWord
from runner.report import phrases
from runner.report.escape import code, code_in_table, first_line, prose, prose_in_table
from runner.report.grid import Grid, Line, Row, lay_out
from runner.report.markdown_tables import environments, modules, table_row
from runner.report.races import HEADS, NO_RACES, NOTHING, race_rows, race_sentences

TESTS_PER_CELL = 10
TESTS_IN_ALL = 150
NOTES = 50
_NAMES = 4
_SYMBOLS = {VerdictWord.PASS: "✅", VerdictWord.FAIL: "❌", VerdictWord.CANNOT_TELL: "❔"}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report that can be left out without harm to the others.

    Attributes:
        name: what a note on its absence would call it.
        text: valid Markdown by itself, without a line break at its end.
    """

    name: str
    text: str


NO_AUDITS: Mapping[str, Audit] = MappingProxyType({})


def render(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    audits: Mapping[str, Audit] = NO_AUDITS,
    races: Mapping[str, Races] = NO_RACES,
) -> str:
    """The whole report, the first line being the verdict in words."""
    return "\n\n".join(section.text for section in sections(plan, results, verdict, audits, races)) + "\n"


def sections(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    audits: Mapping[str, Audit] = NO_AUDITS,
    races: Mapping[str, Races] = NO_RACES,
) -> tuple[Section, ...]:
    """The report in parts, the most important first: for a place with less room, keep as many as fit.

    The first two, the verdict and the table, are never empty; other parts are absent when they have nothing to say.
    """
    grid = lay_out(plan, results, verdict)
    found = (
        Section("verdict", f"## {_SYMBOLS[verdict.verdict]} {prose(verdict.sentence)}"),
        Section("table", _table(plan, grid)),
        Section("reasons", "\n".join(_reasons(grid))),
        Section("findings", "\n\n".join(_findings(verdict))),
        Section("failures", "\n\n".join(_failures(grid))),
        Section("races", "\n".join(_races(plan, races))),
        Section("notes", "\n".join(_notes(verdict))),
        Section("machine", "\n".join(_machines(plan, grid))),
        Section("modules", modules(audits)),
        Section("environments", environments(grid)),
    )
    return tuple(section for section in found if section.text)


def _table(plan: Plan, grid: Grid) -> str:
    heads = ["Python", "GIL", *(f"Triton {prose_in_table(column)}" for column in grid.columns)]
    lines = [table_row(heads), table_row(["---"] * len(heads))]
    lines += [table_row([prose_in_table(row.python), row.gil, *_slots(row)]) for row in grid.rows]
    count = len(grid.lines)
    lines += ["", f"Matrix {code(plan.matrix)}: {count} cell{'' if count == 1 else 's'}, {_passing(grid)}."]
    return "\n".join(lines)


def _passing(grid: Grid) -> str:
    """How many passes are plain, so that no row of green hides what was skipped."""
    passes = [line for line in grid.lines if line.verdict.status is Status.PASS]
    skipping = sum(1 for line in passes if line.skipped)
    return f"{len(passes)} pass" + (f" ({skipping} of them with skipped tests)" if skipping else "")


def _slots(row: Row) -> Iterator[str]:
    for slot in row.slots:
        yield " / ".join(_slot(line) for line in slot) or NOTHING


def _slot(line: Line) -> str:
    own = phrases.own_triton(line)
    return f"{phrases.symbol(line)} {phrases.short(line)}" + (f" (Triton {prose_in_table(own)})" if own else "")


def _reasons(grid: Grid) -> Iterator[str]:
    """One line for each cell that is not a plain pass; passes that say the same share one."""
    noted: dict[str, list[Line]] = {}
    order = [Status.FAIL, Status.NO_RESULT, Status.INFRA, Status.UNAVAILABLE]
    for status in order:
        for line in grid.lines:
            if line.verdict.status is status:
                said = phrases.why(line)
                tail = f": {prose(said, 600)}" if said else ""
                yield f"- {phrases.symbol(line)} {code(line.key.id)} {phrases.short(line)}{tail}"
    for line in grid.lines:
        if line.verdict.status is Status.PASS and not line.is_plain_pass:
            noted.setdefault(phrases.why(line), []).append(line)
    for said, lines in noted.items():
        yield f"- {phrases.symbol(lines[0])} {_cells([line.key.id for line in lines])}: {prose(said, 600)}"


def _cells(ids: list[str]) -> str:
    if len(ids) == 1:
        return code(ids[0])
    rest = len(ids) - _NAMES
    return (
        f"{len(ids)} cells ({', '.join(code(name) for name in ids[:_NAMES])}{f' and {rest} more' if rest > 0 else ''})"
    )


def _findings(verdict: Verdict) -> Iterator[str]:
    if verdict.findings:
        yield "### Findings"
    for finding in verdict.findings:
        yield "\n".join(_finding(finding))


def _finding(finding: Finding) -> Iterator[str]:
    where = _cells(list(finding.cells)) if finding.cells else "no cell"
    tests = f", {len(finding.tests)} test{'' if len(finding.tests) == 1 else 's'}" if finding.tests else ""
    yield f"**{finding.cause.value}, {finding.confidence.value}**: {prose(finding.title)}"
    yield ""
    yield f"- In {where}{tests}"
    for evidence in finding.evidence:
        yield f"- {prose(evidence.kind)}: {prose(first_line(evidence.text, 500), 600)}"
    if finding.next_step:
        yield f"- Next: {prose(first_line(finding.next_step, 500), 600)}"


def _failures(grid: Grid) -> Iterator[str]:
    """The failing tests of each cell, bounded for each cell and in all."""
    left = TESTS_IN_ALL
    started = False
    for line in grid.lines:
        tests = list(phrases.failures(line))
        if not tests:
            continue
        if not started:
            yield "### What went wrong"
            started = True
        shown = tests[: min(TESTS_PER_CELL, left)]
        left -= len(shown)
        rows = [f"**{phrases.symbol(line)} {code(line.key.id)}** ({phrases.counts_in_words(line)})", ""]
        rows += [_failure(test) for test in shown]
        if len(tests) > len(shown):
            rows.append(f"- {len(tests) - len(shown)} more in {code(f'cells/{line.key.id}/junit.xml')}")
        yield "\n".join(rows)


def _failure(test: TestResult) -> str:
    attempt = phrases.telling_attempt(test)
    message = first_line(attempt.message) if attempt else ""
    return f"- {code(test.id)} {phrases.attempts_in_words(test)}" + (f": {code(message, 400)}" if message else "")


def _races(plan: Plan, races: Mapping[str, Races]) -> Iterator[str]:
    """A row for each test that failed in several threads, GIL off beside GIL on; then what was raced and what not."""
    if not races:
        return
    yield "### Races"
    yield ""
    rows = race_rows(plan, races)
    if rows:
        yield table_row(list(HEADS))
        yield table_row(["---"] * len(HEADS))
    for row in rows[:TESTS_IN_ALL]:
        modes = [mode if mode == NOTHING else prose_in_table(mode) for mode in row.modes]
        yield table_row(
            [code_in_table(row.test), code_in_table(row.environment), *modes, prose_in_table(row.errors, 600)]
        )
    if rows:
        yield ""
    if len(rows) > TESTS_IN_ALL:
        yield f"- {len(rows) - TESTS_IN_ALL} more in {code('cells/*/races.json')}"
    for said in race_sentences(races):
        yield f"- {prose(said, 1_000)}"


def _notes(verdict: Verdict) -> Iterator[str]:
    if verdict.notes:
        yield "### Notes"
        yield ""
    for note in verdict.notes[:NOTES]:
        yield f"- {prose(first_line(note, 500), 600)}"
    if len(verdict.notes) > NOTES:
        yield f"- {len(verdict.notes) - NOTES} more in {code('verdict.json')}"


def _machines(plan: Plan, grid: Grid) -> Iterator[str]:
    found = phrases.machines(plan, grid.lines)
    if len(found) == 1:
        yield f"Machine: {prose(first_line(found[0].text))}"
    elif found:
        yield "Machines:"
        yield ""
        yield from (
            f"- {one.cells} cell{'' if one.cells == 1 else 's'}: {prose(first_line(one.text))}" for one in found
        )
