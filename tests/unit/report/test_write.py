from __future__ import annotations

from pathlib import Path
from typing import Any

from junitparser import JUnitXml

from runner.model.race import RacedTest, Races
from runner.model.result import GilState
from runner.report.write import write_junit, write_pages


def test_all_formats_are_written_whole(every_status: Any, tmp_path: Path) -> None:
    pages = write_pages(every_status.plan, every_status.results, every_status.verdict, tmp_path)
    written = (*pages, *write_junit(every_status.plan, every_status.results, tmp_path))
    names = {path.relative_to(tmp_path).as_posix() for path in written}
    cells = {f"cells/{name}/junit.xml" for name in every_status.results}
    assert names == {"report.md", "report.html", "matrix.svg", "junit.xml"} | cells
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(written)
    assert all(path.read_text(encoding="utf-8") for path in written)


def test_a_result_outside_the_plan_writes_nothing(make: Any, quickstart: Any, tmp_path: Path) -> None:
    stranger = make.result(make.key("3.12", "on", "9.9.9"), make.tests(1))
    results = {**quickstart.results, stranger.cell.id: stranger}
    write_junit(quickstart.plan, results, tmp_path)
    assert not (tmp_path / "cells" / stranger.cell.id).exists()


def test_the_races_of_a_cell_are_in_both_junit_files(quickstart: Any, tmp_path: Path) -> None:
    key = quickstart.plan.cells[0].key
    test = RacedTest(id="t.py::a", threads=2, rounds=1, rounds_done=1, passed=1, failed=1)
    races = {key.id: Races(cell=key, threads=2, rounds=1, gil=GilState(requested=key.gil), tests=(test,))}
    write_junit(quickstart.plan, quickstart.results, tmp_path, races)
    for path, others in ((tmp_path / "junit.xml", 14), (tmp_path / "cells" / key.id / "junit.xml", 0)):
        names = [suite.name for suite in JUnitXml.fromfile(str(path))]
        assert names[:2] == [key.id, f"{key.id} (race)"]
        assert len(names) == 2 + others


def test_pages_are_the_same_without_the_tests_that_passed(every_status: Any, tmp_path: Path) -> None:
    few = {name: result.without_passes() for name, result in every_status.results.items()}
    assert sum(len(result.tests) for result in few.values()) < sum(
        len(result.tests) for result in every_status.results.values()
    )
    whole = write_pages(every_status.plan, every_status.results, every_status.verdict, tmp_path / "whole")
    for path in whole:
        write_pages(every_status.plan, few, every_status.verdict, tmp_path / "few")
        assert (tmp_path / "few" / path.name).read_text() == path.read_text()
