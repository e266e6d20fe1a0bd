"""Cells of projects that crash, hang, lie and leave: every collected test has one outcome, and the right one."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ExecutionError
from runner.execution import Progress, Rules, finished_result, run_cell
from runner.execution.journal import Journal, read_events
from runner.model.plan import Limits, plan_sha
from runner.model.result import Attempt, CellResult, TestResult
from runner.model.words import Outcome, Status

pytestmark = pytest.mark.interpreters

SIX = """
    import ctypes, os
    def test_1(): pass
    def test_2(): assert 1 == 2
    def test_3(): ctypes.string_at(0)
    def test_4(): pass
    def test_5(): os._exit(0)
    def test_6(): pass
"""


def outcomes(result: CellResult) -> dict[str, str]:
    return {test.id.split("::")[-1]: test.outcome.value for test in result.tests}


def entry(result: CellResult, name: str) -> TestResult:
    return next(test for test in result.tests if test.id.split("::")[-1] == name)


def first(result: CellResult, name: str) -> Attempt:
    return entry(result, name).attempts[0]


def test_six_tests_two_of_which_end_the_process(project: Any) -> None:
    project.write("test_six.py", SIX)
    project.rules = Rules()
    result = project.run()
    assert outcomes(result) == {
        "test_1": "passed",
        "test_2": "failed",
        "test_3": "crashed",
        "test_4": "passed",
        "test_5": "crashed",
        "test_6": "passed",
    }
    assert result.status is Status.FAIL
    assert result.reason == "3 of 6 went wrong: 1 failed, 2 crashed"
    assert result.planned == 6
    assert result.is_complete
    segfault, left = entry(result, "test_3"), entry(result, "test_5")
    assert [attempt.signal for attempt in segfault.attempts] == ["SIGSEGV", "SIGSEGV"], "the suspect ran again alone"
    assert segfault.attempts[0].phase == "call"
    assert "in test_3" in (segfault.attempts[0].stack or "")
    assert left.attempts[0].exit_code == 0
    assert "nothing had asked it to end" in (left.attempts[0].message or "")
    assert (project.folder / "result.json").is_file()
    assert finished_result(project.folder, plan_sha(project.cell, project.environment)) == result
    assert project.told[-1].stage == "finished"
    assert project.told[-1].finished == 6


def test_happy_path_takes_one_process_and_says_what_it_was(project: Any) -> None:
    project.write("test_fine.py", "def test_a(): pass\ndef test_b(): pass\n")
    result = project.run()
    assert result.status is Status.PASS
    assert result.reason is None
    assert len(result.workers) == 1
    assert result.workers[0].reason == "finished"
    seen = result.environment
    assert seen is not None
    assert seen.python.startswith(project.build.removesuffix("t") + ".")
    assert seen.packages["pytest"] == "9.2.0"
    assert (seen.soabi or "").startswith("cpython-" + project.build.replace(".", ""))
    assert result.gil.free_threaded_build is project.build.endswith("t")
    assert result.gil.enabled_at_end is not project.build.endswith("t")


def test_a_slow_look_at_the_environment_is_waited_for(plain_project: Any) -> None:
    """It runs beside the first worker, and must not be ended as something that the worker left behind."""
    slow = plain_project.write(
        "path/sitecustomize.py",
        """
    import sys, time
    if "observe.py" in " ".join(sys.orig_argv):
        time.sleep(1.5)
    """,
    )
    plain_project.env = {"PYTHONPATH": str(slow.parent)}
    plain_project.write("test_fine.py", "def test_a(): pass\n")
    seen = plain_project.run().environment
    assert seen is not None
    assert seen.packages["pytest"] == "9.2.0"


def test_files_that_cannot_be_collected_cost_only_themselves(project: Any) -> None:
    project.write("test_dies.py", "import ctypes; ctypes.string_at(0)\ndef test_x(): pass\n")
    project.write("test_wrong.py", "def test_x( pass\n")
    project.write("test_absent.py", "import not_there\n")
    project.write("test_skips.py", "import pytest; pytest.importorskip('not_there')\n")
    project.write("below/conftest.py", "import os; os.abort()\n")
    project.write("below/test_below.py", "def test_x(): pass\n")
    project.write("beside/conftest.py", "import not_there\n")
    project.write("beside/test_beside.py", "def test_x(): pass\n")
    project.write("test_zfine.py", "def test_fine(): pass\n")
    result = project.run()
    assert outcomes(result) == {
        "below/conftest.py": "crashed",
        "beside/conftest.py": "error",
        "test_dies.py": "crashed",
        "test_wrong.py": "error",
        "test_absent.py": "error",
        "test_skips.py": "skipped",
        "test_fine": "passed",
    }
    assert first(result, "test_absent.py").message == "ModuleNotFoundError: No module named 'not_there'"
    assert "test_dies.py" in (first(result, "test_dies.py").stack or "")
    assert first(result, "below/conftest.py").signal == "SIGABRT"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("while True: pass", "in test_hangs"),
        ("ctypes.PyDLL(None).pause()", "in test_hangs"),
        ("lock = threading.Lock(); lock.acquire(); lock.acquire()", "in test_hangs"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", "in test_hangs"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        while True: pass", "in test_hangs"),
    ],
    ids=["python", "native-with-the-gil", "lock", "stopped", "ignores-sigterm"],
)
def test_hangs_are_stopped_with_their_stacks(project: Any, body: str, line: str) -> None:
    project.write(
        "test_hang.py",
        f"""
    import ctypes, os, signal, threading
    def test_before(): pass
    def test_hangs():
        {body}
    def test_after(): pass
    """,
    )
    project.limits = Limits(test_seconds=1, cell_seconds=60)
    result = project.run()
    assert outcomes(result) == {"test_before": "passed", "test_hangs": "timed_out", "test_after": "passed"}
    attempt = first(result, "test_hangs")
    assert line in (attempt.stack or "")
    assert (attempt.message or "").startswith("this test took longer than 1 s")
    assert attempt.phase == "call"


def test_death_after_the_last_test_is_not_lost(project: Any) -> None:
    project.write("test_a.py", "def test_a(): pass\n")
    project.write("conftest.py", "import atexit, ctypes\natexit.register(ctypes.string_at, 0)\n")
    result = project.run()
    assert outcomes(result) == {"test_a": "passed", "<session>": "crashed"}
    assert result.status is Status.FAIL
    assert first(result, "<session>").phase == "exit"


def test_cell_deadline_leaves_the_rest_not_run_with_the_reason(plain_project: Any) -> None:
    plain_project.write("test_a.py", "def test_a(): pass\ndef test_b():\n    while True: pass\ndef test_c(): pass\n")
    plain_project.limits = Limits(test_seconds=60, cell_seconds=3)
    result = plain_project.run()
    assert outcomes(result) == {"test_a": "passed", "test_b": "not_run", "test_c": "not_run"}
    assert result.status is Status.NO_RESULT
    assert "the time of the cell, 3 s, was over" in (result.reason or "")
    assert not result.is_complete


def test_no_tests_is_never_a_pass(plain_project: Any) -> None:
    plain_project.write("test_a.py", "x = 1\n")
    result = plain_project.run()
    assert result.status is Status.NO_RESULT
    assert (result.reason or "").startswith("no test was collected")


def test_a_wrong_path_is_named(plain_project: Any) -> None:
    plain_project.write("test_a.py", "def test_a(): pass\n")
    plain_project.tests = ("test_b.py",)
    result = plain_project.run()
    assert result.status is Status.NO_RESULT
    assert "file or directory not found: test_b.py" in (result.reason or "")


def test_pytest_as_old_as_7_4(plain_project: Any, ready_python: Callable[..., Path]) -> None:
    plain_project.python = ready_python("3.12", "pytest==7.4.4")
    plain_project.write("test_six.py", SIX)
    plain_project.write("below/conftest.py", "import os; os.abort()\n")
    plain_project.write("below/test_below.py", "def test_x(): pass\n")
    plain_project.write("beside/conftest.py", "import not_there\n")
    plain_project.write("beside/test_beside.py", "def test_x(): pass\n")
    result = plain_project.run()
    assert list(outcomes(result).values()) == [
        *("crashed", "error"),
        *("passed", "failed", "crashed", "passed", "crashed", "passed"),
    ]


def test_two_supervisors_do_not_share_a_cell(plain_project: Any) -> None:
    plain_project.write("test_a.py", "def test_a(): pass\n")
    plain_project.folder.mkdir()
    with (
        Journal(plain_project.folder / "journal.jsonl", "x", fresh=True),
        pytest.raises(ExecutionError, match="another triton-compat is running this cell"),
    ):
        plain_project.run()


def test_resume_keeps_what_was_finished(plain_project: Any, tmp_path: Path) -> None:
    """The journal of a whole run, cut after every line and in the middle of it, leads to the same outcomes."""
    ran = tmp_path / "ran"
    plain_project.write(
        "test_count.py",
        f"""
    import os
    import pytest
    def note(name):
        with open({str(ran)!r}, "a") as stream:
            stream.write(name + "\\n")
    def test_a(): note("a")
    def test_b(): note("b"); assert False
    def test_c(): note("c"); os._exit(3)
    def test_d(): note("d")
    """,
    )
    whole = plain_project.run()
    lines = (plain_project.folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    expected = outcomes(whole)
    assert expected == {"test_a": "passed", "test_b": "failed", "test_c": "crashed", "test_d": "passed"}
    for count in range(1, len(lines), 4):
        (plain_project.folder / "result.json").unlink(missing_ok=True)
        (plain_project.folder / "journal.jsonl").write_bytes(b"".join(lines[:count]) + lines[count][: count % 30])
        ended = {json.loads(line)["n"] for line in lines[:count] if json.loads(line)["event"] == "end"}
        ran.unlink(missing_ok=True)
        again = plain_project.run()
        assert outcomes(again) == expected, f"cut after line {count}"
        assert again.is_complete
        again_ran = ran.read_text(encoding="utf-8").split() if ran.exists() else []
        assert not {"abcd"[number] for number in ended} & set(again_ran), "a finished test ran again"


def test_another_python_than_was_asked_for_is_no_result(plain_project: Any) -> None:
    plain_project.write("test_a.py", "def test_a(): pass\n")
    plain_project.build = "3.13"
    result = plain_project.run()
    assert result.status is Status.NO_RESULT
    assert "asked for Python 3.13, but" in (result.reason or "")
    assert result.tests == ()


RUN = """
import pickle, sys
from pathlib import Path
from runner.execution import run_cell
arguments = pickle.loads(sys.stdin.buffer.read())
run_cell(*arguments[:3], root=arguments[3], folder=arguments[4])
"""


def test_supervisor_killed_at_many_points_loses_and_doubles_nothing(plain_project: Any, tmp_path: Path) -> None:
    """Each test of the suite kills the supervisor the first time it runs; every supervisor takes its worker along."""
    marks = tmp_path / "marks"
    marks.mkdir()
    plain_project.write(
        "test_kill.py",
        f"""
    import os, pathlib, pytest, signal
    @pytest.mark.parametrize("n", range(6))
    def test_n(n):
        mark = pathlib.Path({str(marks)!r}, str(n))
        if not mark.exists():
            mark.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
    """,
    )
    data = (
        *(plain_project.cell, plain_project.environment, plain_project.python),
        *(plain_project.root, plain_project.folder),
    )
    codes = [
        subprocess.run([sys.executable, "-c", RUN], input=pickle.dumps(data), check=False, timeout=60).returncode
        for _ in range(7)
    ]
    assert codes == [-9] * 6 + [0]
    result = finished_result(plain_project.folder, plan_sha(plain_project.cell, plain_project.environment))
    assert result is not None
    assert outcomes(result) == {f"test_n[{n}]": "passed" for n in range(6)}
    assert len(result.tests) == 6
    assert result.status is Status.PASS


def test_a_test_that_always_kills_its_supervisor_is_named(plain_project: Any) -> None:
    plain_project.write(
        "test_kill.py", "import os\ndef test_kills(): os.kill(os.getppid(), 9)\ndef test_after(): pass\n"
    )
    data = (
        *(plain_project.cell, plain_project.environment, plain_project.python),
        *(plain_project.root, plain_project.folder),
    )
    codes: list[int] = []
    while not codes or codes[-1]:
        run = subprocess.run([sys.executable, "-c", RUN], input=pickle.dumps(data), check=False, timeout=60)
        codes.append(run.returncode)
        assert len(codes) < 8
    # The plan is kept before the first test starts. So it is known which tests may have been it, also where the worker
    # began the next one before it died with its supervisor, and the third time it runs by itself.
    assert codes == [-9, -9, -9, 0]
    result = finished_result(plain_project.folder, plan_sha(plain_project.cell, plain_project.environment))
    assert result is not None
    assert outcomes(result) == {"test_kills": "crashed", "test_after": "passed"}
    assert "times while this ran" in (first(result, "test_kills").message or "")


def test_another_plan_starts_anew(plain_project: Any) -> None:
    plain_project.write("test_a.py", "def test_a(): pass\n")
    plain_project.run()
    plain_project.env = {"A": "1"}
    assert finished_result(plain_project.folder, plan_sha(plain_project.cell, plain_project.environment)) is None
    plain_project.run()
    assert sum(event["event"] == "plan" for event in read_events(plain_project.folder / "journal.jsonl")) == 1


def test_secrets_and_the_tools_own_variables_stay_outside(plain_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "PYTHON_GIL", "PYTHONPATH", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "leaked")
    plain_project.env = {"MINE": "yes"}
    plain_project.write(
        "test_env.py",
        f"""
    import os, sys, tempfile
    def test_env():
        assert "leaked" not in os.environ.values()
        assert os.environ["MINE"] == "yes"
        assert os.environ["TRITON_CACHE_DIR"].startswith({str(plain_project.folder)!r})
        assert not [entry for entry in sys.path if entry.endswith(("inside", "_triton_compat"))]
        assert tempfile.gettempdir() != {tempfile.gettempdir()!r}
    """,
    )
    result = plain_project.run()
    assert result.status is Status.PASS, first(result, "test_env").message


def test_a_rerun_is_an_attempt_and_no_excuse(plain_project: Any, ready_python: Callable[..., Path]) -> None:
    plain_project.python = ready_python("3.12", "pytest==9.2.0", "pytest-rerunfailures", "pytest-xdist")
    plain_project.write("pytest.ini", "[pytest]\naddopts = -n 2 --reruns 2 -x\n")
    plain_project.write(
        "test_a.py", "seen = []\ndef test_a():\n    seen.append(1)\n    assert len(seen) > 1\ndef test_b(): pass\n"
    )
    result = plain_project.run()
    assert [attempt.outcome for attempt in entry(result, "test_a").attempts] == [Outcome.FAILED, Outcome.PASSED]
    assert outcomes(result) == {"test_a": "failed", "test_b": "passed"}
    assert len(result.workers) == 1


def test_a_test_that_hangs_at_once_is_shown_while_it_hangs(plain_project: Any, tmp_path: Path) -> None:
    """What begins right after the last telling is told a moment later, not with the next event: there may be none."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    opened = os.open(gate, os.O_RDWR)
    plain_project.write("test_hangs.py", f"def test_hangs():\n    assert open({str(gate)!r}).read(1)\n")
    plain_project.limits = Limits(test_seconds=60, cell_seconds=120)

    def let_go(progress: Progress) -> None:
        if progress.current == "test_hangs.py::test_hangs":
            os.write(opened, b"x")

    project = plain_project
    result = run_cell(
        project.cell, project.environment, project.python, root=project.root, folder=project.folder, progress=let_go
    )
    os.close(opened)
    assert [test.outcome for test in result.tests] == [Outcome.PASSED]


def test_in_the_background_of_a_shell_tests_can_be_interrupted_as_everywhere(plain_project: Any) -> None:
    """A shell starts what it runs in the background with interrupts ignored, and programs hand that on."""
    plain_project.write(
        "test_interrupt.py",
        """
        import os, pytest, signal
        def test_interrupt():
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        """,
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = plain_project.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert [test.outcome for test in result.tests] == [Outcome.PASSED]


def test_a_journal_that_somebody_wrote_into_is_taken_up_and_clears_nothing_away(
    plain_project: Any, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    plain_project.write("test_a.py", "def test_a(): pass\ndef test_b(): pass\n")
    plain_project.folder.mkdir()
    path = plain_project.folder / "journal.jsonl"
    with Journal(path, plan_sha(plain_project.cell, plain_project.environment), fresh=True):
        pass
    with path.open("ab") as stream:
        for token in ("", "x", f"{plain_project.cell.key.id}/{'0' * 16}"):
            event = {"event": "supervisor", "token": token, "temporary": str(precious), "running": "all", "t": 1e300}
            stream.write(json.dumps(event).encode() + b"\n")
        stream.write(b'{"event":"supervisor"}\n{"event":"ended"}\n{"event":"worker","pid":"\\ud800"}\n')
        stream.write(
            b'{"event":"collected","tests":[[1,2,3]],"gil":null}\n{"event":"hello"}\n' + b"[" * 100_000 + b"\n"
        )
    result = plain_project.run()
    assert result.status is Status.PASS
    assert outcomes(result) == {"test_a": "passed", "test_b": "passed"}
    assert precious.is_dir()
