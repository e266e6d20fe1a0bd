"""A finding as a report that is ready to file, where it is Triton's. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from runner.model.contrast import ControlPart
from runner.model.result import ObservedEnvironment
from runner.model.verdict import Evidence
from runner.report.compiler_files import compiler_files, compiler_said
from runner.report.escape import code, fenced, prose
from runner.report.repro import Case
from runner.report.shell import command

_CUT = "  [frames of pytest]"
_OF_PYTEST = ("/_pytest/", "/pluggy/", "/_triton_compat/")
_SITE = re.compile(r"(?<=\")/[^\"]{1,1000}/site-packages/")


def upstream_report(case: Case) -> str:
    """A report in Markdown that is ready to file: no project code where the control shows the same."""
    return "\n".join(_report(case)) + "\n"


def _report(case: Case) -> Iterator[str]:
    finding = case.finding
    yield f"# {prose(finding.title)}"
    yield ""
    yield f"Cause as found by controlled experiment: **{finding.cause.value}**, {finding.confidence.value}."
    yield ""
    yield "## Versions"
    yield ""
    yield from _versions(case)
    yield ""
    yield "## What happens"
    yield ""
    sample = case.sample
    if sample is not None:
        said = compiler_said(sample.output) if case.dump is not None else ""
        happened = (_short(said, case.plan.root), _short(sample.stack, case.plan.root), sample.message)
        yield fenced("\n".join(filter(None, happened)) or "(nothing was said)")
        yield ""
    yield from _minimal(case)
    if case.dump is not None:
        yield from compiler_files(case.dump)
    yield "## What was changed, one factor at a time"
    yield ""
    contrasts = [one for one in finding.evidence if one.kind == "contrast" and not _rules_out(one)]
    yield from _bullets(contrasts) or ["- Nothing: the control alone shows it."]
    yield ""
    yield "## What was ruled out"
    yield ""
    ruled_out = _bullets(filter(_rules_out, finding.evidence))
    yield from ruled_out or ["- Nothing: no other factor was tried."]
    yield ""
    yield "## How often, and Triton alone"
    yield ""
    yield from _bullets(one for one in finding.evidence if one.kind in {"count", "control"})


def _short(stack: str | None, root: str) -> str:
    """A stack without the frames of pytest that a crash dump ends in, and without this machine's folders."""
    kept: list[str] = []
    for row in (stack or "").splitlines():
        if row.startswith("  File ") and any(folder in row for folder in _OF_PYTEST):
            if kept and kept[-1] != _CUT:
                kept.append(_CUT)
            continue
        kept.append(_SITE.sub("", row).replace(root.rstrip("/") + "/", ""))
    return "\n".join(kept)


def _bullets(evidence: Iterable[Evidence]) -> list[str]:
    return [f"- {prose(one.text, 600)}" for one in evidence]


def _rules_out(one: Evidence) -> bool:
    return "ruled out" in one.text or "no race between threads" in one.text


def _versions(case: Case) -> Iterator[str]:
    seen: ObservedEnvironment | None = case.result.environment
    gil = case.result.gil
    rows = {
        "Python": seen.build if seen else case.environment.python,
        "ABI": seen.soabi if seen else None,
        "GIL": f"asked for {case.cell.key.gil.value}" + _at_end(gil.enabled_at_end, gil.enabled_by),
        "Triton": (seen.triton if seen else None) or case.environment.triton,
        "torch": (seen.torch if seen else None) or "none",
        "GPU": ", ".join(f"{gpu.name} (SM {gpu.compute_capability})" for gpu in seen.gpus)
        if seen and seen.gpus
        else "none",
        "CUDA driver": (seen.driver if seen else None) or "none",
        "Platform": seen.platform if seen else None,
    }
    yield from (f"- {name}: {code(value)}" for name, value in rows.items() if value)


def _at_end(enabled: bool | None, by: str | None) -> str:
    if enabled is None:
        return ""
    return f", {'on' if enabled else 'off'} at the end" + (f", switched on by {by}" if by else "")


def _minimal(case: Case) -> Iterator[str]:
    yield "## To see it"
    yield ""
    if shown := case.shown_by:
        part = shown[0]
        yield (
            f"No project code: {prose(part.title)}{_threads(part)} fails {prose(str(part.count))} times. "
            "The files in `control/` hold all of it:"
        )
        yield ""
        yield fenced(command(part.command, part.env))
    else:
        yield "The script beside this report makes the environment and runs the test."
    yield ""


def _threads(part: ControlPart) -> str:
    return f" from {part.threads} threads" if part.threads > 1 else ""
