"""Helper programs end, with everything they started, and say how."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runner.environment.process import run
from tests.integration.environment.conftest import ends


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def test_output_and_errors_come_together_and_the_end_is_kept() -> None:
    finished = run(python("import sys; print('x' * 10**6, flush=True); print('end', file=sys.stderr)"), timeout=60)
    assert finished.code == 0
    assert len(finished.output) <= 65_536
    assert finished.last_lines(1) == "end"


def test_long_lines_are_cut() -> None:
    assert run(python("print('x' * 1000)"), timeout=60).last_lines(1) == "x" * 400 + "..."


def test_a_signal_has_its_name() -> None:
    assert run(python("import os; os.abort()"), timeout=60).end == "was killed by SIGABRT"


def test_what_a_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "pathlib.Path(sys.argv[1]).write_text(str(child.pid))\n"
    )
    assert run(python(code, str(tmp_path / "child")), timeout=60).code == 0
    assert ends(int((tmp_path / "child").read_text()))


def test_output_that_is_no_text_is_read() -> None:
    assert run(python("import os; os.write(1, b'\\xff\\x00 end')"), timeout=60).output == "\ufffd\x00 end"


def test_the_log_has_everything_and_ticks_come_while_it_runs(tmp_path: Path) -> None:
    release = tmp_path / "release"
    code = "import os, sys\nprint('x' * 200_000, flush=True)\nwhile not os.path.exists(sys.argv[1]): pass\n"
    ticks: list[float] = []

    def tick(seconds: float) -> None:
        ticks.append(seconds)
        release.touch()

    finished = run(python(code, str(release)), timeout=60, log=tmp_path / "log", every=0.05, tick=tick)
    assert finished.code == 0
    assert ticks
    assert (tmp_path / "log").stat().st_size == 200_001


def test_an_inherited_descriptor_stays_open_and_no_other_does(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as kept, (tmp_path / "b").open("w") as other:
        code = """if True:
            import os, sys
            for number in map(int, sys.argv[1:]):
                try:
                    os.fstat(number)
                    print("open")
                except OSError:
                    print("closed")
        """
        numbers = [str(kept.fileno()), str(other.fileno())]
        assert run(python(code, *numbers), timeout=60, inherit=[kept.fileno()]).output.split() == ["open", "closed"]


def test_an_interrupted_call_leaves_no_program(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    code = "import os, sys, time\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(1000)"

    def interrupt(_seconds: float) -> None:
        if started.exists() and started.read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(python(code, str(started)), timeout=60, every=0.01, tick=interrupt)
    assert ends(int(started.read_text()))
