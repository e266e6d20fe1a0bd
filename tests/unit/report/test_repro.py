from __future__ import annotations

import subprocess
from pathlib import Path

from runner.model.words import Cause
from runner.report.repro import file_name, script
from tests.unit.report.reproduced import HOSTILE, case


def test_the_script_says_everything_that_decides_the_run() -> None:
    text = script(case(test="tests/test_a.py::test"))
    assert "uv venv --python 3.13.5+freethreaded venv" in text
    assert "--only-binary :all: --no-deps triton==3.7.0" in text
    assert "uv pip install --python venv/bin/python --no-deps '/a project/kernels; rm x[test]'" in text
    assert "cd '/a project'" in text
    assert "CUDA_VISIBLE_DEVICES=GPU-7 PYTHON_GIL=0 X='1 $(y)' \"$work/venv/bin/python\"" in text
    assert "-m pytest -k 'a b' tests/test_a.py::test\n" in text
    assert 'export TRITON_CACHE_DIR="$work/cache"' in text


def test_a_cache_as_found_is_copied() -> None:
    text = script(case(found=True))
    assert "cp -a '/my cache' \"$work/cache\"" in text


def test_no_text_of_a_test_is_obeyed(tmp_path: Path) -> None:
    """The script with every program replaced by echo: bash runs it, and nothing else."""
    text = script(case())
    stand_ins = 'uv() { :; }\ncd() { :; }\ncp() { :; }\nmktemp() { echo "$PWD/w"; }\n'
    python = tmp_path / "w" / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > arguments\n')
    python.chmod(0o755)
    subprocess.run(["bash", "-c", stand_ins + text], cwd=tmp_path, check=True, capture_output=True)
    assert not (tmp_path / "owned").exists()
    assert (tmp_path / "arguments").read_bytes().decode().split("\0")[-2] == HOSTILE


def test_only_what_may_be_tritons_is_reported() -> None:
    assert case().is_upstream
    assert not case(control=False).is_upstream, "a race that the control does not show is nobody's yet"
    assert not case(cause=Cause.PROJECT).is_upstream
    assert case(cause=Cause.TRITON_VERSION, control=False).is_upstream


def test_a_findings_folder_is_a_name_whatever_its_id_holds() -> None:
    finding = case().finding.model_copy(update={"id": "../../etc $(x)"})
    assert file_name(finding) == "etc-x"
