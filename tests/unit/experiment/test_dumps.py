from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.experiment import dumps
from runner.experiment.dumps import collect_dump, dump_variables, without_machine
from runner.model.contrast import Dump


def leave(folder: Path, *files: tuple[str, str]) -> None:
    """Files as runs leave them, each a second newer than the one before it."""
    for second, (name, text) in enumerate(files, start=1_000_000_000):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (second, second))


def collect(tmp_path: Path) -> Dump | None:
    return collect_dump(tmp_path / "left", tmp_path / "kept", root="r-1", test="t.py::t")


def test_the_stage_and_the_kernel_that_failed_are_kept(tmp_path: Path) -> None:
    leave(
        tmp_path / "left",
        ("reproducer.mlir.make_ttir.repro.mlir", "early"),
        ("stages/AAA/first.ttir", "other kernel"),
        ("stages/BBB/second.ttir", "ir"),
        ("stages/BBB/second.ttgir", 'module attributes {"ttg.num-warps" = 8 : i32, ttg.target = "cuda:90"} {}'),
        ("stages/BBB/second.cubin", "no text"),
        ("reproducer.mlir.make_llir.repro.mlir", 'late loc("/home/me/p/k.py":1:1)'),
    )
    found = collect(tmp_path)
    assert found is not None
    assert found.reproducer == "reproducer.mlir.make_llir.repro.mlir"
    assert found.stages == ("second.ttir", "second.ttgir")
    assert (found.architecture, found.warps) == (90, 8)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == sorted((found.reproducer, *found.stages))
    assert (tmp_path / "kept" / found.reproducer).read_text() == 'late loc("p/k.py":1:1)'
    assert not (tmp_path / "left").exists()
    assert collect(tmp_path) == found, "an experiment that goes on takes what is there"


def test_a_compiler_that_left_nothing(tmp_path: Path) -> None:
    assert collect(tmp_path) is None
    (tmp_path / "left").mkdir()
    assert collect(tmp_path) is None


def test_what_is_too_large_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MOST_BYTES", 4)
    leave(tmp_path / "left", ("reproducer.mlir", "12345"), ("stages/A/k.ttir", "1234"))
    found = collect(tmp_path)
    assert found is not None
    assert (found.reproducer, found.stages) == (None, ("k.ttir",))
    assert found.left_out == ("reproducer.mlir holds 5 bytes, more than 4",)


def test_a_kernels_name_is_no_path(tmp_path: Path) -> None:
    leave(tmp_path / "left", ("stages/A/$(touch x) \u202ek.ttir", "ir"))
    found = collect(tmp_path)
    assert found is not None
    assert found.stages == ("touch-x-k.ttir",)


def test_locations_do_not_name_the_machine() -> None:
    text = '''#loc1 = loc("/home/me/project/src/kernels.py":7:0)
#loc2 = loc("/e/lib/python3.12/site-packages/triton/language/standard.py":290:36)
!1 = !DIFile(filename: "kernels.py", directory: "/home/me/project/src")
  %0 = tt.load %a : "x/y" // "not /a path"'''
    assert (
        without_machine(text)
        == '''#loc1 = loc("src/kernels.py":7:0)
#loc2 = loc("triton/language/standard.py":290:36)
!1 = !DIFile(filename: "kernels.py", directory: "project/src")
  %0 = tt.load %a : "x/y" // "not /a path"'''
    )


def test_every_variable_leads_into_the_folder(tmp_path: Path) -> None:
    variables = dump_variables(tmp_path)
    assert {value for value in variables.values() if value != "1"} == {
        str(tmp_path / "stages"),
        str(tmp_path / "reproducer.mlir"),
    }
