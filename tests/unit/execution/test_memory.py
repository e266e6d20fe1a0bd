"""Memory as it is held by real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from runner.execution.memory import MemoryGauge, count_memory_kills, held_bytes, show_bytes

SIZE = 60_000_000
# A process that holds little, whose child holds much and has forked another that shares it.
NEST = f"""
import os, subprocess, sys
inner = '''
import os, sys
much = b"x" * {SIZE}
if os.fork():
    print("ready", flush=True)
sys.stdin.read()
'''
subprocess.run([sys.executable, "-c", inner])
"""


@pytest.fixture
def nest() -> Iterator[int]:
    """Pid of the outermost of three processes."""
    words = [sys.executable, "-c", NEST]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == "ready\n"
        yield outer.pid
        assert outer.stdin is not None
        outer.stdin.close()


def test_descendants_count_and_shared_pages_count_once_in_the_exact_sum(nest: int) -> None:
    quick, exact = held_bytes(nest, exact=False), held_bytes(nest, exact=True)
    assert quick > 2 * SIZE
    assert SIZE < exact < quick - SIZE / 2


def test_the_exact_sum_decides(nest: int) -> None:
    assert MemoryGauge(nest, int(1.9 * SIZE)).look() is None, "the shared pages were counted twice"
    said = MemoryGauge(nest, SIZE // 2).look()
    assert said is not None
    assert said.startswith(f"used more than the memory limit of {show_bytes(SIZE // 2)}: it held ")


def test_a_look_that_is_not_due_is_not_taken(nest: int) -> None:
    gauge = MemoryGauge(nest, 1)
    assert gauge.look() is not None
    assert gauge.look() is None
    assert gauge.due < float("inf")


def test_without_a_limit_nobody_looks() -> None:
    gauge = MemoryGauge(os.getpid(), None)
    assert gauge.due == float("inf")
    assert gauge.look() is None


def test_a_process_that_is_gone_holds_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    assert held_bytes(process.pid, exact=False) == held_bytes(process.pid, exact=True) == 0


def test_sizes_are_written_as_people_do() -> None:
    assert [show_bytes(size) for size in (8 * 2**30, 3 * 2**29, 300 * 2**20, 2**19)] == [
        *("8 GiB", "1.5 GiB"),
        *("300 MiB", "0.5 MiB"),
    ]


def test_the_kernel_says_how_often_it_killed() -> None:
    count = count_memory_kills()
    assert count is None or count >= 0
