"""The sentences of a finding: what was seen, with its numbers. What tests said is quoted, bounded and made plain."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from runner.evidence.statistics import PROVEN_P, rate, repeats_needed, repeats_to_show
from runner.model.contrast import ControlPart, Count
from runner.model.verdict import Evidence
from runner.model.words import Confidence, Factor, Outcome
from runner.verdict.case import Case
from runner.verdict.effects import Effect
from runner.verdict.table import Row

_QUOTE = 160
_NAMED = 3
_SUBJECTS = {
    Factor.ALONE: "the company of other tests",
    Factor.FRESH_CACHE: "the cache",
    Factor.CACHE_AS_FOUND: "the cache",
    Factor.GIL: "the GIL",
    Factor.BUILD: "the build of Python",
    Factor.PYTHON: "the Python version",
    Factor.TRITON: "the Triton version",
    Factor.BASE_COMMIT: "this change",
    Factor.THREADS: "the number of threads",
}


def plain(text: str, limit: int = _QUOTE) -> str:
    """Hostile text on one line, without control characters, at most `limit` characters long."""
    line = "".join(char if char.isprintable() else " " for char in text[: 4 * limit])
    line = " ".join(line.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def title_of(case: Case) -> str:
    """`TypeError: 'NoneType' object is not a mapping, in triton/runtime/autotuner.py`."""
    sample = next(iter(case.seen.values())).sample
    where = f", in {plain(case.root.frames[0], 100)}" if case.root.frames else ""
    kind = f": {plain(case.root.message, 100)}" if case.rule and case.rule.apart and case.root.message else ""
    where += ", when several threads at once run a test that passes in one" if case.root.raced else ""
    if case.root.death:
        ends = {"timed_out": "did not end in time"}
        return f"The process {ends.get(case.root.death, f'died ({plain(case.root.death, 40)})')}{where}{kind}"
    lines = [line for line in (sample.message or "").splitlines() if line.strip()]
    said = plain(lines[0]) if lines else sample.outcome.value
    if case.root.exception and case.root.exception not in said:
        said = f"{case.root.exception}: {said}"
    return (said.rstrip(".") if where else said) + where + ("" if kind[2:] in said else kind)


def evidence_of(case: Case, row: Row) -> tuple[Evidence, ...]:
    """All evidence of a case: what it means, contrasts, what is ruled out, control, signature, counts."""
    return tuple(
        Evidence(kind=kind, text=text)
        for kind, text in (
            ("observation", row.sentence),
            *_contrasts(case),
            *_control(case),
            *_signature(case),
            *_counts(case),
            *_workarounds(case),
        )
    )


def next_step_of(case: Case, row: Row) -> str:
    """What a person can do: a workaround that was run and worked, then the row's or the signature's advice."""
    works = [(title, count) for title, count in _tried(case).items() if count.total and not count.failed + count.other]
    first = f"Workaround that was run: {plain(works[0][0])} ({works[0][1]} failed with it). " if works else ""
    # The signature's advice is about the lead, so it holds where nothing more was found out than the lead.
    by_lead = row.cause is None or row.id in ("unexplained", "threads-in-control")
    advice = case.rule.next_step if case.rule and (by_lead or not row.next_step) else row.next_step
    return first + (advice or "Run triton-compat experiment for contrasts.")


def _contrasts(case: Case) -> Iterator[tuple[str, str]]:
    for factor, group in itertools.groupby(case.effects, key=lambda effect: effect.factor):
        effects = list(group)
        if all(effect.rules_out for effect in effects):
            yield "contrast", _ruled_out(factor, effects)
            continue
        for effect in effects:
            counts = (
                f"{factor.value}: {effect.before_value or 'as it was'} {effect.before} failed, "
                f"{effect.after_value} {effect.after} failed"
            )
            yield "contrast", f"{counts}; {_meaning(case, effect)} ({_few(effect.sources)})."


def _ruled_out(factor: Factor, effects: list[Effect]) -> str:
    sides = {effect.after_value: effect.after for effect in effects}
    if len(effects) == 1:
        sides = {effects[0].before_value: effects[0].before, **sides}
    counts = ", ".join(f"{value} {count} failed" for value, count in sides.items())
    sources = _few(dict.fromkeys(source for effect in effects for source in effect.sources))
    return f"{factor.value}: {counts}; {_subject(factor)} is ruled out as the cause: it fails either way ({sources})."


def _few(texts: Iterable[str]) -> str:
    listed = list(texts)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more


def _subject(factor: Factor) -> str:
    return _SUBJECTS.get(factor, factor.value)


def _meaning(case: Case, effect: Effect) -> str:
    subject = _subject(effect.factor)
    p = f"p = {effect.strength.p:.2g}"
    if effect.strength.confidence is Confidence.PROVEN:
        return f"{subject} decides it, proven ({p}, threshold {PROVEN_P})"
    if effect.cures and case.comes_and_goes:
        return f"this may be chance, for it comes and goes by itself ({p}, threshold {PROVEN_P})"
    if effect.cures:
        return f"{subject} likely decides it ({p} by processes, {effect.strength.p_attempts:.2g} by attempts)"
    if effect.rules_out:
        return f"{effect.after_value} makes no difference"
    return _why_open(case, effect, p)


def _why_open(case: Case, effect: Effect, p: str) -> str:
    if effect.after.other:
        return "it fails in another way there, so this does not tell"
    if effect.before.failed and effect.after.total:
        needed = repeats_needed(len({one.factor for one in case.effects}))
        return f"a lead, too few attempts to tell ({p}); {needed} on each side would prove a failure that is certain"
    return "this does not tell"


def _control(case: Case) -> Iterator[tuple[str, str]]:
    state = case.control_state
    same = _once(case.same_in_control)
    for part in same[:_NAMED]:
        threads = f" with {part.threads} threads" if part.threads > 1 else ""
        yield "control", f"{plain(part.title)}{threads}: {part.count} failed, with the same signature."
    if state == "green":
        parts = [part for control in case.controls.values() for part in control.parts if not part.mark]
        ran = sum(part.count.total for part in parts if part.count is not None)
        elsewhere = any(control.others for control in case.controls.values())
        said = "shows nothing of it in any cell" if elsewhere else "works in every cell"
        yield "control", f"Triton alone, without project code, {said} of this finding ({ran} runs)."
    elif not case.controls:
        yield "control", "It was not run, so nothing is said about whose failure it is."
    elif state == "none" and not same:
        yield "control", "It was not run in every cell of this finding, so it says nothing about all of them."
    elif state == "other":
        yield "control", "It fails here with texts that are not explained, so it does not clear Triton."
    others = _once(part for control in case.controls.values() for part in control.others)
    for part in others[:_NAMED]:
        yield "control", f"{plain(part.title)} fails with another signature ({', '.join(part.signatures)})."
    skipped = _once(part for control in case.controls.values() for part in control.skipped)
    if skipped:
        reasons = "; ".join(dict.fromkeys(plain(part.skipped or "") for part in skipped))
        yield "control", f"Not run: {_few(part.id for part in skipped)} ({plain(reasons)})."


def _once(parts: Iterable[ControlPart]) -> list[ControlPart]:
    found: dict[str, ControlPart] = {}
    for part in parts:
        found.setdefault(part.id, part)
    return list(found.values())


def _signature(case: Case) -> Iterator[tuple[str, str]]:
    if case.rule is None:
        yield "signature", "The text is no known signature."
        return
    leads = " or ".join(case.rule.categories)
    sources = f"Source{_s(len(case.rule.sources))}: {', '.join(case.rule.sources)}"
    yield "signature", f"A lead to {leads}: {case.rule.id}. {case.rule.meaning} {sources}."


def _counts(case: Case) -> Iterator[tuple[str, str]]:
    cells, tests = len(case.cells), len(case.tests)
    yield "count", f"{tests} test{_s(tests)} in {cells} cell{_s(cells)} show{'s' if tests == 1 else ''} it."
    if followers := case.followers:
        named = _few(plain(test) for test in followers)
        yield (
            "count",
            f"Secondary, after the CUDA context was lost to it: {len(followers)} test{_s(len(followers))}: {named}.",
        )
    threads = {
        (seen.sample.stack or "").count("Thread 0x") for seen in case.seen.values() if _is_dump(seen.sample.stack)
    }
    # Where a test did not end, the threads that raced may be gone.
    if case.root.death not in {"", Outcome.TIMED_OUT.value} and threads == {0}:
        yield "observation", "One thread was there when the process died, so no race between threads did it."
    if case.repeat is not None:
        yield from _repeats(case.repeat)


def _is_dump(stack: str | None) -> bool:
    return stack is not None and "Current thread 0x" in stack


def _repeats(count: Count) -> Iterator[tuple[str, str]]:
    yield "count", f"Repeated under the same conditions, it failed {rate(count.failed, count.total)}."
    needed = repeats_to_show(count.failed / count.total) if count.total else None
    if needed is not None and count.failed < count.total:
        yield "count", f"At that rate {needed} repeats show it at least once with 95 %."


def _workarounds(case: Case) -> Iterator[tuple[str, str]]:
    for title, count in _tried(case).items():
        yield "contrast", f"Workaround {plain(title)!r} was run: {count} failed with it."


def _tried(case: Case) -> dict[str, Count]:
    """Each workaround that was run, with its counts over all cells."""
    found: dict[str, Count] = {}
    for trial in case.trials:
        one, more = found.get(trial.title, Count(failed=0, total=0)), trial.count
        found[trial.title] = Count(
            failed=one.failed + more.failed, other=one.other + more.other, total=one.total + more.total
        )
    return found


def _s(count: int) -> str:
    return "" if count == 1 else "s"
