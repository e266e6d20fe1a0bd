"""What stops a run: SIGTERM and SIGHUP as Ctrl-C, told twice is told once, passed on to a child that may finish."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from runner.commands.interrupts import TerminatedError, interruptible, run_child

OUTER = """
import sys
from runner.commands import interrupts
interrupts.STOP_SECONDS = float(sys.argv[1])
try:
    interrupts.run_child([sys.executable, "-c", sys.argv[2]])
except KeyboardInterrupt as stop:
    print(repr(stop), flush=True)
"""
SLOW = """
import os, signal, sys, time
def stop(number, frame):
    time.sleep(0.3)
    print("stopped by", signal.Signals(number).name, flush=True)
    sys.exit()
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, stop)
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""
DEAF = SLOW.replace("signal.signal(each, stop)", "signal.signal(each, signal.SIG_IGN)")


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    for number, handler in before.items():
        signal.signal(number, handler)


REPRS = {
    signal.SIGINT: "KeyboardInterrupt()",
    signal.SIGTERM: "TerminatedError('SIGTERM')",
    signal.SIGHUP: "TerminatedError('SIGHUP')",
}


@pytest.mark.parametrize("number", REPRS)
def test_each_signal_interrupts_and_is_known_afterwards(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt) as raised, interruptible():
        signal.raise_signal(number)
    assert repr(raised.value) == REPRS[number]
    assert getattr(raised.value, "how", signal.SIGINT) is number


def test_what_is_told_twice_interrupts_once_and_what_comes_later_again(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([10.0, 10.5, 12.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    cleaned = []
    with interruptible():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        cleaned.append("in peace")
        with pytest.raises(TerminatedError):
            signal.raise_signal(signal.SIGTERM)
    assert cleaned == ["in peace"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=["as-in-the-background", "as-with-nohup"])
def test_what_is_ignored_stays_ignored(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_IGN
    signal.signal(number, before)


def test_in_another_thread_nothing_changes() -> None:
    seen = []

    def look() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


def test_the_exit_status_is_the_childs() -> None:
    assert run_child([sys.executable, "-c", "raise SystemExit(7)"]) == 7
    assert run_child([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]) == -9


@pytest.mark.parametrize("number", REPRS)
def test_a_child_is_told_and_waited_for(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", OUTER, "60", SLOW], stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        outer.stdout.readline()
        outer.send_signal(number)
        said = outer.stdout.read().splitlines()
    assert said == [f"stopped by {number.name}", REPRS[number]]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_that_hears_nothing_is_killed_and_one_that_lost_us_is_told(how: signal.Signals) -> None:
    script = DEAF if how is signal.SIGTERM else SLOW
    with subprocess.Popen([sys.executable, "-c", OUTER, "0.1", script], stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        death = os.pidfd_open(int(outer.stdout.readline()))
        outer.send_signal(how)
        assert select.select([death], [], [], 30)[0], "the child is left"
        os.close(death)
        said = outer.stdout.read()
    assert said == ("TerminatedError('SIGTERM')\n" if how is signal.SIGTERM else "stopped by SIGTERM\n")
