"""Sample matrices, and golden files: `pytest tests/unit/report --refresh-golden` writes them anew; read the diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.model.cell import CellKey, PythonBuild, cell_id, environment_id
from runner.model.plan import Expectation, GpuNeed, Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.result import Attempt, CellResult, GilState, Gpu, ObservedEnvironment, TestResult
from runner.model.verdict import Evidence, Finding, Verdict
from runner.model.words import Cause, Confidence, GilMode, Outcome, Status
from runner.verdict.judge import judge

GOLDEN = Path(__file__).parent / "golden"
TODAY = date(2026, 11, 30)
NO_GPU = "no SM90 GPU here: compiled for SM90, not run"
NO_WHEEL = "triton 3.9.0 has no wheel for cp313t; 3.7.0 is the last Triton with cp313t wheels"
KERNELS = ("vector_add", "softmax", "matmul", "layer_norm", "histogram")


@dataclass(frozen=True)
class Sample:
    plan: Plan
    results: dict[str, CellResult]
    verdict: Verdict


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-golden", action="store_true", help="write the golden files of the reports anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text is what the golden file holds, to the letter."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--refresh-golden", default=False):
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != expected:
            diff = difflib.unified_diff(expected.splitlines(), text.splitlines(), "golden", "rendered", lineterm="")
            pytest.fail(f"{name} differs from its golden file (--refresh-golden):\n" + "\n".join(diff), pytrace=False)

    return check


def make_key(python: str = "3.13t", gil: str = "off", triton: str = "3.7.0", torch: str | None = None) -> CellKey:
    named = torch is not None
    name = cell_id(PythonBuild.parse(python), GilMode(gil), triton, torch, torch_named=named)
    return CellKey(id=name, python=python, gil=GilMode(gil), triton=triton, torch=torch)


def make_plan(
    keys: Iterable[CellKey],
    unavailable: dict[str, str] | None = None,
    named: dict[str, str] | None = None,
    expectations: tuple[Expectation, ...] = (),
) -> Plan:
    """A plan of these cells; `unavailable` by environment id, `named` cell id to environment id."""
    environments: dict[str, PlannedEnvironment] = {}
    cells = []
    for key in keys:
        own = (named or {}).get(key.id)
        torch_named = key.torch is not None
        name = own or environment_id(
            PythonBuild.parse(key.python), key.triton or "0", key.torch, torch_named=torch_named
        )
        environments[name] = PlannedEnvironment(
            id=name,
            python=key.python,
            triton=key.triton,
            torch=key.torch,
            executable=f"/opt/{own}/bin/python" if own else None,
            fingerprint=f"f-{name}",
            unavailable=(unavailable or {}).get(name),
        )
        settings = Settings(tests=("tests",), gpu=GpuNeed(compute_capability="9.0"))
        cells.append(PlannedCell(key=key, environment=name, settings=settings))
    return Plan(
        matrix="quickstart",
        matrix_file="matrices/quickstart.yml",
        matrix_sha256="0" * 64,
        root="/project",
        created="2026-11-30T12:00:00+00:00",
        tool="0.1.0",
        gil_modes=tuple(GilMode),
        environments=tuple(environments.values()),
        cells=tuple(cells),
        expectations=expectations,
    )


def make_test(
    name: str,
    outcome: Outcome = Outcome.PASSED,
    *attempts: Attempt,
    message: str | None = None,
    stack: str | None = None,
) -> TestResult:
    first = Attempt(outcome=outcome, seconds=0.125, phase=None, message=message, stack=stack)
    return TestResult(id=name, outcome=outcome, file=name.partition("::")[0], line=7, attempts=attempts or (first,))


def make_tests(count: int = 24, skipped: int = 0) -> list[TestResult]:
    """`count` tests of which the last `skipped` say why."""
    names = [f"tests/test_{KERNELS[i % 5]}.py::test_compiles[case{i // 5}]" for i in range(count - skipped)]
    runs = [f"tests/test_{KERNELS[i % 5]}.py::test_runs[case{i // 5}]" for i in range(skipped)]
    return [make_test(name) for name in names] + [
        make_test(name, Outcome.SKIPPED, message="Skipped: no SM90 GPU here") for name in runs
    ]


def make_result(
    key: CellKey,
    tests: Iterable[TestResult] = (),
    status: Status = Status.PASS,
    reason: str | None = None,
    *,
    planned: int | None = None,
    gpus: tuple[Gpu, ...] = (),
    driver: str | None = None,
    gil: GilState | None = None,
) -> CellResult:
    found = tuple(tests)
    free_threaded = key.python.endswith("t")
    exact = {"3.12": "3.12.1", "3.13": "3.13.0", "3.13t": "3.13.5", "?": "3.12.4"}[key.python]
    tag = "".join(exact.split(".")[:2]) + ("t" if free_threaded else "")
    switched = key.gil is GilMode.DEFAULT and free_threaded
    return CellResult(
        cell=key,
        environment=None
        if status is Status.UNAVAILABLE
        else ObservedEnvironment(
            python=exact,
            build=f"{exact} ({'free-threading build' if free_threaded else 'main'}) [GCC 12.2.0]",
            soabi=f"cpython-{tag}-x86_64-linux-gnu",
            executable="/env/bin/python",
            triton=key.triton or "3.6.0",
            torch=key.torch,
            driver=driver,
            gpus=gpus,
            platform="Linux-6.1-x86_64 glibc 2.36",
        ),
        gil=gil
        or GilState(
            requested=key.gil,
            free_threaded_build=free_threaded,
            enabled_at_start=key.gil is GilMode.ON,
            enabled_at_end=key.gil is not GilMode.OFF,
            enabled_by="triton._C.libtriton" if switched else None,
            enabled_by_test="tests/test_vector_add.py" if switched else None,
            enabled_after_files=dict.fromkeys((test.file or "" for test in found), key.gil is not GilMode.OFF)
            if free_threaded
            else {},
        ),
        status=status,
        reason=reason,
        planned=len(found) if planned is None else planned,
        tests=found,
        started="2026-11-30T12:01:00+00:00",
        seconds=0.125 * len(found) + 2,
        environment_seconds=1.5,
    )


def switched_by(test: TestResult) -> GilState:
    """The second test file's first test imports Triton; the first file ran without the GIL."""
    files = [f"tests/test_{name}.py" for name in KERNELS]
    return GilState(
        requested=GilMode.DEFAULT,
        free_threaded_build=True,
        enabled_at_start=False,
        enabled_at_end=True,
        enabled_by="triton._C.libtriton",
        enabled_by_test=test.id,
        enabled_after_files={file: number > 0 for number, file in enumerate(files)},
        first_test_enabled=test.id,
    )


def crash(signal: str = "SIGSEGV", stack: str | None = None) -> Attempt:
    return Attempt(
        outcome=Outcome.CRASHED,
        seconds=0.5,
        phase="call",
        signal=signal,
        message=f"the worker died with {signal}",
        stack=stack
        or f"Fatal Python error: {signal}\n\nCurrent thread 0x1 (most recent call first):\n"
        '  File "<frozen importlib._bootstrap_external>", line 1324 in create_module\n'
        '  File "triton/backends/nvidia/driver.py", line 71 in compile_module_from_src',
    )


def quickstart_keys() -> list[CellKey]:
    rows = [("3.12", "on"), ("3.13", "on"), ("3.13t", "on"), ("3.13t", "off"), ("3.13t", "default")]
    return [make_key(python, gil, triton) for python, gil in rows for triton in ("3.3.1", "3.7.0", "3.9.0")]


@pytest.fixture(scope="session")
def quickstart() -> Sample:
    """15 cells without a GPU: 12 pass with skips, 3.13t has no wheel of the newest Triton."""
    keys = quickstart_keys()
    plan = make_plan(keys, {"py3.13t-triton3.9.0": NO_WHEEL})
    results = {
        key.id: make_result(key, status=Status.UNAVAILABLE, reason=NO_WHEEL)
        if (key.python, key.triton) == ("3.13t", "3.9.0")
        else make_result(key, make_tests(24, 8), reason=NO_GPU)
        for key in keys
    }
    return Sample(plan, results, judge(plan, results, today=TODAY))


@pytest.fixture(scope="session")
def crashes() -> Sample:
    """9 cells on an H200: crashes, a hang, a failure in setup, and a finding that explains the crashes."""
    keys = [key for key in quickstart_keys() if key.python == "3.13t" and key.triton != "3.9.0"]
    keys += [key for key in quickstart_keys() if key.python == "3.13" and key.triton != "3.9.0"]
    h200 = (Gpu(name="NVIDIA H200", uuid="GPU-0", compute_capability="9.0", memory_bytes=150_000_000_000),)
    results = {}
    for key in keys:
        tests = make_tests(6)
        if (key.python, key.triton) == ("3.13t", "3.3.1"):
            tests[0] = make_test(tests[0].id, Outcome.CRASHED, crash(), crash())
            tests[3] = make_test(
                tests[3].id,
                Outcome.TIMED_OUT,
                Attempt(
                    outcome=Outcome.TIMED_OUT,
                    seconds=300,
                    phase="call",
                    signal="SIGKILL",
                    message="no end after 300 s",
                    stack='Thread 0x7f01 (most recent call first):\n  File "threading.py", line 359 in wait',
                ),
                Attempt(outcome=Outcome.PASSED, seconds=0.25),
            )
        if key.triton == "3.7.0" and key.gil is GilMode.OFF:
            stack = (
                "def test_softmax(kernel):\n>   assert kernel(1) == 2\nE   assert 1 == 2\n\n"
                "tests/test_softmax.py:7: AssertionError"
            )
            tests[1] = make_test(tests[1].id, Outcome.FAILED, message="AssertionError: assert 1 == 2", stack=stack)
            tests[2] = make_test(
                tests[2].id,
                Outcome.ERROR,
                Attempt(
                    outcome=Outcome.ERROR, phase="setup", message="fixture 'device' not found", output="on stdout\n"
                ),
            )
        bad = sum(test.outcome.is_bad for test in tests)
        status = Status.FAIL if bad else Status.PASS
        gil = switched_by(tests[1]) if key.gil is GilMode.DEFAULT else None
        results[key.id] = make_result(key, tests, status, gpus=h200, driver="580.65.06", gil=gil)
    finding = Finding(
        id="f1",
        cause=Cause.STALE_CACHE,
        title="A JIT cache that another Python ABI filled crashes the import of cuda_utils",
        cells=tuple(key.id for key in keys if key.triton == "3.3.1" and key.python == "3.13t"),
        tests=("tests/test_vector_add.py::test_compiles[case0]",),
        confidence=Confidence.PROVEN,
        evidence=(
            Evidence(kind="contrast", text="fresh cache: 0 of 6 crash; cache as found: 6 of 6 crash"),
            Evidence(kind="contrast", text="GIL on: 6 of 6 crash; GIL off: 6 of 6 crash. The GIL is not the cause"),
        ),
        next_step="Delete the cache, or set TRITON_CACHE_DIR to a folder of its own for each Python",
    )
    plan = make_plan(keys)
    return Sample(plan, results, judge(plan, results, today=TODAY, findings=[finding]))


@pytest.fixture(scope="session")
def every_status() -> Sample:
    """Every status once, with an expected failure, a named environment, torch as an axis and hostile texts."""
    hostile = "<img src=x onerror=alert(1)> @octocat | `x` [a](http://evil.example) \x1b[31mred \u202egnp.exe"
    passing = make_key("3.12", "on", "3.7.0", "2.12.0")
    failing = make_key("3.13", "on", "3.7.0", "2.12.0")
    expected = make_key("3.13t", "on", "3.6.0", "2.11.0")
    infra = make_key("3.13t", "off", "3.6.0", "2.11.0")
    lost = make_key("3.13t", "default", "3.6.0", "2.10.0")
    gone = make_key("3.12", "on", "3.6.0", "2.10.0")
    gil_on = make_key("3.13t", "off", "3.7.0", "2.12.0")
    own = CellKey(id="py-conda-gil-on", python="?", gil=GilMode.ON, triton=None, torch=None)
    results = {
        passing.id: make_result(passing, make_tests(3)),
        failing.id: make_result(
            failing,
            [
                *make_tests(2),
                make_test(
                    f"tests/test_x.py::test[{hostile}]",
                    Outcome.FAILED,
                    message=hostile,
                    stack=f"```\n</details>\n::error::{hostile}",
                ),
                make_test("tests/test_x.py::test_later", Outcome.NOT_RUN, message="the cell's deadline had passed"),
            ],
            Status.FAIL,
            f"a test printed {hostile}",
        ),
        expected.id: make_result(
            expected, [make_test("tests/test_race.py::test_autotune", Outcome.CRASHED, crash("SIGABRT"))], Status.FAIL
        ),
        infra.id: make_result(infra, [], Status.INFRA, "GPU-0 is busy: process 4711 holds 70 GiB of its memory"),
        gone.id: make_result(gone, [], Status.UNAVAILABLE, "no interpreter: uv python find 3.12 found nothing"),
        gil_on.id: make_result(
            gil_on,
            make_tests(4, 1),
            gil=GilState(
                requested=GilMode.OFF,
                free_threaded_build=True,
                enabled_at_start=False,
                enabled_at_end=True,
                enabled_by="numpy._core._multiarray_umath",
                enabled_by_test="tests/test_softmax.py",
                enabled_after_files={"tests/test_vector_add.py": False, "tests/test_softmax.py": True},
                first_test_enabled="tests/test_softmax.py::test_compiles[case0]",
            ),
        ),
        own.id: make_result(
            own, [*make_tests(2), make_test("tests/test_y.py::test_marked", Outcome.XFAILED, message="known")]
        ),
    }
    expectations = tuple(
        Expectation(
            cells=(expected.id,),
            tests=(glob,),
            reason="the autotuner races",
            owner="kernels team",
            link="https://example.com/1",
            expires=expires,
            source=source,
        )
        for glob, expires, source in (
            ("tests/test_race.py::*", "2026-11-30", "matrices/quickstart.yml:40"),
            ("*::test_gone", "2026-11-29", "matrices/quickstart.yml:46"),
        )
    )
    keys = [passing, failing, expected, infra, lost, gone, gil_on, own]
    plan = make_plan(keys, named={own.id: "conda-prod"}, expectations=expectations)
    return Sample(plan, results, judge(plan, results, today=TODAY))


@pytest.fixture(params=["quickstart", "crashes", "every_status"])
def sample(request: pytest.FixtureRequest) -> tuple[str, Sample]:
    """Each sample with its name."""
    return request.param, request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """What builds samples, for tests that need their own."""
    return SimpleNamespace(
        key=make_key,
        plan=make_plan,
        test=make_test,
        tests=make_tests,
        result=make_result,
        crash=crash,
        Outcome=Outcome,
        Status=Status,
        TODAY=TODAY,
    )
