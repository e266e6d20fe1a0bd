"""What one cell's result says about its failures, reduced to what the attribution needs."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runner.evidence.named import Installed
from runner.evidence.root import RootKey, Roots
from runner.evidence.signatures import Rules, attempt_text
from runner.evidence.trace import bounded
from runner.model.cell import CellKey
from runner.model.contrast import Count
from runner.model.result import Attempt, CellResult
from runner.model.words import Outcome, Status

_SPEAKS = frozenset({Outcome.PASSED, Outcome.XPASSED})
_OF_CUDA = re.compile(r"\bCUDA\b|CUDA_ERROR|cuda(?:Error|rt)|\bcuda error", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TestSeen:
    """Attempts of one test that speak: not skipped, not left out.

    Attributes:
        good: attempts that passed.
        bad: root id and number of attempts that went wrong with it; roots that only follow another are not in it.
        processes: pids of the workers that made them, sorted.
    """

    good: int
    bad: tuple[tuple[str, int], ...]
    processes: tuple[int, ...]


@dataclass(frozen=True)
class RootSeen:
    """One root in one cell.

    Attributes:
        key: the root.
        tests: ids of the tests that show it, in the order of the run.
        sample: one attempt that shows it.
        count: attempts of these tests.
        followers: tests that failed in the same process after the CUDA context was lost to it.
        repeats: later attempts of tests whose earlier attempt showed it, in the same cell; None when there were none.
    """

    key: RootKey
    tests: tuple[str, ...]
    sample: Attempt
    count: Count
    followers: tuple[str, ...] = ()
    repeats: Count | None = None


@dataclass(frozen=True)
class Observed:
    """One cell.

    Attributes:
        key, status: of the cell.
        tests: test id to what was seen, for tests that ran.
        roots: root id to what was seen of it.
        really_off: False when it asked for no GIL and did not end without it.
        installed: what its environment holds; None when no process of it reported.
    """

    key: CellKey
    status: Status
    tests: dict[str, TestSeen]
    roots: dict[str, RootSeen]
    really_off: bool = True
    installed: Installed | None = None

    def count(self, root: str, tests: Iterable[str]) -> Count:
        """How often `root` was seen in attempts of `tests`, in how many processes."""
        return _count(self.tests, root, tests)


def _count(seen_tests: Mapping[str, TestSeen], root: str, tests: Iterable[str]) -> Count:
    failed = total = other = 0
    processes: set[int] = set()
    for test in tests:
        seen = seen_tests.get(test)
        if seen is None:
            continue
        total += seen.good
        for name, number in seen.bad:
            total += number
            if name == root:
                failed += number
            else:
                other += number
        processes.update(seen.processes)
    return Count(failed=failed, other=other, total=total, processes=len(processes) or min(total, 1))


@dataclass
class _Draft:
    key: RootKey
    sample: Attempt
    tests: dict[str, None] = field(default_factory=dict)
    followers: dict[str, None] = field(default_factory=dict)
    repeats: Counter[str] = field(default_factory=Counter)
    processes: set[int | None] = field(default_factory=set)

    def again(self, attempt: Attempt, root: RootKey | None) -> None:
        """Count a later attempt of a test that showed this root before."""
        self.repeats["total"] += 1
        self.repeats["failed" if root == self.key else "other"] += root is not None
        self.processes.add(attempt.pid)

    def finished(self, count: Count) -> RootSeen:
        counts = {word: self.repeats[word] for word in ("failed", "other", "total")}
        again = Count(**counts, processes=len(self.processes)) if counts["total"] else None
        return RootSeen(self.key, tuple(self.tests), self.sample, count, tuple(self.followers), again)


class Observer:
    """Reduces results one by one, so that a caller need not hold all of them at once.

    Args:
        rules: signatures.
        raced: the results tell of several threads that ran one test at once; such roots are roots of their own.
    """

    def __init__(self, rules: Rules, *, raced: bool = False) -> None:
        self._roots = Roots(rules, raced=raced)
        self._sticky = {rule.id for rule in rules.rules if rule.sticky}
        self._equal: dict[TestSeen, TestSeen] = {}
        self._samples: dict[tuple[str, str | None, str | None], Attempt] = {}

    def root(self, attempt: Attempt) -> RootKey:
        """The root of an attempt that went wrong."""
        return self._roots.of(attempt)

    def _sample(self, root: str, attempt: Attempt) -> Attempt:
        """The first attempt with the same texts: hundreds of cells show a root in the same words."""
        return self._samples.setdefault((root, attempt.stack, attempt.message), attempt)

    def observe(self, result: CellResult) -> Observed:
        """What a cell's result says."""
        tests: dict[str, TestSeen] = {}
        drafts: dict[str, _Draft] = {}
        lost: dict[int, str] = {}
        for test in result.tests:
            test_id = sys.intern(test.id)  # most cells have the same tests
            good, bad = 0, Counter[str]()
            first: str | None = None
            for attempt in test.attempts:
                good += attempt.outcome in _SPEAKS
                root = None
                if attempt.outcome.is_bad:
                    if attempt.pid in lost and _OF_CUDA.search(bounded(attempt_text(attempt))):
                        drafts[lost[attempt.pid]].followers[test_id] = None
                        continue
                    root = self._roots.of(attempt)
                    name = root.id
                    if name not in drafts:
                        drafts[name] = _Draft(root, self._sample(name, attempt))
                    drafts[name].tests[test_id] = None
                    bad[name] += 1
                    if root.signature in self._sticky and attempt.pid is not None:
                        lost[attempt.pid] = root.id
                if first is not None and (root is not None or attempt.outcome in _SPEAKS):
                    drafts[first].again(attempt, root)
                first = first or (root.id if root else None)
            if good or bad:
                pids = {attempt.pid for attempt in test.attempts if attempt.pid is not None}
                seen = TestSeen(good, tuple(sorted(bad.items())), tuple(sorted(pids)))
                tests[test_id] = self._equal.setdefault(seen, seen)
        asked_off = result.gil.requested.value == "off"
        return Observed(
            key=result.cell,
            status=result.status,
            tests=tests,
            roots={name: draft.finished(_count(tests, name, draft.tests)) for name, draft in drafts.items()},
            really_off=not (asked_off and result.gil.enabled_at_end),
            installed=Installed.of(result),
        )
