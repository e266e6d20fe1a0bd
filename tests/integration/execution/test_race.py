"""Tests in several threads at once: what each thread did is kept, whatever it did."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.execution import Progress, Rules, run_cell
from runner.model.cell import CellKey
from runner.model.plan import Limits, PlannedCell, PlannedEnvironment, Race, Settings
from runner.model.race import RacedTest, Races
from runner.model.words import GilMode, Outcome, Status
from tests.stubs.machine import HERE, StubMachine, compile_stubs

pytestmark = pytest.mark.interpreters


def run(project: Any, text: str, *, threads: int = 4, rounds: int = 5, **more: Any) -> tuple[Any, Races]:
    project.write("test_it.py", text)
    project.race = Race(threads=threads, rounds=rounds, **more)
    result = project.run()
    return result, Races.read(project.folder / "races.json")


def raced(races: Races, name: str) -> RacedTest:
    return next(test for test in races.tests if test.id.split("::")[-1] == name)


PROJECTS = Path(__file__).parents[2] / "projects"


@pytest.fixture(params=[GilMode.ON, GilMode.OFF], ids=["gil-on", "gil-off"])
def with_triton(request: pytest.FixtureRequest, tmp_path: Path, ready_python: Any) -> Callable[..., Races]:
    """A function (name, *tests) that races tests of a project of tests/projects with Triton 3.7.0 on a 3.13t."""

    def race(name: str, *tests: str) -> Races:
        python = ready_python("3.13t", "pytest==9.2.0", "triton==3.7.0")
        root, gil = PROJECTS / name, request.param
        env = {"PYTHONPATH": str(root / "src")}
        key = CellKey(id=f"py3.13t-gil-{gil.value}", python="3.13t", gil=gil, triton="3.7.0", torch=None)
        names = tuple(f"tests/{test}" for test in tests)
        settings = Settings(tests=names, env=env, limits=Limits(test_seconds=60), race=Race(threads=8, rounds=8))
        environment = PlannedEnvironment(id="e", python="3.13t", triton="3.7.0", torch=None, fingerprint="0" * 16)
        cell = PlannedCell(key=key, environment="e", settings=settings)
        run_cell(cell, environment, python, root=root, folder=tmp_path / "cell", rules=Rules(retry_suspects=False))
        return Races.read(tmp_path / "cell" / "races.json")

    return race


@pytest.mark.network
def test_the_autotuner_race_with_the_gil_on_and_off(with_triton: Callable[..., Races]) -> None:
    file = "test_autotuner.py"
    races = with_triton("autotuner_race", f"{file}::test_one_thread_calls_the_shared_kernel")
    test = raced(races, "test_one_thread_calls_the_shared_kernel")
    logging.getLogger(__name__).info("GIL %s: %s", races.cell.gil.value, races.reason)
    assert test.passed + test.failed == test.calls == 64
    assert test.failed > 0
    assert ("TypeError", "'NoneType' object is not a mapping") in {(e.type, e.message) for e in test.errors}
    assert test.gil_enabled is (races.cell.gil is GilMode.ON)


@pytest.mark.network
def test_races_of_a_project_of_its_own(with_triton: Callable[..., Races]) -> None:
    file = "test_kernelcache.py"
    races = with_triton(
        "own_race", f"{file}::test_uses_of_a_shared_cache_grow", f"{file}::test_a_shared_cache_gives_kernels"
    )
    grow, gives = raced(races, "test_uses_of_a_shared_cache_grow"), raced(races, "test_a_shared_cache_gives_kernels")
    logging.getLogger(__name__).info("GIL %s: %s", races.cell.gil.value, races.reason)
    assert (grow.failed > 0) is (races.cell.gil is GilMode.OFF)
    assert {error.type for error in gives.errors} == {"KeyError"}


def test_a_clean_test_is_clean_over_a_thousand_rounds(project: Any) -> None:
    result, races = run(project, "def test_clean(): assert sum(range(10)) == 45\n", threads=8, rounds=1000)
    test = raced(races, "test_clean")
    assert (test.passed, test.failed, test.skipped, test.rounds_done) == (8000, 0, 0, 1000)
    assert test.gil_enabled is not project.build.endswith("t")
    assert result.status is Status.PASS
    assert races.reason is None


def test_a_failure_in_one_thread_is_a_failure_although_others_skip(project: Any) -> None:
    result, races = run(
        project,
        """
        import itertools, pytest
        calls = itertools.count()
        def test_mixed():
            n = next(calls)
            if n and n % 4 == 2:
                assert n == 0
            if n % 4:
                pytest.skip("not here")
        """,
        rounds=2,
    )
    test = raced(races, "test_mixed")
    assert (test.passed, test.failed, test.skipped) == (2, 2, 4)
    assert test.outcome is Outcome.FAILED
    (error,) = test.errors
    assert (error.phase, error.type, error.count, error.round) == ("call", "AssertionError", 2, 1)
    assert "assert n == 0" in (error.stack or "")
    assert result.status is Status.FAIL
    assert result.reason == "races: failed 2 of 8 in 1 of 1 test"


def test_what_threads_raise_counts_whatever_it_is(project: Any) -> None:
    result, races = run(
        project,
        """
        import itertools, sys, threading, warnings
        import pytest
        def in_a_thread():
            return threading.current_thread() is not threading.main_thread()
        def test_exit():
            if in_a_thread(): sys.exit(3)
        def test_interrupt():
            if in_a_thread(): raise KeyboardInterrupt
        def test_pytest_exit():
            if in_a_thread(): pytest.exit("enough")
        class Odd(UserWarning): pass
        def test_raises_warning():
            if in_a_thread(): raise Odd("raised")
        @pytest.mark.filterwarnings("error::UserWarning")
        def test_warns():
            if in_a_thread(): warnings.warn("made an error")
        def test_base():
            class Own(BaseException):
                def __str__(self): raise ValueError
            if in_a_thread(): raise Own
        def test_after(): pass
        """,
        rounds=2,
    )
    found = {test.id.split("::")[-1]: test for test in races.tests}
    assert {name: [(e.type, e.count) for e in test.errors] for name, test in found.items()} == {
        "test_exit": [("SystemExit", 8)],
        "test_interrupt": [("KeyboardInterrupt", 8)],
        "test_pytest_exit": [("_pytest.outcomes.Exit", 8)],
        "test_raises_warning": [("test_it.Odd", 8)],
        "test_warns": [("UserWarning", 8)],
        "test_base": [("test_it.test_base.<locals>.Own", 8)],
        "test_after": [],
    }
    assert len(races.workers) == 1
    assert result.reason == "races: failed 48 of 48 in 6 of 7 tests"


def test_an_interrupt_of_the_main_thread_costs_the_test_that_made_it_alone(project: Any) -> None:
    result, races = run(
        project,
        """
        import _thread, itertools, os, signal, threading
        calls = itertools.count()
        def in_a_thread():
            return threading.current_thread() is not threading.main_thread()
        def test_before(): pass
        def test_kills():
            if in_a_thread(): os.kill(os.getpid(), signal.SIGINT)
        def test_interrupts_once():
            if in_a_thread() and next(calls) == 4: _thread.interrupt_main()
        def test_interrupts_and_fails():
            if in_a_thread():
                _thread.interrupt_main()
                raise ValueError("as well")
        def test_after(): pass
        """,
        threads=3,
        rounds=4,
    )
    found = {test.id.split("::")[-1]: test for test in races.tests}
    assert {name: (test.rounds_done, test.passed, test.failed) for name, test in found.items()} == {
        "test_before": (4, 12, 0),
        "test_kills": (4, 8, 4),
        "test_interrupts_once": (4, 11, 1),
        "test_interrupts_and_fails": (4, 0, 12),
        "test_after": (4, 12, 0),
    }
    (error,) = found["test_interrupts_once"].errors
    assert (error.phase, error.type, error.count, error.round) == ("call", "KeyboardInterrupt", 1, 2)
    assert error.message == "KeyboardInterrupt in the main thread: one of the threads interrupted the process"
    assert {e.type: e.count for e in found["test_interrupts_and_fails"].errors} == {
        "ValueError": 8,
        "KeyboardInterrupt": 4,
    }
    assert len(races.workers) == 1
    assert races.unfinished == ()
    assert result.reason == "races: failed 17 of 36 in 3 of 5 tests"


def test_a_deadlock_is_named_with_the_thread_and_its_stack(project: Any) -> None:
    project.limits = Limits(test_seconds=3, cell_seconds=120)
    result, races = run(
        project,
        """
        import itertools, threading
        lock = threading.Lock()
        calls = itertools.count()
        def wait_for_ever():
            lock.acquire()
            lock.acquire()
        def test_hangs():
            if next(calls) == 9: wait_for_ever()
        def test_after(): pass
        """,
    )
    test = raced(races, "test_hangs")
    assert test.outcome is Outcome.TIMED_OUT
    assert test.broken is not None
    assert (test.rounds_done, test.passed, test.failed) == (2, 8, 1)
    message = test.broken.message or ""
    assert "a round of this race took longer than 3.5 s" in message
    assert "in round 3 of 5; thread " in message
    assert message.endswith(" of 4 had not finished")
    thread = message.split("; thread ")[1].split()[0]
    stack = test.broken.stack or ""
    assert "in wait_for_ever" in stack.split(f"(race thread {thread})")[1].split("\n\n")[0]
    assert raced(races, "test_after").passed == 20
    assert len(races.workers) == 2
    assert result.reason == "races: failed 1 of 20 in 1 of 2 tests, 1 of them timed out"


def test_a_segfault_in_one_thread_costs_its_test_alone(project: Any) -> None:
    result, races = run(
        project,
        """
        import ctypes, itertools, os
        calls, others = itertools.count(), itertools.count()
        def test_before(): pass
        def test_dies():
            if next(calls) == 6: ctypes.string_at(0)
        def test_leaves():
            if next(others) == 1: os._exit(0)
        def test_after(): pass
        """,
    )
    assert [test.outcome.value for test in races.tests] == ["passed", "crashed", "crashed", "passed"]
    dies, leaves = raced(races, "test_dies"), raced(races, "test_leaves")
    assert dies.broken is not None
    assert leaves.broken is not None
    assert dies.broken.signal == "SIGSEGV"
    assert dies.rounds_done == 1
    assert "in round 2 of 5" in (dies.broken.message or "")
    assert "it happened in thread " in (dies.broken.message or "")
    assert "in test_dies" in (dies.broken.stack or "")
    assert "nothing had asked it to end" in (leaves.broken.message or "")
    assert result.reason == "races: failed 2 of 40 in 2 of 4 tests, 2 of them crashed"


FIXTURES = """
    import collections, itertools, threading
    import pytest
    made = collections.Counter()
    ended = collections.Counter()
    @pytest.fixture(scope="session", autouse=True)
    def session_thing():
        made["session"] += 1
        yield
        ended["session"] += 1
        assert made == ended, (made, ended)
    @pytest.fixture(scope="module")
    def shared():
        made["shared"] += 1
        yield []
        ended["shared"] += 1
    @pytest.fixture(params=["a", "b"])
    def letter(request):
        return request.param
    @pytest.fixture
    def own(shared, tmp_path, letter):
        made["own"] += 1
        yield {"path": tmp_path, "letter": letter}
        ended["own"] += 1
    class TestIt:
        def setup_method(self):
            self.count = 0
        @pytest.mark.parametrize("number", [1, 2])
        def test_own(self, own, shared, number, request):
            assert request.getfixturevalue("own") is own
            assert request.getfixturevalue("late")["thread"] == threading.get_ident()
            own["n"] = own.get("n", 0) + 1
            assert own["n"] == 1
            (own["path"] / "file").write_text("x")
            assert len(list(own["path"].iterdir())) == 1
            self.count += 1
            assert self.count == 1
            request.addfinalizer(lambda: made.update(final=1) or ended.update(final=1))
            shared.append(number)
    @pytest.fixture
    def late():
        made["late"] += 1
        yield {"thread": threading.get_ident()}
        ended["late"] += 1
    def test_counts(shared):
        once = 3 if threading.current_thread() is not threading.main_thread() else 0
        assert made["shared"] == 1 and made["session"] == 1
        if once:
            assert made["own"] == ended["own"] == made["late"] == made["final"] == 4 * 4 * 3
"""


@pytest.mark.parametrize("release", ["pytest==9.2.0", "pytest==7.4.4"])
def test_each_thread_has_its_own_fixtures_and_wider_ones_are_shared(
    project: Any, ready_python: Callable[..., Path], release: str
) -> None:
    project.python = ready_python(project.build, release)
    result, races = run(
        project,
        FIXTURES,
        rounds=3,
    )
    assert {test.id: [(e.type, e.message, e.stack) for e in test.errors] for test in races.tests} == {
        test.id: [] for test in result.tests
    }
    assert all(test.passed == 12 for test in races.tests)
    assert races.trouble == ()
    assert result.status is Status.PASS


def test_what_cannot_run_in_threads_is_left_out_with_the_reason(project: Any) -> None:
    project.write("pytest.ini", "[pytest]\naddopts = --doctest-modules\nmarkers =\n  thread_unsafe\n  single_thread\n")
    result, races = run(
        project,
        """
        import os, unittest, warnings
        from unittest import mock
        import pytest
        def documented():
            '''
            >>> 1 + 1
            2
            '''
        class TestOld(unittest.TestCase):
            def test_old(self): pass
        def test_capsys(capsys): pass
        def test_monkeypatch(monkeypatch): pass
        @pytest.fixture
        def logs(caplog): return caplog
        def test_caplog_below(logs): pass
        def test_warns():
            with pytest.warns(UserWarning): warnings.warn("x")
        def test_patch():
            with mock.patch("os.getcwd"): pass
        @mock.patch("os.getcwd")
        def test_patched(_): pass
        def test_chdir(tmp_path): os.chdir(tmp_path)
        @pytest.mark.thread_unsafe(reason="it counts")
        def test_marked(): pass
        @pytest.mark.single_thread
        def test_single(): pass
        @pytest.mark.xfail
        def test_xfails(): assert 0
        def test_fails(): assert 0
        def test_skips(): pytest.skip("no")
        def test_named(): pass
        def test_raced(): pass
        """,
        leave_out=("*::test_nam?d",),
    )
    assert [test.id for test in races.tests] == ["test_it.py::test_raced"]
    reasons = {one.id.split("::")[-1]: one.reason for one in races.left_out}
    assert reasons == {
        "test_it.documented": "it is no plain test function but a DoctestItem",
        "test_old": "it is a unittest test, which pytest runs in one thread only",
        "test_capsys": "it uses capsys, which captures the output of the whole process",
        "test_monkeypatch": "it uses monkeypatch, which changes what all threads share",
        "test_caplog_below": "it uses caplog, which captures the log of the whole process",
        "test_warns": "it uses warns, which changes the warning filters of the whole process",
        "test_patch": "it uses unittest.mock.patch, which changes what all threads share",
        "test_patched": "it is patched by unittest.mock, which changes what all threads share",
        "test_chdir": "it uses chdir, which changes what all threads share",
        "test_marked": "it is marked thread_unsafe: it counts",
        "test_single": "it is marked single_thread",
        "test_xfails": "it was xfailed in the ordinary run",
        "test_fails": "it was failed in the ordinary run",
        "test_skips": "it was skipped in the ordinary run",
        "test_named": "the matrix leaves out *::test_nam?d",
    }
    assert result.reason == "1 of 16 went wrong: 1 failed"
    assert races.status is Status.PASS


@pytest.fixture(params=["stub", pytest.param("real", marks=pytest.mark.gpu)])
def gpu_project(request: pytest.FixtureRequest, project: Any, tmp_path: Path) -> Any:
    """A project with kernels beside its tests, on a GPU that is played or real."""
    if request.param == "stub":
        machine = StubMachine(compile_stubs(tmp_path), tmp_path / "machine")
        machine.write()
        project.env = machine.variables
    elif shutil.which("nvidia-smi") is None:
        pytest.skip("no GPU here")
    shutil.copy(HERE / "kernels.py", project.root)
    return project


def test_the_cuda_context_is_current_in_every_thread_and_a_dead_one_ends_the_race(gpu_project: Any) -> None:
    result, races = run(
        gpu_project,
        """
        import ctypes, itertools
        import pytest
        from kernels import context, driver, launch
        calls = itertools.count()
        @pytest.fixture(scope="module")
        def main_context():
            assert driver().cuCtxSetCurrent(context()) == 0
            return context()
        def test_current(main_context):
            found = ctypes.c_void_p()
            assert driver().cuCtxGetCurrent(ctypes.byref(found)) == 0
            assert found.value == main_context.value
        def test_kills(main_context):
            launch("do_illegal" if next(calls) == 6 else "do_nothing")
        def test_after(main_context):
            launch("do_nothing")
        """,
    )
    current, kills, after = races.tests
    assert (current.passed, after.passed) == (20, 20)
    assert kills.outcome is Outcome.FAILED
    assert kills.rounds_done == 2
    dead = next(error for error in kills.errors if error.phase == "synchronize")
    assert dead.message == "the CUDA context was dead after the round: CUDA_ERROR_ILLEGAL_ADDRESS (700)"
    assert len(races.workers) == 2
    assert result.status is Status.FAIL


def test_what_is_raced_is_told_while_it_is(plain_project: Any, tmp_path: Path) -> None:
    """The second round waits until it is shown as such; the count is that of the tests that can be raced."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    opened = os.open(gate, os.O_RDWR)
    plain_project.write(
        "test_it.py",
        f"""
        import itertools
        numbers = itertools.count()
        def test_a():
            pass
        def test_skips():
            import pytest
            pytest.skip("no reason")
        def test_waits():
            round_before = next(numbers) // 2
            if round_before == 1:
                assert open({str(gate)!r}).read(1)
            elif round_before == 2:
                assert False, "the last round"
        """,
    )
    plain_project.race = Race(threads=2, rounds=3)
    told: list[Progress] = []

    def let_go(progress: Progress) -> None:
        told.append(progress)
        if progress.current == "test_it.py::test_waits" and progress.part == "round 2 of 3":
            os.write(opened, b"xx")

    project = plain_project
    run_cell(
        project.cell, project.environment, project.python, root=project.root, folder=project.folder, progress=let_go
    )
    os.close(opened)
    racing = [progress for progress in told if progress.stage == "racing"]
    assert racing
    assert {progress.planned for progress in racing} == {2}
    last = racing[-1]
    assert last.finished == 2
    assert [(wrong.number, wrong.id, wrong.outcome) for wrong in last.wrong] == [
        (2, "test_it.py::test_waits", Outcome.FAILED)
    ]
    assert (last.wrong[0].message or "").startswith("failed 2 of 6 calls in 2 threads: ")
