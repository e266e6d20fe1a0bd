"""Several cells at once, each a process of its own; their lines come out whole and say whose they are."""

from __future__ import annotations

import argparse
import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from runner.commands.interrupts import STOP_SECONDS, dying_with_parent, interruptible
from runner.execution.assignment import usable_gpus
from runner.execution.gpus import Survey, survey_gpus
from runner.model.plan import Plan

AUTO = "auto"
_LINE_BYTES = 65_536


def jobs_option(text: str) -> int | str:
    """The value of --jobs: a number from 1, or `auto`.

    Raises:
        argparse.ArgumentTypeError: it is neither.
    """
    if text == AUTO:
        return AUTO
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 1 nor {AUTO!r}")


def choose_jobs(
    wanted: int | str, plan: Plan, variables: Mapping[str, str], survey: Callable[[], Survey] = survey_gpus
) -> int:
    """How many cells run at once: as many as was asked for, or with `auto` one for each GPU that any of them can use.

    Args:
        wanted: see `jobs_option`.
        plan: the cells.
        variables: of this process; CUDA_VISIBLE_DEVICES bounds the GPUs.
        survey: what this machine has.
    """
    if isinstance(wanted, int):
        return min(wanted, max(1, len(plan.cells)))
    needs = {cell.settings.gpu for cell in plan.cells if cell.settings.gpu.compute_capability is not None}
    if not needs:
        return 1
    found = survey()
    usable = {gpu.uuid for need in needs for gpu in usable_gpus(found, need, variables)}
    return max(1, min(len(usable), len(plan.cells)))


@dataclass
class _Running:
    """A started command, the descriptor of its output, and the beginning of a line that is not whole yet."""

    name: str
    process: subprocess.Popen[bytes]
    output: int
    death: int
    torn: bytes = field(default=b"")


def run_side_by_side(
    commands: Iterable[tuple[str, Sequence[str]]], jobs: int, say: Callable[[str], None]
) -> dict[str, int]:
    """Run commands, at most `jobs` at once, and pass each line that they write on, with the name in front.

    An exception, such as an interrupt, stops all that run before it goes on. Should this process be killed, the kernel
    interrupts them. Call it from the thread that lives longest: for the kernel, that one is the parent.

    Args:
        commands: pairs of a name and the words of a command.
        jobs: from 1.
        say: takes one line.

    Returns:
        Exit status by name; negative for a signal.
    """
    waiting = list(commands)
    total = len(waiting)
    waiting.reverse()
    running: dict[int, _Running] = {}
    statuses: dict[str, int] = {}
    with interruptible(), selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    started = _start(*waiting.pop())
                    running[started.death] = started
                    selector.register(started.output, selectors.EVENT_READ, started)
                    selector.register(started.death, selectors.EVENT_READ, started)
                for key, _ in selector.select():
                    one: _Running = key.data
                    if key.fd == one.output:
                        if not _pass_on(one, say):
                            selector.unregister(one.output)
                    else:
                        if one.output in selector.get_map():
                            selector.unregister(one.output)
                        selector.unregister(one.death)
                        statuses[one.name] = _bury(running.pop(one.death), say)
                        say(f"{len(statuses)} of {total} cells are finished")
        except BaseException:
            _stop(list(running.values()))
            raise
    return statuses


def _start(name: str, words: Sequence[str]) -> _Running:
    output, end = os.pipe()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=end,
            stderr=end,
            start_new_session=True,  # an interrupt of the terminal comes to us alone, and we pass it on once
            preexec_fn=dying_with_parent(signal.SIGINT),  # noqa: PLW1509 - between fork and exec it takes no lock
        )
    except BaseException:
        os.close(output)
        raise
    finally:
        os.close(end)
    os.set_blocking(output, False)
    return _Running(name, process, output, os.pidfd_open(process.pid))


def _pass_on(one: _Running, say: Callable[[str], None]) -> bool:
    """Say the whole lines that are there; False at the end of the output."""
    try:
        data = os.read(one.output, _LINE_BYTES)
    except BlockingIOError:
        return True
    *lines, one.torn = (one.torn + data).split(b"\n")
    if len(one.torn) > _LINE_BYTES:
        lines, one.torn = [*lines, one.torn], b""
    for line in lines:
        say(_line(one.name, line))
    return bool(data)


def _bury(one: _Running, say: Callable[[str], None]) -> int:
    """Say what an ended command said last, and take its status. What it left running may hold the output open."""
    while True:
        try:
            data = os.read(one.output, _LINE_BYTES)
        except BlockingIOError:
            break
        if not data:
            break
        one.torn += data
    for line in filter(None, one.torn.split(b"\n")):
        say(_line(one.name, line))
    os.close(one.output)
    os.close(one.death)
    return one.process.wait()


def _line(name: str, line: bytes) -> str:
    return f"{name} | {line.decode('utf-8', 'backslashreplace').rstrip()}"


def _stop(running: Sequence[_Running]) -> None:
    """Interrupt commands, so that they end what they started; kill those that take long, or on another interrupt."""
    for one in running:
        with contextlib.suppress(ProcessLookupError):
            one.process.send_signal(signal.SIGINT)
    until = time.monotonic() + STOP_SECONDS
    try:
        for one in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(max(0.0, until - time.monotonic()))
    finally:
        for one in running:
            if one.process.poll() is None:
                one.process.kill()
            one.process.wait()
            os.close(one.output)
            os.close(one.death)
