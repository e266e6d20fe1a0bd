"""Workflow commands and output files: the two ways in which a job's step talks to GitHub's runner."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.model.plan import Job, Plan
from runner.model.result import CellResult
from runner.model.verdict import Verdict
from runner.model.words import Status
from runner.report.escape import first_line, line
from runner.report.phrases import attempts_in_words, telling_attempt
from runner.verdict.cell_status import outcome_of

MOST_ANNOTATIONS = 10
"""GitHub shows ten errors of one step and drops the rest without a word."""
MOST_JOBS = 256
"""Jobs of one matrix."""


@dataclass(frozen=True)
class Annotation:
    """A message at a line of a file.

    Attributes:
        file: relative to the repository's root.
        line: 1-based.
        title, message: one bounded line each.
    """

    file: str
    line: int
    title: str
    message: str

    def __str__(self) -> str:
        place = f"file={_property(self.file)},line={self.line},title={_property(self.title)}"
        return f"::error {place}::{_data(self.message)}"


def warning(message: str) -> str:
    """A warning without a place."""
    return f"::warning title=triton-compat::{_data(message)}"


def annotate(plan: Plan, results: Mapping[str, CellResult], verdict: Verdict, folder: str) -> tuple[Annotation, ...]:
    """Where tests went wrong unexpectedly, each place once; at most as many as GitHub shows.

    Args:
        plan: what was expected.
        results: what arrived, by cell id.
        verdict: which failures are unexpected.
        folder: of the project's root, relative to the repository's; empty for the same.
    """
    places: dict[tuple[str, int], list[tuple[str, str]]] = {}
    failing = {cell.id for cell in verdict.cells if cell.status is Status.FAIL and not cell.expected}
    for cell in plan.cells:
        for test in results[cell.key.id].tests if cell.key.id in failing & results.keys() else ():
            if outcome_of(test).is_bad and test.file:
                attempt = telling_attempt(test)
                said = first_line(attempt.message if attempt else None) or "no message"
                file = "/".join(part for part in (folder, line(test.file)) if part and part != ".")
                message = f"{line(test.id)} {attempts_in_words(test)}: {said}"
                places.setdefault((file, max(1, test.line or 1)), []).append((cell.key.id, message))
    found = []
    for (file, number), said_in in list(places.items())[:MOST_ANNOTATIONS]:
        cells = list(dict.fromkeys(cell for cell, _ in said_in))
        more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        found.append(Annotation(file, number, f"{cells[0]}{more}", said_in[0][1]))
    return tuple(found)


def outputs(values: Mapping[str, str], delimiter: str) -> str:
    """The text for `GITHUB_OUTPUT`.

    Args:
        values: by name.
        delimiter: that nobody can have foreseen, so that no value can end itself and set another.
    """
    for name, value in values.items():
        if delimiter in value:
            raise ValueError(f"the output {name} holds the delimiter")
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in values.items())


def append(path: Path, text: str) -> None:
    """Add to a file that GitHub's runner made; other steps may have written to it."""
    with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        stream.write(text)


def job_matrix(plan: Plan, default_runner: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    """What `strategy.matrix: ${{ fromJSON(...) }}` takes: one entry for each machine that is needed.

    Cells that cannot be made need none. Beyond 256 jobs those that want the same machine are put together.

    Args:
        plan: with its jobs.
        default_runner: labels for jobs that name none.
    """
    missing = {environment.id for environment in plan.environments if environment.unavailable is not None}
    alive = {cell.key.id for cell in plan.cells if cell.environment not in missing}
    jobs = [
        job.model_copy(update={"cells": cells, "runner": job.runner or tuple(default_runner)})
        for job in plan.jobs
        if (cells := tuple(cell for cell in job.cells if cell in alive))
    ]
    return {
        "include": [
            {
                "name": job.name,
                "cells": " ".join(job.cells),
                "runner": list(job.runner),
                # The number makes it unique, whatever letters the name of an artifact may not have.
                "artifact": f"{number:03}-{slug(job.name)}",
            }
            for number, job in enumerate(_grouped(jobs))
        ]
    }


def plan_outputs(plan: Plan, default_runner: Sequence[str]) -> dict[str, str]:
    """What the plan job of a workflow hands on."""
    matrix = job_matrix(plan, default_runner)
    return {
        "matrix": json.dumps(matrix, separators=(",", ":")),
        "job-count": str(len(matrix["include"])),
        "cell-count": str(len(plan.cells)),
        "cells": " ".join(str(job["cells"]) for job in matrix["include"]),
        "name": line(plan.matrix),
        "slug": slug(plan.matrix) or "matrix",
    }


def slug(name: str) -> str:
    """A name in letters that the name of an artifact may have; empty where it has none of them."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", name)[:60].strip("-")


def verdict_outputs(verdict: Verdict, out: Path) -> dict[str, str]:
    """What a later step can read of the verdict."""
    counts = {status.value: sum(1 for cell in verdict.cells if cell.status is status) for status in Status}
    paths = {name: str(out / name) for name in ("verdict.json", "report.md", "report.html", "matrix.svg", "junit.xml")}
    return {
        "verdict": verdict.verdict.value,
        "sentence": line(verdict.sentence),
        "counts": json.dumps(counts),
        "paths": json.dumps(paths),
    }


def _grouped(jobs: Sequence[Job]) -> Iterator[Job]:
    if len(jobs) <= MOST_JOBS:
        yield from jobs
        return
    by_runner: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        by_runner.setdefault(job.runner, []).append(job)
    # Each kind of machine gets its share of the jobs, and one at the least.
    spare = MOST_JOBS - len(by_runner)
    for runner, alike in by_runner.items():
        share = min(len(alike), 1 + spare * len(alike) // len(jobs))
        for number in range(share):
            part = alike[number * len(alike) // share : (number + 1) * len(alike) // share]
            more = f" and {len(part) - 1} more" if len(part) > 1 else ""
            yield Job(name=part[0].name + more, cells=tuple(cell for job in part for cell in job.cells), runner=runner)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
