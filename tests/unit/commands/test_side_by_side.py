"""Several processes at once: their lines whole and named, their ends known, none left behind."""

from __future__ import annotations

import argparse
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.commands.side_by_side import choose_jobs, jobs_option, run_side_by_side
from runner.execution.gpus import GpuState, Survey
from runner.model.cell import CellKey
from runner.model.plan import GpuNeed, Plan, PlannedCell, PlannedEnvironment, Settings
from runner.model.words import GilMode

RUN = """
import sys
from runner.commands.side_by_side import run_side_by_side
commands = [(name, [sys.executable, "-c", sys.argv[1]]) for name in sys.argv[2:]]
try:
    run_side_by_side(commands, 2, lambda line: print(line, flush=True))
except KeyboardInterrupt:
    sys.exit(130)
"""
WAITS = """
import os, signal
print(os.getpid(), flush=True)
signal.pause()
"""


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def planned(*needs: GpuNeed) -> Plan:
    cells = tuple(
        PlannedCell(
            key=CellKey(id=f"cell-{number}", python="3.12", gil=GilMode.ON, triton=None, torch=None),
            environment="e",
            settings=Settings(gpu=need),
        )
        for number, need in enumerate(needs)
    )
    return Plan(
        matrix="m",
        matrix_file="m.yml",
        matrix_sha256="0",
        root="/",
        created="now",
        tool="0",
        gil_modes=(GilMode.ON,),
        environments=(PlannedEnvironment(id="e", python="3.12", triton=None, torch=None, fingerprint="f"),),
        cells=cells,
    )


def gpus(*capabilities: str) -> Survey:
    return Survey(gpus=tuple(GpuState(n, f"GPU-{n}", "NVIDIA", each) for n, each in enumerate(capabilities)))


SM90, NONE = GpuNeed(compute_capability="9.0"), GpuNeed()


@pytest.mark.parametrize(
    ("wanted", "plan", "machine", "expected"),
    [
        (3, planned(NONE, NONE, NONE, NONE), gpus(), 3),
        (9, planned(NONE, NONE), gpus(), 2),
        ("auto", planned(SM90, SM90, SM90), gpus("9.0", "9.0", "7.5"), 2),
        ("auto", planned(SM90), gpus("9.0", "9.0"), 1),
        ("auto", planned(SM90, SM90), gpus(), 1),
        ("auto", planned(NONE, NONE), gpus("9.0", "9.0"), 1),
        ("auto", planned(SM90, GpuNeed(compute_capability="7.5")), gpus("9.0", "7.5"), 2),
    ],
)
def test_auto_is_one_cell_for_each_usable_gpu(wanted: int | str, plan: Plan, machine: Survey, expected: int) -> None:
    assert choose_jobs(wanted, plan, {}, lambda: machine) == expected


def test_auto_respects_what_is_visible() -> None:
    variables = {"CUDA_VISIBLE_DEVICES": "1"}
    assert choose_jobs("auto", planned(SM90, SM90), variables, lambda: gpus("9.0", "9.0")) == 1


@pytest.mark.parametrize("text", ["0", "-1", "many", "", "1.5"])
def test_jobs_are_a_number_or_auto(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is neither a number from 1 nor 'auto'"):
        jobs_option(text)
    assert (jobs_option("4"), jobs_option("auto")) == (4, "auto")


def test_lines_are_whole_and_named_and_statuses_are_kept() -> None:
    said: list[str] = []
    commands = [
        ("one", script("import os\nfor part in (b'first ', b'line\\nsecond', b' line\\nno end'): os.write(1, part)")),
        ("two", script("import sys; print('to stderr', file=sys.stderr); sys.exit(3)")),
        ("bytes", script("import os; os.write(1, b'\\xff\\n')")),
        ("dies", script("import os; os.kill(os.getpid(), 9)")),
    ]
    statuses = run_side_by_side(commands, 2, said.append)
    assert statuses == {"one": 0, "two": 3, "bytes": 0, "dies": -9}
    assert [line for line in said if line.startswith("one | ")] == [
        "one | first line",
        "one | second line",
        "one | no end",
    ]
    assert "two | to stderr" in said
    assert "bytes | \\xff" in said
    assert [line for line in said if line.endswith("finished")] == [f"{n} of 4 cells are finished" for n in range(1, 5)]


def test_as_many_run_at_once_as_is_said_and_no_more(tmp_path: Path) -> None:
    """Each of the first two waits for the other; the third starts when one of them has ended."""
    for name in ("a", "b"):
        os.mkfifo(tmp_path / name)
    meet = "import sys\nfrom pathlib import Path\nhere = Path(sys.argv[1])\n"
    commands = [
        ("first", [*script(meet + "(here / 'a').write_text('x'); (here / 'b').read_text()"), str(tmp_path)]),
        ("second", [*script(meet + "(here / 'a').read_text(); (here / 'b').write_text('x')"), str(tmp_path)]),
        ("third", script("pass")),
    ]
    said: list[str] = []
    assert run_side_by_side(commands, 2, said.append) == {"first": 0, "second": 0, "third": 0}


def test_an_output_that_a_daemon_holds_open_does_not_hold_up_the_end() -> None:
    daemon = "import os, signal\npid = os.fork()\nif pid == 0:\n    os.setsid(); signal.pause()\nprint(pid)"
    said: list[str] = []
    assert run_side_by_side([("one", script(daemon))], 1, said.append) == {"one": 0}
    os.kill(int(said[0].removeprefix("one | ")), signal.SIGKILL)


@pytest.mark.parametrize(
    ("how", "outer"),
    [
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.default_int_handler),
        (signal.SIGKILL, signal.default_int_handler),
        (signal.SIGKILL, signal.SIG_IGN),  # as a shell starts what runs in the background
    ],
)
def test_no_command_outlives_its_starter(how: signal.Signals, outer: Any) -> None:
    before = signal.signal(signal.SIGINT, outer)
    try:
        words = [*script(RUN), WAITS, "one", "two"]
        starter = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert starter.stdout is not None
    pids = [int(starter.stdout.readline().partition(" | ")[2]) for _ in range(2)]
    deaths = [os.pidfd_open(pid) for pid in pids]
    starter.send_signal(how)
    with selectors.DefaultSelector() as selector:
        for death in deaths:
            selector.register(death, selectors.EVENT_READ)
        while selector.get_map():
            ended = selector.select(30)
            assert ended, "a command is left"
            for key, _ in ended:
                selector.unregister(key.fd)
                os.close(key.fd)
    starter.communicate()
    assert starter.returncode == (-how if how is signal.SIGKILL else 130)
