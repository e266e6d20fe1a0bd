"""What a worker is told to do, and the pure decision what the next worker has to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from runner.execution.ledger import Ledger

STALLS = 2
"""After so many workers in a row that brought nothing new the rest of a cell is given up."""


@dataclass(frozen=True)
class Orders:
    """One worker's work.

    Attributes:
        mode: `all` collects and runs everything; `rest` runs what an earlier worker left; `alone` repeats a suspect.
        arguments: for pytest.
        stack_signal: number of the signal that asks for the stacks of all threads.
        leave_out: files that ended a worker while they were collected; never imported again.
        files: the only files that need collecting, or None for all.
        remaining: id to number of the tests that are to run, or None for all that are collected.
        only: ids to which the first collection is narrowed, or None.
        race: `threads` and `rounds` when every test is to run in several threads at once, or None.
    """

    mode: str
    arguments: tuple[str, ...]
    stack_signal: int
    leave_out: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None
    remaining: dict[str, int] | None = None
    only: tuple[str, ...] | None = None
    race: dict[str, int] | None = None

    def to_json(self) -> str:
        """As the worker reads them (ASCII, so that any text survives)."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Work:
    """What is left to do, without how it is told."""

    mode: str
    numbers: tuple[int, ...] | None = None


def next_work(ledger: Ledger) -> Work | None:
    """Decide what the next worker has to do; None when a worker has nothing to do or nothing to hope for.

    Suspects are not counted here: see `next_suspect`.
    """
    if ledger.over is not None or ledger.stalls >= STALLS:
        return None
    if ledger.planned is None:
        return None if ledger.gave_up is not None else Work("all")
    remaining = ledger.remaining()
    dangerous = [number for number in remaining if ledger.is_dangerous(number)]
    if dangerous:
        return Work("rest", (dangerous[0],))
    return Work("rest", tuple(remaining)) if remaining else None


def next_suspect(ledger: Ledger, most: int) -> Work | None:
    """The next test that crashed or hung and has not yet run again alone; None when there is none, or enough did."""
    if ledger.over is not None or ledger.planned is None or len(ledger.retried) >= most:
        return None
    for number in ledger.suspects():
        if number not in ledger.retried:
            return Work("alone", (number,))
    return None


def give_orders(
    work: Work,
    ledger: Ledger,
    arguments: tuple[str, ...],
    stack_signal: int,
    only: tuple[str, ...] | None,
    files: tuple[str, ...] | None = None,
) -> Orders:
    """Put the work into a worker's words.

    Args:
        work: from `next_work` or `next_suspect`.
        ledger: with the tests' names and files.
        arguments: pytest's, as for the first worker.
        stack_signal: see `Orders`.
        only: see `Orders`.
        files: the only files that are collected, or None for all.
    """
    leave_out = tuple(ledger.left_out)
    if work.numbers is None:
        arguments = _without_named_tests(
            arguments, lambda file: file in ledger.left_out or (files is not None and file not in files)
        )
        return Orders(work.mode, arguments, stack_signal, leave_out, files, only=only)
    planned = ledger.planned or []
    remaining = {planned[number].id: number for number in work.numbers}
    their_files = {planned[number].id.split("::")[0] for number in work.numbers}
    arguments = _without_named_tests(arguments, lambda file: file not in their_files)
    return Orders(work.mode, arguments, stack_signal, leave_out, tuple(sorted(their_files)), remaining)


def _without_named_tests(arguments: tuple[str, ...], is_dropped: Callable[[str], bool]) -> tuple[str, ...]:
    """Drop arguments that name tests (`file::test`) of files that are not collected: pytest would not find them."""
    return tuple(
        argument
        for argument in arguments
        if argument.startswith("-") or "::" not in argument or not is_dropped(argument.split("::")[0])
    )
