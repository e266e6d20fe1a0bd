"""Judging a large matrix: what 500 roots cost beside one, what passing tests cost in memory, and what is left to gain.

Four matrices of 256 cells are written with the product's own models. Each is then read by `json.loads` alone, judged
and reported, every time in a process of its own: seconds are those of the processor, so that a busy machine does not
count, and memory is the peak of what was resident. Only ratios are held to a limit.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.cli import main as triton_compat
from runner.commands.results import read_plan, read_summaries, summary_file
from runner.model.plan import Plan, plan_sha
from runner.model.result import Attempt, CellResult, GilState, TestResult
from runner.model.summary import CellSummary
from runner.model.verdict import Verdict
from runner.model.words import Outcome, Status
from tests.unit.verdict.building import plan

PYTHONS = ("3.12", "3.13", "3.14", "3.15", "3.12t", "3.13t", "3.14t", "3.15t")  # 4 with one GIL mode, 4 with three
TRITONS = tuple(f"3.{minor}.{patch}" for minor in range(8) for patch in range(2))
TESTS, FAILING = 2_000, 500
ALLOWED = {
    "judge: 500 roots / one root": 4.0,
    "judge: one root / json.loads": 8.0,
    "board: 2,000 passing tests / json.loads": 0.5,
    "judge: MiB of 2,000 passing tests / of 20": 2.0,
    "report: MiB of 2,000 passing tests / of 20": 2.0,
}


@dataclass(frozen=True)
class Case:
    """One matrix: tests in each cell, how many of them fail, and with how many roots."""

    tests: int
    failing: int
    roots: int


CASES = {
    "20 passing": Case(20, 0, 0),
    "2,000 passing": Case(TESTS, 0, 0),
    "one root": Case(TESTS, FAILING, 1),
    "500 roots": Case(TESTS, FAILING, FAILING),
}


def word(number: int) -> str:
    """A number in letters: digits do not tell messages apart."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def tests_of(case: Case) -> Iterator[TestResult]:
    """Names as long as those of parametrized tests are; failures with the traceback of a Triton call."""
    for number in range(case.tests):
        name = (
            f"tests/kernels/test_mixed_input_matmul.py::TestMatmul::test_matmul[float8e4nv-bfloat16-128-256-{number}]"
        )
        attempt = Attempt(outcome=Outcome.PASSED, seconds=0.125, pid=4242, gil_enabled=False)
        if number < case.failing:
            error = f"Kernel{word(number % case.roots)}Error"
            frames = "".join(
                f'  File "/env/lib/python3.13/site-packages/triton/runtime/jit.py", line {line}, in run\n'
                f"    kernel = self.compile(src, target=target, options=options.__dict__)\n"
                for line in range(600, 612)
            )
            message = f"{error}: no lowering for this operation"
            stack = f"Traceback (most recent call last):\n{frames}{message}\n"
            attempt = attempt.model_copy(update={"outcome": Outcome.FAILED, "message": message, "stack": stack})
        yield TestResult(
            id=name,
            outcome=attempt.outcome,
            file="tests/kernels/test_mixed_input_matmul.py",
            line=40,
            attempts=(attempt,),
        )


def write(out: Path, case: Case) -> None:
    """The output folder of a matrix in which every cell has the same tests."""
    planned: Plan = plan(PYTHONS, TRITONS)
    planned.write(out / "plan.json")
    tests = tuple(tests_of(case))
    for cell in planned.cells:
        result = CellResult(
            cell=cell.key,
            gil=GilState(requested=cell.key.gil, enabled_at_start=False, enabled_at_end=cell.key.gil.value != "off"),
            status=Status.FAIL if case.failing else Status.PASS,
            planned=case.tests,
            tests=tests,
            plan_sha=plan_sha(cell, planned.environment(cell.environment)),
        )
        result.write(out / "cells" / cell.key.id / "result.json")
        CellSummary.of(result).write(summary_file(out, cell.key.id))


def load(out: Path) -> None:
    """The floor: the text of every result as Python's objects, one after the other."""
    for path in out.glob("cells/*/result.json"):
        json.loads(path.read_text(encoding="utf-8"))


def board(out: Path) -> None:
    """What each cell's process reads of the others when it begins."""
    assert len(list(read_summaries(read_plan(out), out))) == len(PYTHONS) * 2 * len(TRITONS)  # noqa: S101


def command(name: str, out: Path) -> None:
    """One command as a user runs it."""
    with contextlib.redirect_stdout(io.StringIO()):
        triton_compat([name, "--out", str(out)])


def measured(work: Callable[..., None], *args: object) -> tuple[float, float]:
    """Processor seconds and MiB at the peak of some work in a process of its own."""
    spawn = multiprocessing.get_context("spawn")  # a forked process would begin with this one's memory
    answers = spawn.Queue()
    process = spawn.Process(target=_answer, args=(answers, work, args))
    process.start()
    seconds, mebibytes = answers.get()
    process.join()
    return seconds, mebibytes


def _answer(
    answers: multiprocessing.Queue[tuple[float, float]], work: Callable[..., None], args: tuple[object, ...]
) -> None:
    began = time.process_time()
    work(*args)
    answers.put((time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main() -> int:
    """Print what was measured, and the ratios; exit 1 when one of them is beyond its limit."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    seconds: dict[tuple[str, str], float] = {}
    peak: dict[tuple[str, str], float] = {}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            measured(write, out, case)
            paths = list(out.glob("cells/*/result.json"))
            size = sum(path.stat().st_size for path in paths) / 2**20
            print(f"{len(paths)} cells x {case.tests:,} tests, {name}: {size:.0f} MiB of results", flush=True)
            steps = {"json.loads": (load, out), "board": (board, out)}
            for step in ("json.loads", "board", "judge", "report"):
                work = steps.get(step, (command, step, out))
                seconds[name, step], peak[name, step] = measured(*work)
                found = ""
                if step == "judge":
                    found = f", {len(Verdict.read(out / 'verdict.json').findings)} findings"
                print(f"  {step}: {seconds[name, step]:.1f} s, peak {peak[name, step]:.0f} MiB{found}", flush=True)
    ratios = {
        "judge: 500 roots / one root": seconds["500 roots", "judge"] / seconds["one root", "judge"],
        "judge: one root / json.loads": seconds["one root", "judge"] / seconds["one root", "json.loads"],
        "board: 2,000 passing tests / json.loads": seconds["2,000 passing", "board"]
        / seconds["2,000 passing", "json.loads"],
        "judge: MiB of 2,000 passing tests / of 20": peak["2,000 passing", "judge"] / peak["20 passing", "judge"],
        "report: MiB of 2,000 passing tests / of 20": peak["2,000 passing", "report"] / peak["20 passing", "report"],
    }
    for title, ratio in ratios.items():
        print(f"{title}: {ratio:.2f} (at most {ALLOWED[title]:.1f})")
    return int(any(ratio > ALLOWED[title] for title, ratio in ratios.items()))


if __name__ == "__main__":
    raise SystemExit(main())
