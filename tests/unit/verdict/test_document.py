"""docs/attribution.md is what the code says: it is made here, from the table and the examples.

Set UPDATE_DOCUMENTS=1 to write it anew after a change, and read the difference.
"""

# ruff: noqa: E501 - the rows of a Markdown table cannot be broken

from __future__ import annotations

import os
from pathlib import Path

from runner.evidence.pattern import MOST_REPEATS, MOST_STEPS
from runner.evidence.rulefile import built_in
from runner.evidence.signatures import Category
from runner.evidence.statistics import LIKELY_P, PROVEN_P, PROVEN_TRIALS, repeats_needed
from runner.evidence.trace import MAX_TEXT
from runner.verdict.attribution import attribute
from runner.verdict.table import TABLE
from tests.unit.verdict.examples import EXAMPLES

DOCUMENT = Path(__file__).parents[3] / "docs" / "attribution.md"
INTRODUCTION = f"""# From failures to causes

A verdict without a contrast is a guess. This page is the whole rule by which `triton-compat judge` names a cause. It is
made from the code by a test, so the two cannot differ.

## How a failure becomes a finding

1. Failures with one root are one finding: the same signature, the same exception or signal, the same innermost frame,
   the same message after addresses, numbers and paths are taken out. A test that fails in the same process after a
   CUDA context was lost is secondary and belongs to the finding of what lost it.
2. Each contrast changes one factor: the GIL mode, the build, the Python version, the Triton version, the cache, the
   company of other tests, the commit. Cells of one matrix that differ in one factor are contrasts already. A torch that
   pins its Triton changes with it: the two are one axis. Cells whose other packages or settings differ make none.
3. Contrasts of the same factor to the same value are pooled over cells; a side that several share counts once. Where the
   matrix is the contrast, cells that have the same value and passed count as well: only to look at those that failed
   would make luck look like a rule.
4. The first row of the table below that fits gives the cause.

A signature is a lead. It orders the experiments and chooses a name where a contrast has shown that there is something to
name. Alone it gives a cause only when the text itself states the fact (no compiler, a number over a limit), and then at
most `likely`.

## How sure

Confidence is computed from k of n failures on both sides with Fisher's exact test, one-sided, times the number of factors
tried (Bonferroni), and, where the cells of the matrix alone are the contrast, times the number of values among which the
one without the failure was found. A coin thrown in each of 64 cells is then proven to have a cause in less than 1 of 100 matrices.

| word | rule |
|---|---|
| proven | p is at most {PROVEN_P}, counting attempts in one process as one, with at least {PROVEN_TRIALS} such trials on each side |
| likely | p is at most {LIKELY_P}, with attempts counted either way |
| cannot tell | everything else |

A failure that is certain is proven by {repeats_needed(1)} of {repeats_needed(1)} against 0 of {repeats_needed(1)} when one
factor was tried, and by {repeats_needed(8)} of {repeats_needed(8)} against 0 of {repeats_needed(8)} when eight were.
An attempt that failed in another way on the changed side counts as failed: it does not show a cure. Skipped tests count
as nothing. Of a failure that comes and goes by itself only a proven contrast counts, for it is also gone by chance.
Where a failure was repeated under the same conditions, the repetitions stand in for the run that was looked at because
it failed. A factor is ruled out when the same root is there with the factor changed. Rates come with the
Clopper-Pearson interval at 95 %, and with the number of repeats that show the failure at least once with 95 %.

## Whose

"Triton's" is said where the control shows the same signature, or where a contrast across Triton versions decides it.
"The project's" is said only where the control is green in every cell of the finding, and never as proven: no control
covers all of Triton. The control is green when something of it ran and nothing failed, except parts whose failures carry
a known signature that is not this finding's. Without the control nothing is said about whose a failure is.
"""
RULE_FILES = """## Signatures of your own

Name a rule file in the matrix file, `signatures: rules.yml` (a path from the project's root, or a list of them): its text goes
with the plan, to whichever machine makes the verdict. `triton-compat judge --rules FILE`, `experiment --rules FILE` and
`bisect --rules FILE` read one more file, to try a rule on results that are there.

A rule file is YAML, a list like the shipped `runner/evidence/signatures.yml`. Your rules are read first, and one with the id
of a shipped rule replaces it; of several files the last one goes first, and those of the command line before all others.

| field | meaning |
|---|---|
| `id` | small letters, digits and `-` |
| `categories` | the most usual first: {categories} |
| `patterns` | regular expressions; any of them makes a match, and the earliest place in the log wins over other rules |
| `also`, `without` | all of these must be found near that place; none of these may be in the text |
| `apart` | what tells failures with this signature apart: the first group of the first of them that fits anywhere |
| `crash_below` | fits the path of the file that was importing an extension module when the process died |
| `death` | `timed_out`, a signal such as `SIGKILL`, or `exit 137`: used where no text fits |
| `states` | `true` when the text itself states the fact |
| `sticky` | `true` when the process is lost for CUDA after it |
| `mark` | `true` when it marks a cell and is no failure |
| `meaning`, `next_step` | for people; `next_step` is something that a person can do |
| `sources`, `versions` | where it was seen |

Every repeat in a pattern needs an upper bound of at most {most_repeats} (`.{{0,300}}` in place of `.*`), and a pattern may not refer
back to a group. The ways of repeats and alternatives that follow or hold each other multiply; a pattern of yours that could
take more than {most_steps:,} steps at one place of a log is refused. So the time is linear in the length of the log, whatever
a test prints, and a log is read up to {most_text} KiB. Mistakes come all at once, each with its file, line and column, when the
plan is made.

| shipped signature | leads to | states the fact | seen in |
|---|---|---|---|
{rules}
"""

BOUNDS = {"most_repeats": MOST_REPEATS, "most_steps": MOST_STEPS, "most_text": MAX_TEXT // 1024}


def document() -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## The decision table\n"]
    parts.append("| row | conditions, all of them | cause | confidence |\n|---|---|---|---|")
    for row in TABLE:
        when = "; ".join(condition.words for condition in row.when) or "none of the above"
        cause = row.cause.value if row.cause else "what the signature points to"
        parts.append(f"| [{row.id}](#{row.id}) | {when} | {cause} | {row.proof.words} |")
    parts.append("\n## An example for each row\n")
    for example in EXAMPLES:
        parts.append(f"### {example.row}\n\n{example.story}\n")
        for finding in attribute(example.plan, example.results, example.contrasts):
            parts.append(f"> **{finding.cause.value}, {finding.confidence.value}**: {finding.title}\n>")
            parts += [f"> - {one.kind}: {one.text}" for one in finding.evidence]
            parts.append(f">\n> Next: {finding.next_step}\n")
    rules = "\n".join(
        f"| `{rule.id}` | {', '.join(rule.categories)} | {'yes' if rule.states else 'no'} | {', '.join(rule.sources)} |"
        for rule in built_in().rules
    )
    parts.append(RULE_FILES.format(rules=rules, categories=", ".join(Category), **BOUNDS))
    return "\n".join(parts)


def test_the_document_is_what_the_code_says() -> None:
    if os.environ.get("UPDATE_DOCUMENTS"):
        DOCUMENT.write_text(document(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == document()


def test_every_row_has_its_example_in_order() -> None:
    assert [example.row for example in EXAMPLES] == [row.id for row in TABLE]
