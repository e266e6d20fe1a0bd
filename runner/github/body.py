"""What the comment and the job summary say: verdict, table, findings, facts, and what was tested."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from runner.github.address import link
from runner.github.room import Part, fit
from runner.github.since import Compared, changes_part, compared_in_words
from runner.model.plan import Plan
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.verdict import Finding, Verdict
from runner.model.words import Cause, Status
from runner.report.escape import code, first_line, prose
from runner.report.markdown import Section, sections
from runner.report.races import NO_RACES
from runner.verdict.baseline import baseline_notes

COMMENT_BUDGET = 65_000
"""Bytes. GitHub holds 65,536 characters; the marker's line stands before the text."""
SUMMARY_BUDGET = 1_000_000
"""Bytes. GitHub discards the whole summary of a step when it is longer than 1 MiB."""
_SHOWN_CELLS = 6
_NOT_TO_BLAME = frozenset({Cause.PRE_EXISTING, Cause.FLAKY, Cause.INFRA})
_CELL = re.compile(r"`([A-Za-z0-9._+-]+)`")


@dataclass(frozen=True)
class Tested:
    """What was tested, for the last lines and the links.

    Attributes:
        head, base: commits; None for none.
        head_url, base_url: their pages.
        run: `run 41, attempt 1`.
        run_url: its page.
        baseline: what the verdict was compared with; None for nothing.
        remarks: sentences of ours that belong right below the verdict.
        jobs: pages of the jobs that ran the cells, by cell id.
    """

    head: str
    head_url: str
    base: str | None
    base_url: str | None
    run: str
    run_url: str
    baseline: Compared | None = None
    remarks: tuple[str, ...] = ()
    jobs: Mapping[str, str] = field(default_factory=dict)


def render_comment(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    tested: Tested,
    races: Mapping[str, Races] = NO_RACES,
) -> str:
    """The comment without its marker, within `COMMENT_BUDGET`."""
    elsewhere = f"{link('The job summary', tested.run_url)} has everything."
    return fit(list(parts(plan, results, verdict, tested, races)), COMMENT_BUDGET, elsewhere)


def render_summary(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    tested: Tested,
    races: Mapping[str, Races] = NO_RACES,
) -> str:
    """The job summary, within `SUMMARY_BUDGET`."""
    elsewhere = "The output folder, which the workflow uploads as an artifact, has everything."
    return fit(list(parts(plan, results, verdict, tested, races)), SUMMARY_BUDGET, elsewhere)


def parts(
    plan: Plan,
    results: Mapping[str, CellResult],
    verdict: Verdict,
    tested: Tested,
    races: Mapping[str, Races] = NO_RACES,
) -> Iterator[Part]:
    """Everything there is to say, in the order in which it is read."""
    found = {section.name: section for section in sections(plan, results, _without_changes(verdict), races=races)}
    yield Part("verdict", found["verdict"].text)
    if verdict.changes is not None:
        yield changes_part(verdict.changes, tested.jobs)
    if tested.remarks:
        yield Part("remarks", "\n".join(f"> {remark}\n>" for remark in tested.remarks).removesuffix("\n>"))
    yield _table("rows of the table", found["table"], rank=1)
    blockers = [finding for finding in verdict.findings if is_blocker(finding, verdict)]
    others = [finding for finding in verdict.findings if not is_blocker(finding, verdict)]
    if blockers:
        items = tuple("\n".join(_finding(finding, plan, tested)) for finding in blockers)
        yield Part("findings that block", "### Findings", items, joint="\n\n", rank=2)
    if "reasons" in found:
        items = tuple(_linked(item, tested.jobs) for item in found["reasons"].text.split("\n"))
        tail = _again(plan, verdict)
        yield Part("cells that are no plain pass", "### Cells that are no plain pass\n", items, tail, rank=3)
    if others:
        items = tuple(_folded(finding, plan, tested) for finding in others)
        yield Part("other findings", "### Other findings", items, joint="\n\n", rank=4)
    yield from _facts(found)
    yield Part("what was tested", "\n".join(_tested(plan, tested)), rank=0)


def _facts(found: Mapping[str, Section]) -> Iterator[Part]:
    """What stands below the findings."""
    if "failures" in found:
        head, *items_ = _paragraphs(found["failures"].text)
        yield Part("cells' failing tests", head, tuple(items_), joint="\n\n", rank=6)
    if "races" in found:
        yield _table("rows and facts of the races", found["races"], rank=5)
    if "notes" in found:
        head, *lines = found["notes"].text.split("\n")
        yield Part("notes", f"{head}\n", tuple(line for line in lines if line), rank=5)
    if "machine" in found:
        yield Part("machines", found["machine"].text, rank=5)
    if "environments" in found:
        yield _table("cells' facts", found["environments"], rank=7)


def _without_changes(verdict: Verdict) -> Verdict:
    """The same without the notes that say what changed: here that stands further up."""
    said = set(baseline_notes(verdict.changes)) if verdict.changes is not None else set()
    return verdict.model_copy(update={"notes": tuple(note for note in verdict.notes if note not in said)})


def is_blocker(finding: Finding, verdict: Verdict) -> bool:
    """Whether a finding keeps the matrix from passing: it fails a cell, unexpectedly, by a cause of the tested code."""
    failing = {cell.id for cell in verdict.cells if cell.status is Status.FAIL and not cell.expected}
    return finding.cause not in _NOT_TO_BLAME and not failing.isdisjoint(finding.cells)


def _finding(finding: Finding, plan: Plan, tested: Tested) -> Iterator[str]:
    yield f"**{finding.cause.value}, {finding.confidence.value}**: {prose(first_line(finding.title), 400)}"
    yield ""
    yield from _details(finding, plan, tested)


def _folded(finding: Finding, plan: Plan, tested: Tested) -> str:
    # The summary line is HTML, so it holds words of ours alone.
    words = f"{finding.cause.value}, {finding.confidence.value}: {_counted(len(finding.cells), 'cell')}"
    lines = ["<details>", f"<summary>{words}</summary>", "", *_finding(finding, plan, tested), "", "</details>"]
    return "\n".join(lines)


def _details(finding: Finding, plan: Plan, tested: Tested) -> Iterator[str]:
    names = [link(code(cell), tested.jobs.get(cell, "")) for cell in finding.cells[:_SHOWN_CELLS]]
    rest = len(finding.cells) - len(names)
    where = ", ".join(names) + (f" and {rest} more" if rest > 0 else "")
    tests = f"; {_counted(len(finding.tests), 'test')}" if finding.tests else ""
    yield f"- In {where or 'no cell'}{tests}"
    for evidence in finding.evidence:
        yield f"- {prose(first_line(evidence.kind, 40))}: {prose(first_line(evidence.text, 500), 600)}"
    if finding.next_step:
        yield f"- Next: {prose(first_line(finding.next_step, 500), 600)}"
    cell = next((cell for cell in finding.cells if plan.cell(cell) is not None), None)
    if cell is not None:
        yield f"- Reproduce: {code(reproduction(plan, cell), 1000)}"


def reproduction(plan: Plan, cell: str) -> str:
    """The commands that run one cell again, as a shell takes them."""
    return f"triton-compat plan {shlex.quote(plan.matrix_file)} && triton-compat cell {shlex.quote(cell)}"


def _linked(item: str, jobs: Mapping[str, str]) -> str:
    """A line that names its cells first, with each of them linked to its job."""
    # What follows the colon may come from a test.
    names, colon, said = item.partition(": ")
    return _CELL.sub(lambda found: link(found[0], jobs.get(found[1], "")), names) + colon + said


def _again(plan: Plan, verdict: Verdict) -> str:
    """How to run a failing cell that no finding speaks of; empty when there is none."""
    explained = {cell for finding in verdict.findings for cell in finding.cells}
    left = [cell.id for cell in verdict.cells if cell.status is Status.FAIL and cell.id not in explained]
    return f"\nReproduce: {code(reproduction(plan, left[0]), 1000)}" if left else ""


def _tested(plan: Plan, tested: Tested) -> Iterator[str]:
    base = f", base {_commit(tested.base, tested.base_url)}" if tested.base else ""
    yield (
        f"Tested: {_commit(tested.head, tested.head_url)}{base}, in {link(tested.run, tested.run_url)}, "
        f"with the matrix file {code(plan.matrix_file)}. Baseline: {compared_in_words(tested.baseline)}."
    )


def _commit(commit: str, address: str | None) -> str:
    return link(code(commit[:10]), address or "")


def _table(name: str, section: Section, *, rank: int) -> Part:
    """A section with one table, cut between its rows; or with lines alone."""
    lines = section.text.split("\n")
    if not any(line.startswith("|") for line in lines):
        return Part(name, "\n".join(lines[:2]), tuple(lines[2:]), rank=rank)
    first = next(index for index, line in enumerate(lines) if line.startswith("|")) + 2
    last = max(index for index, line in enumerate(lines) if line.startswith("|")) + 1
    head, rows, tail = lines[:first], lines[first:last], lines[last:]
    return Part(name, "\n".join(head), tuple(rows), "\n".join(tail), rank=rank)


def _paragraphs(text: str) -> list[str]:
    """A heading and the blocks below it: a bold line, an empty one, and a list make one block."""
    head, _, rest = text.partition("\n\n")
    return [head, *re.split(r"\n\n(?=\*\*)", rest)]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
