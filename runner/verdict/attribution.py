"""Attribution: from results and contrasts to findings. Pure, and the order of what comes in does not matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner.evidence.observed import Observed, Observer, RootSeen
from runner.evidence.root import Roots
from runner.evidence.rulefile import built_in
from runner.evidence.siblings import Siblings
from runner.evidence.signatures import Rules
from runner.model.contrast import Contrast, Contrasts
from runner.model.plan import Plan
from runner.model.result import CellResult
from runner.model.verdict import Finding
from runner.model.words import Cause, Confidence
from runner.verdict.case import Case, Control
from runner.verdict.effects import compared
from runner.verdict.table import Row, decide
from runner.verdict.wording import evidence_of, next_step_of, title_of

_BY_CONFIDENCE = list(Confidence)
_BLOCKS_LESS = frozenset({Cause.FLAKY, Cause.PRE_EXISTING, Cause.INFRA})


def attribute(
    plan: Plan,
    results: Iterable[CellResult],
    contrasts: Iterable[Contrasts] = (),
    rules: Rules | None = None,
) -> tuple[Finding, ...]:
    """Find the causes of everything that went wrong in a matrix.

    Args:
        plan: what was run.
        results: of its cells.
        contrasts: what experiments found out, of any of its cells.
        rules: signatures; the shipped ones when None.

    Returns:
        One finding for each root (and cause), blockers first. Cells that are not in the plan are left out.
    """
    rules = rules or built_in()
    observer = Observer(rules)
    return findings_of({result.cell.id: observer.observe(result) for result in results}, plan, contrasts, rules)


def findings_of(
    seen: Mapping[str, Observed], plan: Plan, contrasts: Iterable[Contrasts], rules: Rules
) -> tuple[Finding, ...]:
    """As `attribute`, from what was observed in each cell, by its id."""
    in_order = {cell.key.id: seen[cell.key.id] for cell in plan.cells if cell.key.id in seen}
    # One case at a time: the contrasts of a large matrix with many roots would not fit in memory together.
    findings = [
        _finding(part, row, confidence)
        for case in _cases(plan, in_order, contrasts, rules)
        for part, row, confidence in _decide(case)
    ]
    return tuple(sorted(findings, key=_rank))


def _rank(finding: Finding) -> tuple[bool, int, int, str]:
    return (
        finding.cause in _BLOCKS_LESS,
        _BY_CONFIDENCE.index(finding.confidence),
        -len(finding.cells) * max(1, len(finding.tests)),
        finding.id,
    )


def _cases(plan: Plan, cells: dict[str, Observed], documents: Iterable[Contrasts], rules: Rules) -> Iterator[Case]:
    by_root: dict[str, dict[str, Observed]] = {}
    for cell, observed in cells.items():
        for root in observed.roots:
            by_root.setdefault(root, {})[cell] = observed
    given = sorted((document for document in documents if document.cell in cells), key=lambda document: document.cell)
    run: dict[str, list[Contrast]] = {}
    for contrast in sorted((one for document in given for one in document.contrasts), key=_canonical):
        run.setdefault(contrast.root, []).append(contrast)
    siblings = Siblings(plan, cells)
    seen = {root: {cell: one.roots[root] for cell, one in where.items()} for root, where in by_root.items()}
    for cell, one in _found(given, Roots(rules)):
        seen.setdefault(one.key.id, {}).setdefault(cell, one)
    order = {cell: number for number, cell in enumerate(cells)}
    for root, unordered in seen.items():
        where = {cell: unordered[cell] for cell in sorted(unordered, key=order.__getitem__)}
        key = next(iter(where.values())).key
        controls = {document.cell: Control(document.control, key) for document in given if document.control}
        yield Case(
            root=key,
            rule=rules.get(key.signature),
            seen=where,
            statuses={cell: cells[cell].status for cell in where},
            comparisons=(*siblings.comparisons(root), *map(compared, run.get(root, ()))),
            controls={cell: control for cell, control in controls.items() if cell in where},
            trials=tuple(trial for document in given for trial in document.workarounds if trial.root == root),
        )


def _found(documents: Iterable[Contrasts], roots: Roots) -> Iterator[tuple[str, RootSeen]]:
    """What cells show only with the user's own cache directory."""
    for document in documents:
        for one in document.found:
            yield document.cell, RootSeen(roots.of(one.sample), one.tests, one.sample, one.count)


def _canonical(contrast: Contrast) -> str:
    return f"{contrast.cell}\0{contrast.factor}\0{contrast.model_dump_json()}"


def _decide(case: Case) -> list[tuple[Case, Row, Confidence]]:
    """Decide a root as a whole; where only the control keeps its cells apart, decide each kind of cell for itself."""
    row, confidence = decide(case)
    if row.cause is not Cause.UNEXPLAINED or len(case.seen) == 1:
        return [(case, row, confidence)]
    states: dict[str, list[str]] = {}
    for cell in case.seen:
        states.setdefault(case.controls[cell].state if cell in case.controls else "none", []).append(cell)
    if len(states) == 1:
        return [(case, row, confidence)]
    by_row: dict[str, list[str]] = {}
    for cells in states.values():
        by_row.setdefault(decide(case.only(cells))[0].id, []).extend(cells)
    if len(by_row) == 1:
        return [(case, row, confidence)]
    parts = [case.only(cells) for cells in by_row.values()]
    return [(part, *decide(part)) for part in parts]


def _finding(case: Case, row: Row, confidence: Confidence) -> Finding:
    cause = row.cause or (case.rule.categories[0].cause if case.rule else Cause.UNEXPLAINED)
    return Finding(
        id=f"{cause.value}-{case.root.id}",
        cause=cause,
        title=title_of(case),
        cells=case.cells,
        tests=tuple(dict.fromkeys((*case.tests, *case.followers))),
        confidence=confidence,
        evidence=evidence_of(case, row),
        next_step=next_step_of(case, row),
    )


def notes_on_found(contrasts: Iterable[Contrasts]) -> tuple[str, ...]:
    """That cells which pass fail with the user's own cache directory: the verdict's word is about their own caches."""
    cells: dict[str, list[str]] = {}
    for document in sorted(contrasts, key=lambda one: one.cell):
        for directory in dict.fromkeys(one.directory for one in document.found):
            cells.setdefault(directory, []).append(document.cell)
    return tuple(
        f"With the cache directory {directory} as it was found, {', '.join(names)} "
        f"{'fails' if len(names) == 1 else 'fail'}, and {'passes' if len(names) == 1 else 'pass'} with caches of "
        f"{'its' if len(names) == 1 else 'their'} own: see the findings."
        for directory, names in cells.items()
    )


def notes_on_unfinished(contrasts: Iterable[Contrasts]) -> tuple[str, ...]:
    """What experiments could not do, one sentence for each cell: a finding that cannot tell may need it."""
    return tuple(
        f"Experiments of {document.cell}: {document.unfinished[0]}"
        + (
            f" (and {len(document.unfinished) - 1} more, see its contrasts.json)"
            if len(document.unfinished) > 1
            else ""
        )
        + "."
        for document in sorted(contrasts, key=lambda one: one.cell)
        if document.unfinished
    )


def findings_of_cell(findings: Sequence[Finding], cell: str) -> tuple[Finding, ...]:
    """Those findings that cover a cell."""
    return tuple(finding for finding in findings if cell in finding.cells)
