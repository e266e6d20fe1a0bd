"""What the reports say of the GIL of a cell: after every test file, at the end, and which import changed it. Pure."""

from __future__ import annotations

from itertools import groupby

from runner.model.result import GilState
from runner.report.escape import first_line
from runner.report.grid import Line

_WORDS = {True: "on", False: "off", None: "unknown"}
_LIMIT = 120
_STRETCHES = 4


def gil_in_words(gil: GilState) -> str:
    """Everything that is known of it, such as (in one line).

    `asked default; off at start, off after tests/test_a.py, on after tests/test_b.py and 2 more files, on at end;
    switched on by the import of triton._C.libtriton in tests/test_b.py::test_x`
    """
    states = (f"{_WORDS[gil.enabled_at_start]} at start", gil_course(gil), f"{_WORDS[gil.enabled_at_end]} at end")
    parts = [f"asked {gil.requested.value}", ", ".join(filter(None, states))]
    if gil.enabled_by or (gil.enabled_by_test and gil.enabled_at_end):
        parts.append(f"switched on{_origin(gil)}")
    if gil.first_test_enabled and gil.first_test_enabled != gil.enabled_by_test and is_changing(gil):
        parts.append(f"the first test with it on was {first_line(gil.first_test_enabled, _LIMIT)}")
    return "; ".join(parts)


def gil_note(line: Line) -> str:
    """`the GIL was switched back on by the import of triton._C.libtriton in tests/test_add.py`; empty when it was not.

    Where some test files ran without it, it says which.
    """
    if line.result is None or not line.gil_came_back:
        return ""
    gil = line.result.gil
    course = f" ({gil_course(gil)})" if is_changing(gil) else ""
    return f"the GIL was switched back on{_origin(gil)}{course}"


def gil_course(gil: GilState) -> str:
    """The state after every test file, in the order in which they ran; empty where it could not have changed.

    `on after each of 5 test files`, or `off after tests/test_a.py, on after tests/test_b.py and 2 more files`.
    """
    files = gil.enabled_after_files
    if len(files) > 1 and not is_changing(gil):
        return f"{_WORDS[next(iter(files.values()))]} after each of {len(files)} test files"
    stretches = [(state, [file for file, _ in found]) for state, found in groupby(files.items(), lambda item: item[1])]
    said = [f"{_WORDS[state]} after {_named(found)}" for state, found in stretches[:_STRETCHES]]
    rest = len(stretches) - _STRETCHES
    return ", ".join(said) + (f", and it changed {rest} more time{'' if rest == 1 else 's'}" if rest > 0 else "")


def is_changing(gil: GilState) -> bool:
    """Whether some test files ended with the GIL on and some with it off."""
    return len(set(gil.enabled_after_files.values())) > 1


def _named(files: list[str]) -> str:
    first = first_line(files[0], _LIMIT)
    rest = len(files) - 1
    return first + (f" and {rest} more file{'' if rest == 1 else 's'}" if rest else "")


def _origin(gil: GilState) -> str:
    by = f" by the import of {first_line(gil.enabled_by, _LIMIT)}" if gil.enabled_by else ""
    return by + (f" in {first_line(gil.enabled_by_test, _LIMIT)}" if gil.enabled_by_test else "")
