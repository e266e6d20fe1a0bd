"""The verdict for the whole matrix: PASS, FAIL or CANNOT TELL, from results alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from types import MappingProxyType

from runner.model.plan import Plan, PlannedCell
from runner.model.race import Races
from runner.model.result import CellResult
from runner.model.verdict import CellVerdict, Finding, Verdict
from runner.model.words import Outcome, Status, VerdictWord
from runner.verdict.cell_status import Weighed, weigh
from runner.verdict.expectations import Surprise, excuses, remarks, surprises

NO_RACES: Mapping[str, Races] = MappingProxyType({})
NOTHING_UNUSABLE: Mapping[str, str] = MappingProxyType({})


def judge(
    plan: Plan,
    results: Mapping[str, CellResult],
    *,
    today: date,
    findings: Sequence[Finding] = (),
    races: Mapping[str, Races] = NO_RACES,
    unusable: Mapping[str, str] = NOTHING_UNUSABLE,
) -> Verdict:
    """Judge every planned cell and the matrix.

    A failure that no valid expectation covers makes it FAIL. Otherwise a cell without a usable result, or a machine at
    fault, makes it CANNOT TELL; so does a matrix in which nothing ran. Only then it is PASS. Cells that are
    `unavailable` decide nothing, but they are counted.

    Args:
        plan: what was expected.
        results: what arrived, by cell id.
        today: the day on which expectations must hold.
        findings: the causes that experiments found, blockers first; passed on as they are.
        races: what became of tests in several threads at once, by cell id.
        unusable: why what arrived of a cell is not among the results, by cell id; others without one were lost.
    """
    judging = Judging(plan, today=today)
    for cell in plan.cells:
        judging.add(cell, results.get(cell.key.id), races.get(cell.key.id))
    verdict = judging.verdict(findings, unusable)
    planned = {cell.key.id for cell in plan.cells}
    strangers = tuple(
        f"A result arrived for {cell_id}, which is not in the plan; it counts for nothing."
        for cell_id in sorted(results)
        if cell_id not in planned
    )
    return verdict.model_copy(update={"notes": verdict.notes + strangers})


class Judging:
    """As `judge`, cell by cell: the results of a large matrix need not be in memory together."""

    def __init__(self, plan: Plan, *, today: date) -> None:
        self._plan, self._today = plan, today
        self._weighed: dict[str, Weighed] = {}
        self._surprising: dict[str, frozenset[Surprise]] = {}

    def add(self, cell: PlannedCell, result: CellResult | None, races: Races | None = None) -> None:
        """Take up what arrived of a planned cell; None when nothing did."""
        unavailable = self._plan.environment(cell.environment).unavailable
        self._weighed[cell.key.id] = weigh(cell.key, result, planned_unavailable=unavailable, races=races)
        if result is not None:
            self._surprising[cell.key.id] = surprises(self._plan.expectations, result)

    def verdict(self, findings: Sequence[Finding] = (), unusable: Mapping[str, str] = NOTHING_UNUSABLE) -> Verdict:
        """The verdict, once every planned cell was taken up; arguments as for `judge`."""
        weighed = {
            cell_id: replace(one, reason=unusable[cell_id])
            if cell_id in unusable and one.status is Status.NO_RESULT and cell_id not in self._surprising
            else one
            for cell_id, one in self._weighed.items()
        }
        cells = tuple(_cell_verdict(self._plan, cell_id, one, self._today) for cell_id, one in weighed.items())
        word = _word(cells)
        return Verdict(
            verdict=word,
            sentence=f"{word.value}: {_counts_in_words(word, cells)}.",
            findings=tuple(findings),
            cells=cells,
            notes=remarks(self._plan.expectations, weighed, self._surprising, self._today),
        )


def _cell_verdict(plan: Plan, cell_id: str, weighed: Weighed, today: date) -> CellVerdict:
    status, reason, expected = weighed.status, weighed.reason, False
    if status is Status.FAIL and excuses(plan.expectations, cell_id, weighed, today):
        if weighed.complete:
            expected = True
        else:  # what is known of it was expected; what is not known was not
            status = Status.NO_RESULT
            reason = f"it failed as expected and did not come to an end: {reason}"
    return CellVerdict(id=cell_id, status=status, counts=weighed.counts, reason=reason, expected=expected)


def _word(cells: Sequence[CellVerdict]) -> VerdictWord:
    if any(cell.status is Status.FAIL and not cell.expected for cell in cells):
        return VerdictWord.FAIL
    if any(cell.status in {Status.NO_RESULT, Status.INFRA} for cell in cells):
        return VerdictWord.CANNOT_TELL
    ran = any(cell.status is Status.PASS or cell.expected for cell in cells)
    return VerdictWord.PASS if ran else VerdictWord.CANNOT_TELL


def _counts_in_words(word: VerdictWord, cells: Sequence[CellVerdict]) -> str:
    """`3 of 15 cells fail (12 of 240 tests), 2 unavailable, 10 pass`; the first part names the total."""
    if not cells:
        return "the plan has no cells"
    groups = Counter("expected" if cell.expected else cell.status.value for cell in cells)
    order = ["fail", "no_result", "infra", "expected", "unavailable", "pass"]
    if word is VerdictWord.PASS:
        order = ["pass", "expected", "unavailable"] if groups["pass"] else ["expected", "unavailable"]
    parts = [(group, groups[group]) for group in order if groups[group]]
    if [group for group, _ in parts] == ["unavailable"]:
        return f"nothing ran, {_of_cells(parts[0][1], len(cells))} {_verb(parts[0][1], 'is', 'are')} unavailable"
    first, *rest = parts
    lead = f"{_of_cells(first[1], len(cells))} {_said(*first, alone=True)}{_tests_in_words(first[0], cells)}"
    return ", ".join([lead, *(f"{count} {_said(group, count, alone=False)}" for group, count in rest)])


def _said(group: str, count: int, *, alone: bool) -> str:
    """What a group of cells does; `alone` for the first, which needs a verb where the others do not."""
    if group == "unavailable":
        return f"{_verb(count, 'is', 'are')} unavailable" if alone else "unavailable"
    if group == "infra":
        return f"{_verb(count, 'has', 'have')} an infra problem" if alone else "infra"
    return {
        "fail": _verb(count, "fails", "fail"),
        "pass": _verb(count, "passes", "pass"),
        "expected": f"{_verb(count, 'fails', 'fail')} as expected",
        "no_result": f"{_verb(count, 'has', 'have')} no result",
    }[group]


def _tests_in_words(group: str, cells: Sequence[CellVerdict]) -> str:
    """The counts of tests that go with the first group: how many went wrong, or what the passes rest on."""
    total = sum(sum(cell.counts.values()) for cell in cells)
    if group == "fail":
        failing = [cell for cell in cells if cell.status is Status.FAIL and not cell.expected]
        bad = sum(count for cell in failing for outcome, count in cell.counts.items() if outcome.is_bad)
        return f" ({bad} of {total} test{_s(total)})" if bad else ""
    if group == "pass":
        passed = [cell for cell in cells if cell.status is Status.PASS]
        ran = sum(sum(cell.counts.values()) for cell in passed)
        skipped = sum(cell.counts.get(Outcome.SKIPPED, 0) for cell in passed)
        return f" ({ran} test{_s(ran)}" + (f", {skipped} of them skipped)" if skipped else ")")
    return ""


def _of_cells(count: int, total: int) -> str:
    return f"{count} of {total} cell{_s(total)}"


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _s(count: int) -> str:
    return "" if count == 1 else "s"
