"""What the reports say about a cell, a test and a machine: the same words in every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.model.plan import Plan
from runner.model.result import Attempt, CellResult, TestResult
from runner.model.words import Outcome, Status
from runner.report.escape import first_line
from runner.report.gil import gil_course, gil_note, is_changing
from runner.report.grid import Line
from runner.verdict.cell_status import outcome_of

_SYMBOLS = {
    Status.PASS: "✅",
    Status.FAIL: "❌",
    Status.UNAVAILABLE: "⬜",
    Status.INFRA: "⚠️",
    Status.NO_RESULT: "❔",
}
MARKS = {Status.PASS: "✓", Status.FAIL: "✗", Status.UNAVAILABLE: "-", Status.INFRA: "!", Status.NO_RESULT: "?"}
"""For places whose fonts may have no pictures."""
_SKIP_REASONS = 2
_SM90 = "9.0"


def status_word(status: Status) -> str:
    """`no result` for `no_result`."""
    return status.value.replace("_", " ")


def outcome_word(outcome: Outcome) -> str:
    """`timed out` for `timed_out`."""
    return outcome.value.replace("_", " ")


def symbol(line: Line) -> str:
    """The picture that stands beside the word, never instead of it."""
    return "☑️" if line.verdict.expected else _SYMBOLS[line.verdict.status]


def mark(line: Line) -> str:
    """The same as one character that every font has."""
    return MARKS[line.verdict.status]


def short(line: Line) -> str:
    """What stands in the table: `pass 16, 8 skipped`, `fail 2 of 24`, `expected fail 2 of 24`, `unavailable`."""
    word = status_word(line.verdict.status)
    if line.verdict.status is Status.PASS:
        others = sum(line.verdict.counts.values()) - line.skipped
        skipped = f", {line.skipped} skipped" if line.skipped else ""
        return f"{word} {others}{skipped}" + (", GIL back on" if line.gil_came_back else "")
    if line.verdict.status is Status.FAIL:
        count = f" {line.bad} of {line.total}" if line.bad else ""
        return f"{'expected ' if line.verdict.expected else ''}{word}{count}"
    return word


def own_triton(line: Line) -> str | None:
    """The Triton that a named environment turned out to have; None where the plan says it."""
    seen = line.result.environment if line.result else None
    return seen.triton if line.key.triton is None and seen else None


def counts_in_words(line: Line) -> str:
    """`22 passed, 1 failed, 1 crashed of 24`; empty when nothing came back."""
    counts = line.verdict.counts
    said = ", ".join(f"{count} {outcome_word(outcome)}" for outcome, count in counts.items())
    return said + (f", of {line.total} planned" if said and sum(counts.values()) != line.total else "")


def why(line: Line) -> str:
    """Why a cell is not a plain pass: its reason, its GIL and what its skips say; empty for a plain pass."""
    reason = first_line(line.verdict.reason)
    if "switched on by" not in reason:
        reason = "; ".join(filter(None, (reason, gil_note(line))))
    elif line.result is not None and is_changing(line.result.gil):  # the judge's reason for an `off` cell said the rest
        reason += f" ({gil_course(line.result.gil)})"
    if not line.skipped or line.result is None or line.verdict.status is Status.NO_RESULT:
        plain = line.is_plain_pass or line.verdict.status is not Status.PASS
        return reason or ("" if plain else counts_in_words(line))
    skips = skip_reasons(line.result)
    passed = f"{line.verdict.counts.get(Outcome.PASSED, 0)} passed, " if line.verdict.status is Status.PASS else ""
    lead = f"{passed}{line.skipped} skipped"
    if reason.startswith(skips) and line.verdict.status is Status.PASS:  # the reason says it and more
        return f"{lead}: {reason}" if reason else lead
    said = f"{lead}: {skips}" if skips else lead
    return f"{reason}; {said}" if reason else said


def skip_reasons(result: CellResult) -> str:
    """`no SM90 GPU here`, or the commonest reasons with their counts."""
    said_by = Counter(
        test.attempts[0].message for test in result.tests if test.outcome is Outcome.SKIPPED and test.attempts
    )
    found = Counter[str]()
    for message, count in said_by.items():
        found[first_line((message or "no reason given").removeprefix("Skipped: "), 120)] += count
    if len(found) <= 1:
        return next(iter(found), "")
    said = [f"{reason} ({count})" for reason, count in found.most_common(_SKIP_REASONS)]
    rest = len(found) - _SKIP_REASONS
    return ", ".join(said) + (f" and {rest} other reason{'' if rest == 1 else 's'}" if rest > 0 else "")


def failures(line: Line) -> Iterator[TestResult]:
    """The tests of a cell that went wrong, and those that were planned and did not run, in the order of collection."""
    if line.result is None:
        return
    for test in line.result.tests:
        outcome = outcome_of(test)
        if outcome.is_bad or outcome is Outcome.NOT_RUN:
            yield test


def telling_attempt(test: TestResult) -> Attempt | None:
    """The attempt that shows best what went wrong: the first bad one, else the first."""
    return next((one for one in test.attempts if one.outcome.is_bad), test.attempts[0] if test.attempts else None)


def attempts_in_words(test: TestResult) -> str:
    """`crashed with SIGSEGV in call`, or for several attempts `3 attempts: crashed with SIGSEGV, passed, passed`."""
    said = [attempt_in_words(one) for one in test.attempts]
    if len(said) > 1:
        return f"{len(said)} attempts: {', '.join(said)}"
    return said[0] if said else outcome_word(outcome_of(test))


def attempt_in_words(one: Attempt) -> str:
    """`crashed with SIGSEGV in setup`."""
    how = (
        f" with {one.signal}" if one.signal else f" with exit code {one.exit_code}" if one.exit_code is not None else ""
    )
    phase = f" in {one.phase}" if one.phase and one.phase != "call" and one.outcome.is_bad else ""
    return first_line(f"{outcome_word(one.outcome)}{how}{phase}")


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of machine that cells ran on, with how many did."""

    text: str
    cells: int


def machines(plan: Plan, lines: Sequence[Line]) -> tuple[Machine, ...]:
    """What the machines were, the commonest first; the words say when nothing of it was an SM90 GPU."""
    wanted = {cell.key.id: cell.settings.gpu.compute_capability or _SM90 for cell in plan.cells}
    found = Counter(
        _machine(line.result, wanted[line.key.id]) for line in lines if line.result and line.result.environment
    )
    return tuple(Machine(text, count) for text, count in found.most_common())


def _machine(result: CellResult, wanted: str) -> str:
    seen = result.environment
    if seen is None:
        return "unknown"
    architecture = f"SM{wanted.replace('.', '')}"
    gpus = Counter(f"{gpu.name} (SM{(gpu.compute_capability or '?').replace('.', '')})" for gpu in seen.gpus)
    cards = ", ".join(f"{count} x {name}" if count > 1 else name for name, count in gpus.items())
    if any(gpu.compute_capability == wanted for gpu in seen.gpus):
        parts = [cards]
    else:
        parts = [f"no {architecture} GPU here: compiled for {architecture}, not run"]
        parts += [f"the GPU here is {cards}"] if cards else []
    parts += [f"driver {seen.driver}"] if seen.driver else []
    parts += [seen.platform] if seen.platform else []
    return "; ".join(parts)


def duration(seconds: float) -> str:
    """`3.2 s`, `4 min 10 s`, `2 h 05 min`; seconds in."""
    if not seconds >= 0 or seconds == float("inf"):
        return "?"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"
