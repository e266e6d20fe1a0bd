from __future__ import annotations

import pytest

from runner.model.words import Cause, Confidence
from runner.verdict import attribution
from runner.verdict.attribution import attribute
from runner.verdict.table import TABLE, Row, decide
from tests.unit.verdict.examples import EXAMPLES, Example

WORDS = {
    "infra": (Cause.INFRA, Confidence.LIKELY),
    "stale-cache": (Cause.STALE_CACHE, Confidence.PROVEN),
    "regression": (Cause.REGRESSION, Confidence.PROVEN),
    "threads-in-control": (Cause.THREAD_SAFETY, Confidence.PROVEN),
    "compiler": (Cause.COMPILER, Confidence.PROVEN),
    "toolchain": (Cause.TOOLCHAIN, Confidence.PROVEN),
    "triton-version": (Cause.TRITON_VERSION, Confidence.LIKELY),
    "gil-in-control": (Cause.THREAD_SAFETY, Confidence.PROVEN),
    "gil-in-project": (Cause.PROJECT, Confidence.LIKELY),
    "gil": (Cause.THREAD_SAFETY, Confidence.LIKELY),
    "threads-in-project": (Cause.PROJECT, Confidence.LIKELY),
    "threads": (Cause.THREAD_SAFETY, Confidence.LIKELY),
    "build": (Cause.PYTHON_ABI, Confidence.PROVEN),
    "python": (Cause.PYTHON_ABI, Confidence.PROVEN),
    "control": (Cause.ENVIRONMENT, Confidence.PROVEN),
    "stated": (Cause.RESOURCE, Confidence.LIKELY),
    "order": (Cause.PROJECT, Confidence.LIKELY),
    "flaky": (Cause.FLAKY, Confidence.PROVEN),
    "pre-existing": (Cause.PRE_EXISTING, Confidence.PROVEN),
    "project": (Cause.PROJECT, Confidence.LIKELY),
    "unexplained": (Cause.UNEXPLAINED, Confidence.CANNOT_TELL),
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.row)
def test_each_row_decides_its_example(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = []

    def spy(case: object) -> tuple[Row, Confidence]:
        row, confidence = decide(case)  # type: ignore[arg-type]
        rows.append(row)
        return row, confidence

    monkeypatch.setattr(attribution, "decide", spy)
    (finding,) = attribute(example.plan, example.results, example.contrasts)
    assert [row.id for row in rows] == [example.row]
    assert (finding.cause, finding.confidence) == WORDS[example.row]
    assert finding.next_step


def test_rows_have_names_of_their_own_and_the_last_fits_all() -> None:
    assert len({row.id for row in TABLE}) == len(TABLE)
    assert TABLE[-1].when == ()
    assert {row.cause for row in TABLE} | {Cause.DRIVER, Cause.RESOURCE, Cause.ENVIRONMENT} == {None, *Cause}
