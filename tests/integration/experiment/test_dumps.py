"""What the compiler worked on when it ended the process: enough to see that again with the wheel alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest

from runner.model.words import Cause, Confidence
from tests.integration.experiment.conftest import Matrix, finding_of
from tests.integration.experiment.planted import PROJECTS

pytestmark = [pytest.mark.interpreters, pytest.mark.network, pytest.mark.experiments]
MATRIX = """
python: [3.12]
triton: [3.2.0, 3.7.0]
project: {root: ., tests: tests, install: [setuptools]}
limits: {test: 60s}
"""


def test_the_report_shows_the_crash_again_without_the_project(matrix: Callable[[str], Matrix]) -> None:
    run = matrix(MATRIX)
    (run.folder / "tests").mkdir()
    for name in ("sm90.py", "test_scan_beside_dot.py", "test_sum_of_products.py"):
        shutil.copy(PROJECTS / "compilers" / "tests" / name, run.folder / "tests")
    run.run()
    run.experiment_within_the_plan()
    verdict = run.judge()

    finding = finding_of(verdict, "test_scan_beside_dot")
    assert (finding.cause, finding.confidence) == (Cause.COMPILER, Confidence.PROVEN)
    run.call("repro", finding.id)
    (report,) = (run.out / "repro").glob("*/report.md")
    files = {path.name: path.read_text() for path in (report.parent / "ir").iterdir()}
    assert sorted(files) == ["decay.ttgir", "decay.ttir", "reproducer.mlir"]
    assert "tt.func public @decay" in files["reproducer.mlir"]
    assert "convert-triton-gpu-to-llvm" in files["reproducer.mlir"], "it is not of the stage that failed"
    assert not any(str(run.folder) in text or "-packages" in text for text in files.values())
    text = report.read_text()
    assert "triton-opt --run-reproducer ir/reproducer.mlir" in text
    command = next(line for line in text.splitlines() if line.startswith("python -c "))
    python = run.out / "environments" / "py3.12-triton3.2.0" / "bin" / "python"
    again = ["bash", "-c", command.replace("python", str(python.absolute()), 1)]
    died = subprocess.run(again, cwd=report.parent, capture_output=True, text=True, check=False)
    assert "LLVM ERROR: Failed to emit transfer from register to shared" in died.stderr
    assert died.returncode != 0

    kept = run.contrasts("py3.12-gil-on-triton3.7.0").dumps
    assert [(one.test, one.stages) for one in kept] == [("tests/test_sum_of_products.py::test_planted", ())]
    assert kept[0].reproducer == "reproducer.mlir.make_ttir.repro.mlir"
