from __future__ import annotations

from runner.evidence.observed import Observer
from runner.evidence.rulefile import built_in
from runner.experiment.groups import Group, groups_of
from runner.experiment.known import Known
from runner.model.result import Attempt
from runner.model.words import GilMode
from tests.unit.verdict.building import GOOD, plan, result
from tests.unit.verdict.examples import RACE, WRONG

PLAN = plan(("3.13t",), ("3.3.1", "3.6.0", "3.7.0"), gils=(GilMode.OFF,))
HERE, SAME, OTHER = (f"py3.13t-gil-off-triton{release}" for release in ("3.3.1", "3.6.0", "3.7.0"))


def known(**attempts: Attempt) -> tuple[Known, Group]:
    """What is known where the test ends like this in the cells `here`, `same` and `other`, and the group of `here`."""
    rules = built_in()
    observer = Observer(rules)
    results = {
        name: result(PLAN, name, {"t.py::t": attempts[word]}) for word, name in NAMES.items() if word in attempts
    }
    observed = {name: observer.observe(one) for name, one in results.items()}
    (group,) = groups_of(results[HERE], observed[HERE], rules)
    return Known(cells={cell.key.id: cell for cell in PLAN.cells}, observed=observed, raced={}, rules=rules), group


NAMES = {"here": HERE, "same": SAME, "other": OTHER}


def test_an_environment_that_fails_in_another_way_alone_tells_nothing() -> None:
    found, group = known(here=WRONG, same=WRONG, other=RACE)
    assert found.silent(found.cells[HERE], group) == {"py3.13t-triton3.7.0"}
    found, group = known(here=WRONG, same=GOOD)
    assert found.silent(found.cells[HERE], group) == frozenset()
