"""Plans, results and contrasts for the tests of the verdict, written in few words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from runner.evidence.root import fingerprint
from runner.model.cell import CellKey, PythonBuild, cell_id, environment_id
from runner.model.contrast import Contrast, Contrasts, ControlPart, Count, Side
from runner.model.plan import Pin, Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import Attempt, CellResult, GilState, TestResult
from runner.model.verdict import Finding
from runner.model.words import Factor, GilMode, Outcome, Status
from runner.verdict.attribution import attribute

GOOD = Attempt(outcome=Outcome.PASSED, pid=1)
SKIPPED = Attempt(outcome=Outcome.SKIPPED)


def plan(
    pythons: tuple[str, ...] = ("3.13t",),
    tritons: tuple[str, ...] = ("3.3.1",),
    gils: tuple[GilMode, ...] = tuple(GilMode),
    numpy: Mapping[str, str] | None = None,
) -> Plan:
    """A plan of every combination; `numpy` gives the numpy that a Python gets."""
    environments, cells = [], []
    for python, triton in itertools.product(map(PythonBuild.parse, pythons), tritons):
        name = environment_id(python, triton, None, torch_named=False)
        version = (numpy or {}).get(str(python))
        pins = (Pin(name="numpy", version=version, filename="n.whl"),) if version else ()
        environments.append(
            PlannedEnvironment(id=name, python=str(python), triton=triton, torch=None, pins=pins, fingerprint=name)
        )
        for gil in [mode for mode in python.gil_modes if mode in gils]:
            key = CellKey(
                id=cell_id(python, gil, triton, None, torch_named=False),
                python=str(python),
                gil=gil,
                triton=triton,
                torch=None,
            )
            cells.append(PlannedCell(key=key, environment=name, settings=Settings()))
    return Plan(
        matrix="m",
        matrix_file="m.yml",
        matrix_sha256="0",
        root="r",
        created="2026-11-30T00:00:00+00:00",
        tool="0.1.0",
        gil_modes=gils,
        environments=tuple(environments),
        cells=tuple(cells),
    )


def result(
    planned: Plan,
    cell: str,
    tests: Mapping[str, Attempt | tuple[Attempt, ...]],
    status: Status | None = None,
    enabled_at_end: bool | None = None,
) -> CellResult:
    """The result of one planned cell; its status follows from the attempts unless it is given."""
    key = next(one.key for one in planned.cells if one.key.id == cell)
    made = []
    for name, given in tests.items():
        attempts = given if isinstance(given, tuple) else (given,)
        made.append(TestResult(id=name, outcome=attempts[0].outcome, attempts=attempts))
    bad = any(test.outcome.is_bad for test in made)
    return CellResult(
        cell=key,
        gil=GilState(requested=key.gil, enabled_at_end=enabled_at_end),
        status=status or (Status.FAIL if bad else Status.PASS),
        planned=len(made),
        tests=tuple(made),
    )


def results(planned: Plan, failing: Mapping[str, Attempt], test: str = "test_a.py::test") -> list[CellResult]:
    """One test in every planned cell: it fails where `failing` holds a part of the cell's id, else it passes."""
    return [
        result(planned, cell.key.id, {test: next((a for part, a in failing.items() if part in cell.key.id), GOOD)})
        for cell in planned.cells
    ]


def contrast(
    cell: str,
    attempt: Attempt,
    factor: Factor,
    before: tuple[str, int, int],
    after: tuple[str, int, int],
    other: int = 0,
) -> Contrast:
    """A contrast that was run: (value, failed, total) on both sides, each attempt in a process of its own."""
    return Contrast(
        cell=cell,
        root=fingerprint(attempt).id,
        tests=("test_a.py::test",),
        factor=factor,
        before=Side(value=before[0], count=Count(failed=before[1], total=before[2]), started="t0"),
        after=Side(value=after[0], count=Count(failed=after[1], total=after[2], other=other), started="t1"),
    )


def part(name: str, failed: int, total: int, signature: str = "", threads: int = 1, single: str = "") -> ControlPart:
    """A part of the control that was run."""
    return ControlPart(
        id=name,
        title=name.replace("-", " "),
        count=Count(failed=failed, total=total),
        threads=threads,
        single=single or None,
        signatures=(signature,) if signature else (),
    )


GREEN = (part("import", 0, 6), part("compile-add", 0, 6), part("compile-from-threads", 0, 6, threads=8))


def contrasts(cell: str, *made: Contrast, control: tuple[ControlPart, ...] = ()) -> Contrasts:
    """The document of one cell."""
    return Contrasts(cell=cell, contrasts=made, control=control)


def only(planned: Plan, outcomes: list[CellResult], *documents: Contrasts) -> Finding:
    """The one finding that there must be."""
    (finding,) = attribute(planned, outcomes, documents)
    return finding


def said(finding: Finding, kind: str | None = None) -> str:
    """Everything that a finding's evidence says, of one kind or of all."""
    return "\n".join(one.text for one in finding.evidence if kind in (None, one.kind))
