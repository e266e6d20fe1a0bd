"""From the ledger to the cell's result: entries in order, the status, and the sentence that gives the reason. Pure."""

from __future__ import annotations

from runner.execution.gil import follow_tests
from runner.execution.ledger import SESSION, Ledger
from runner.model.plan import PlannedCell
from runner.model.result import Attempt, CellResult, TestResult, count_outcomes
from runner.model.words import GilMode, Outcome, Status

_USAGE_ERROR = 4


def read_result(
    ledger: Ledger, cell: PlannedCell, *, plan_sha: str, started: str, seconds: float, journal_lost: str | None
) -> CellResult:
    """Put together what became of a cell.

    Args:
        ledger: when no worker runs any more.
        cell: as planned.
        plan_sha: see `CellResult`.
        started: ISO 8601, UTC.
        seconds: wall time.
        journal_lost: why the journal is not whole, or None.
    """
    tests = _entries(ledger)
    status, reason = _judge(ledger, tests)
    if journal_lost is not None:
        note = f"the journal could not be written to disk ({journal_lost})"
        reason = f"{reason}; {note}" if reason else note
    return CellResult(
        cell=cell.key,
        environment=ledger.observed,
        gil=follow_tests(ledger.gil, tests),
        status=status,
        reason=reason,
        planned=len(tests),
        tests=tests,
        workers=tuple(ledger.workers),
        started=started,
        seconds=round(seconds, 3),
        plan_sha=plan_sha,
    )


def _entries(ledger: Ledger) -> tuple[TestResult, ...]:
    """Files that could not be collected, then tests in the order of collection, then the session's own trouble."""
    found = [_entry(file, attempts, file) for file, attempts in ledger.entries.items()]
    names = {entry.id for entry in found}
    unfinished = _why_unfinished(ledger)
    for number, test in enumerate(ledger.planned or ()):
        attempts = ledger.attempts.get(number)
        if attempts is None:
            message = ledger.missing.get(number) or unfinished
            attempts = [Attempt(outcome=Outcome.NOT_RUN, message=message)]
        name = test.id if test.id not in names else f"{test.id}#test"
        found.append(_entry(name, attempts, test.file, test.line))
    if ledger.session:
        found.append(_entry(SESSION, ledger.session, None))
    return tuple(found)


def _entry(name: str, attempts: list[Attempt], file: str | None, line: int | None = None) -> TestResult:
    return TestResult(id=name, outcome=attempts[0].outcome, file=file, line=line, attempts=tuple(attempts))


def _why_unfinished(ledger: Ledger) -> str:
    if ledger.over is not None:
        return ledger.over
    last = ledger.workers[-1].reason if ledger.workers else "no process came up"
    return f"no worker process could get to this test; the last one: {last}"


def _judge(ledger: Ledger, tests: tuple[TestResult, ...]) -> tuple[Status, str | None]:
    if ledger.hello is None:
        return Status.NO_RESULT, f"the tested Python did not come up: {_last_words(ledger)}"
    if ledger.unready is not None and not tests:
        return Status.NO_RESULT, ledger.unready
    gone_wrong = list(filter(None, (_describe_bad(ledger, tests), _judge_gil(ledger))))
    if gone_wrong:
        return Status.FAIL, "; ".join(gone_wrong)
    unfinished = [test for test in tests if test.outcome is Outcome.NOT_RUN]
    reason = None
    if unfinished:
        reason = f"{len(unfinished)} of {len(tests)} tests were not run: {unfinished[0].attempts[0].message}"
    elif ledger.over is not None:
        reason = ledger.over
    elif not tests:
        reason = f"no test was collected: {_last_words(ledger)}"
    return (Status.PASS if reason is None else Status.NO_RESULT), reason


def _describe_bad(ledger: Ledger, tests: tuple[TestResult, ...]) -> str | None:
    """How many tests went wrong and in which way, or None when none did."""
    counts = count_outcomes(test.outcome for test in tests)
    bad = {outcome: count for outcome, count in counts.items() if outcome.is_bad}
    if not bad:
        return None
    if ledger.planned is None and ledger.session and not ledger.entries:
        return f"no test could be run: {ledger.session[0].message}"
    shown = ", ".join(f"{count} {outcome.value.replace('_', ' ')}" for outcome, count in bad.items())
    reason = f"{sum(bad.values())} of {len(tests)} went wrong: {shown}"
    if missing := counts.get(Outcome.NOT_RUN):
        reason += f"; {missing} not run: {_why_unfinished(ledger)}"
    return reason


def _judge_gil(ledger: Ledger) -> str | None:
    """Why the cell did not run as its GIL mode says, or None."""
    gil = ledger.gil
    by = f", switched on by {gil.enabled_by}" if gil.enabled_by else ""
    if gil.requested is GilMode.OFF and gil.enabled_at_end is not False:
        return f"the GIL was to be off but was on{by}"
    if gil.requested is GilMode.ON and gil.enabled_at_start is False:
        return "the GIL was to be on but was off"
    return None


def _last_words(ledger: Ledger) -> str:
    """What pytest or the interpreter printed last, as one line."""
    output = ledger.last_output.strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR", "E  ", "Error", "Fatal"))]
    if ledger.last_status == _USAGE_ERROR and errors:
        return errors[0]
    return (errors or lines or ["it said nothing"])[-1].removeprefix("E  ").strip()[:500]
