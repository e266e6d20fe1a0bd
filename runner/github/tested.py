"""What was tested and compared with what, in words and addresses, from the run and its documents."""

from __future__ import annotations

from datetime import datetime

from runner.github.body import Tested
from runner.github.documents import Documents
from runner.github.event import Context
from runner.github.since import Compared, age_in_words
from runner.model.baseline import Baseline, Origin
from runner.model.words import VerdictWord
from runner.report.escape import first_line, line, prose

_MOST_REMARKS = 4


def describe(context: Context, documents: Documents, now: datetime) -> Tested:
    """What was tested, in words and addresses."""
    remarks = []
    baseline = documents.baseline or Baseline()
    if context.event == "workflow_run" and context.is_fork:
        remarks.append("This result was made by a run of a fork's code; that run's own job is what decides.")
    if context.conclusion not in {None, "success"} and documents.verdict.verdict is VerdictWord.PASS:
        remarks.append(
            f"The run ended with `{line(str(context.conclusion), 40).replace('`', '')}` although its result says PASS: "
            "believe the run."
        )
    if documents.remarks:
        count = len(documents.remarks)
        remarks.append(
            f"{count} result{' is' if count == 1 else 's are'} there that cannot be used; see the job's log."
        )
    remarks += [prose(first_line(remark, 500), 600) for remark in baseline.remarks[:_MOST_REMARKS]]
    return Tested(
        head=context.head,
        head_url=context.commit_url(context.head),
        base=context.base,
        base_url=context.commit_url(context.base) if context.base else None,
        run=f"run {context.number}, attempt {context.attempt}",
        run_url=context.run_url,
        # A run that compared with nothing has no changes to tell, whatever lies beside it.
        baseline=_compared(context, baseline.origin, now) if documents.verdict.changes is not None else None,
        remarks=tuple(remarks),
    )


def _compared(context: Context, origin: Origin | None, now: datetime) -> Compared | None:
    if origin is None:
        return None
    url = context.commit_url(origin.commit) if origin.commit else ""
    return Compared(origin, url, age_in_words(origin.made, now))
