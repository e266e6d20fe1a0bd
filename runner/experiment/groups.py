"""The failures of one cell, grouped by their roots, and what one more run says about a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from runner.evidence.observed import Observed, Observer, RootSeen
from runner.evidence.root import RootKey
from runner.evidence.signatures import Category, Rules
from runner.model.contrast import Count
from runner.model.race import Races
from runner.model.result import CellResult, TestResult
from runner.model.words import Outcome

_SPEAKS = frozenset({Outcome.PASSED, Outcome.XPASSED})


@dataclass(frozen=True)
class Group:
    """Failures with one root, and the one of them that stands for all.

    Attributes:
        seen: see `RootSeen`.
        categories: what its signature hints at, the most usual first; empty when it has none.
        test: id of the test (or file) that is run again.
        company: ids of the tests that ran before it in the same process, in their order; empty for the first.
        threads: that ran the test at once when it failed; 0 for a failure of the ordinary run.
    """

    seen: RootSeen
    categories: tuple[Category, ...]
    test: str
    company: tuple[str, ...]
    threads: int = 0

    @property
    def root(self) -> RootKey:
        """What the failures have in common."""
        return self.seen.key

    @property
    def is_file(self) -> bool:
        """It stands for a file that could not be collected, or for the session as a whole."""
        return "::" not in self.test


def leads_to_compiler(group: Group) -> bool:
    """Whether its signature leads to Triton's compiler or its tools, or the process died below Triton's frames."""
    if group.categories:
        return group.categories[0] in (Category.COMPILER, Category.TOOLCHAIN)
    return bool(group.root.death) and any(frame.startswith("triton/") for frame in group.root.frames)


def groups_of(result: CellResult, observed: Observed, rules: Rules) -> tuple[Group, ...]:
    """The groups of a cell, those with the most tests first.

    The representative is the quickest test of which every attempt shows the root, or else the quickest.
    """
    by_id = {test.id: test for test in result.tests}
    found = []
    for seen in observed.roots.values():
        rule = rules.get(seen.key.signature)
        tests = [by_id[name] for name in seen.tests]
        chosen = min(tests, key=lambda test: (not _always(observed, test, seen.key.id), _seconds(test), test.id))
        company = tuple(_before(result, chosen))
        found.append(Group(seen, rule.categories if rule else (), chosen.id, company))
    return tuple(sorted(found, key=lambda group: (-len(group.seen.tests), group.root.id)))


def groups_of_races(races: Races, observed: Observed, rules: Rules) -> tuple[Group, ...]:
    """The groups of a cell's races, from what was observed of `Races.as_result`; each test is raced by itself."""
    groups = groups_of(races.as_result(), observed, rules)
    return tuple(replace(group, company=(), threads=races.threads) for group in groups)


def _always(observed: Observed, test: TestResult, root: str) -> bool:
    seen = observed.tests[test.id]
    return not seen.good and [name for name, _ in seen.bad] == [root]


def _seconds(test: TestResult) -> float:
    return max(attempt.seconds for attempt in test.attempts)


def _before(result: CellResult, chosen: TestResult) -> Iterator[str]:
    """Tests that ran in the same process before the first attempt of the chosen one."""
    pid = chosen.attempts[0].pid
    for test in result.tests:
        if test is chosen:
            return
        if "::" in test.id and pid is not None and test.attempts[0].pid == pid:
            yield test.id


def count_run(result: CellResult, observer: Observer, group: Group) -> tuple[Count, tuple[str, ...]]:
    """What one run of a group's test says: at most one attempt, and the signatures of what went wrong.

    A file that could not be collected is good when its tests are found and none of them goes wrong.
    """
    observed = observer.observe(result)
    mine = [test for test in result.tests if test.id == group.test]
    if not mine and group.is_file:
        mine = [test for test in result.tests if test.id.startswith(f"{group.test}::")]
        mine = mine or ([] if group.test in {test.file for test in result.tests} else list(result.tests))
    bad = {name for test in mine for name, _ in (observed.tests[test.id].bad if test.id in observed.tests else ())}
    # A run that went wrong outside of the test (in a conftest.py, at the process's end) is no pass of the test.
    bad |= set(observed.roots) if not mine else set()
    good = any(attempt.outcome in _SPEAKS for test in mine for attempt in test.attempts)
    shows = group.root.id in bad
    total = int(bool(bad) or good)
    roots = [observed.roots[name].key for name in sorted(bad)]
    signatures = tuple(dict.fromkeys(key.signature for key in roots if key.signature))
    return Count(failed=int(shows), other=int(bool(bad) and not shows), total=total), signatures


def count_races(races: Races | None, observer: Observer, group: Group) -> tuple[Count, tuple[str, ...]]:
    """As `count_run`: all threads and rounds of one run are one attempt, which shows the root when any call does."""
    test = next((one for one in races.tests if one.id == group.test), None) if races else None
    if test is None or test.outcome in (Outcome.NOT_RUN, Outcome.SKIPPED):
        return Count(failed=0, total=0), ()
    roots = [observer.root(kind) for kind in test.kinds]
    shows = any(root.id == group.root.id for root in roots)
    signatures = tuple(dict.fromkeys(root.signature for root in roots if root.signature))
    return Count(failed=int(shows), other=int(bool(roots) and not shows), total=1), signatures
