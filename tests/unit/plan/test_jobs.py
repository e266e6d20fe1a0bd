from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import MatrixFileError
from runner.model.cell import CellKey
from runner.model.plan import PlannedCell, Settings
from runner.model.words import GilMode
from runner.plan.jobs import group


def cell(number: int, gil: GilMode = GilMode.ON, runner: tuple[str, ...] = ()) -> PlannedCell:
    environment = f"py3.13t-triton{number}"
    key = CellKey(id=f"py3.13t-gil-{gil}-triton{number}", python="3.13t", gil=gil, triton=str(number), torch=None)
    return PlannedCell(key=key, environment=environment, settings=Settings(runner=runner))


def test_one_job_for_each_environment_with_its_modes_inside() -> None:
    jobs = group([cell(1), cell(1, GilMode.OFF), cell(2)])
    assert [(job.name, job.cells) for job in jobs] == [
        ("py3.13t-triton1", ("py3.13t-gil-on-triton1", "py3.13t-gil-off-triton1")),
        ("py3.13t-triton2", ("py3.13t-gil-on-triton2",)),
    ]


def test_cells_that_need_other_machines_make_jobs_of_their_own() -> None:
    jobs = group([cell(1, runner=("a",)), cell(1, GilMode.OFF, ("b",)), cell(2, runner=("a",))])
    assert [(job.name, job.runner) for job in jobs] == [
        ("py3.13t-triton1-gil-on", ("a",)),
        ("py3.13t-triton1-gil-off", ("b",)),
        ("py3.13t-triton2", ("a",)),
    ]


def test_beyond_the_bound_neighbours_go_together() -> None:
    jobs = group([cell(number) for number in range(7)], most=3)
    assert [(job.name, len(job.cells)) for job in jobs] == [
        ("py3.13t-triton0+2", 3),
        ("py3.13t-triton3+2", 3),
        ("py3.13t-triton6", 1),
    ]


def test_more_machines_than_jobs_are_a_mistake() -> None:
    with pytest.raises(MatrixFileError, match="3 different sets of runner labels"):
        group([cell(number, runner=(str(number),)) for number in range(3)], most=2)


@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.sampled_from(list(GilMode)), st.sampled_from(["a", "b", "c"])),
        unique_by=lambda x: x[:2],
    ),
    st.integers(3, 256),
)
def test_every_cell_is_in_one_job_that_has_its_labels(drawn: list[tuple[int, GilMode, str]], most: int) -> None:
    cells = [cell(number, gil, (label,)) for number, gil, label in drawn]
    jobs = group(cells, most)
    assert len(jobs) <= most
    assert sorted(key for job in jobs for key in job.cells) == sorted(c.key.id for c in cells)
    assert len({job.name for job in jobs}) == len(jobs)
    labels = {c.key.id: c.settings.runner for c in cells}
    assert all(labels[key] == job.runner for job in jobs for key in job.cells)
    assert group(cells, most) == jobs
