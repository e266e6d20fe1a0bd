"""Telling the largest matrix: 256 cells x 2,000 tests with 5,000 failures, from files to comment and summary.

Each step is measured in a process of its own: seconds of processor time, so that a busy machine does not count, and the
peak of its resident memory.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from runner.github.body import render_comment, render_summary
from runner.github.documents import Documents, read_documents
from runner.model.plan import plan_sha
from runner.model.words import Status
from tests.unit.github.conftest import TESTED, make_matrix

CELLS, TESTS, FAILURES, FINDINGS = 256, 2_000, 5_000, 60
COLUMNS = 16
ALLOWED_SECONDS, ALLOWED_MEBIBYTES = 60.0, 256.0


def long_name() -> str:
    """As long as names of parametrized tests are in practice."""
    return "tests/kernels/test_mixed_input_matmul.py::TestMatmul::test_matmul[float8e4nv-bfloat16-128-256-64-4-8-True]"


def write(out: Path) -> None:
    """The output folder of that matrix."""
    failing = FAILURES // 20
    statuses = [Status.FAIL] * failing + [Status.PASS] * (CELLS - failing)
    matrix = make_matrix(statuses, name=long_name, tests=TESTS, bad=20, findings=FINDINGS, columns=COLUMNS)
    matrix.plan.write(out / "plan.json")
    matrix.verdict.write(out / "verdict.json")
    for cell in matrix.plan.cells:
        result = matrix.results[cell.key.id]
        sha = plan_sha(cell, matrix.plan.environment(cell.environment))
        result.model_copy(update={"plan_sha": sha}).write(out / "cells" / cell.key.id / "result.json")


def tell(out: Path, render: Callable[..., str] | None) -> str:
    """Read everything and render it, as `triton-compat publish` does."""
    documents: Documents = read_documents(out)
    assert len(documents.results) == CELLS  # noqa: S101 - a benchmark of nothing would be fast
    return render(documents.plan, documents.results, documents.verdict, TESTED) if render else ""


def measure(
    out: Path, render: Callable[..., str] | None, queue: multiprocessing.Queue[tuple[float, float, int]]
) -> None:
    """Processor seconds with the interpreter's start, MiB and bytes of one telling, into the queue."""
    text = tell(out, render)
    seconds = time.process_time()
    queue.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(text.encode())))


def main() -> None:
    """Print a line for reading, for the comment and for the summary; fail beyond what is allowed."""
    spawn = multiprocessing.get_context("spawn")  # a forked process would begin with this one's memory
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        writer = spawn.Process(target=write, args=(out,))
        writer.start()
        writer.join()
        size = sum(path.stat().st_size for path in out.rglob("*.json"))
        print(f"{CELLS} cells x {TESTS:,} tests, {FAILURES:,} failures: {size / 2**20:.0f} MiB of JSON")
        for name, render in (("reading alone", None), ("comment", render_comment), ("summary", render_summary)):
            queue = spawn.Queue()
            process = spawn.Process(target=measure, args=(out, render, queue))
            process.start()
            seconds, mebibytes, length = queue.get()
            process.join()
            print(f"{name}: {seconds:.1f} s, peak {mebibytes:.0f} MiB, {length:,} bytes")
            if seconds > ALLOWED_SECONDS or mebibytes > ALLOWED_MEBIBYTES:
                raise SystemExit(f"{name} is beyond {ALLOWED_SECONDS:.0f} s or {ALLOWED_MEBIBYTES:.0f} MiB")


if __name__ == "__main__":
    main()
