"""The composite action: its text keeps its promises, and its scripts run on this machine as they stand."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import build_parser

ROOT = Path(__file__).parents[3]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


def test_no_expression_stands_in_a_script() -> None:
    assert [step["name"] for step in STEPS if "${{" in step["run"]] == []


def test_every_input_that_is_read_is_declared_and_every_declared_one_is_read() -> None:
    read = set(re.findall(r"inputs\.([a-z-]+)", str(STEPS)))
    assert read == set(ACTION["inputs"])


def test_only_the_last_step_which_runs_no_test_has_the_token() -> None:
    assert ["inputs.token" in str(step) for step in STEPS] == [False, False, False, True]


def test_every_variable_of_the_scripts_is_given() -> None:
    given = {name for step in STEPS for name in step["env"]}
    for script in (ROOT / "action").glob("*.sh"):
        used = set(re.findall(r"\$\{(INPUT_\w+|MODE|CELLS|PROJECT_ROOT|TRITON_COMPAT)", script.read_text("utf-8")))
        assert used <= given


def test_every_output_is_one_that_a_step_makes() -> None:
    made = {"plan": {"matrix", "job-count", "cell-count", "cells", "name", "slug", "root"}}
    made["report"] = {"verdict", "sentence", "counts", "paths"}
    for output in ACTION["outputs"].values():
        step, name = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.([\w-]+) }}", output["value"]).groups()  # type: ignore[union-attr]
        assert name in made[step]


def test_the_options_that_the_scripts_give_are_options_of_the_commands() -> None:
    text = (ROOT / "action" / "stages.sh").read_text(encoding="utf-8")
    parser = build_parser()
    known = {
        option
        for action in parser._subparsers._group_actions  # type: ignore[union-attr]
        for command in (action.choices or {}).values()  # type: ignore[union-attr]
        for option in command._option_string_actions
    }
    assert set(re.findall(r"(?<=[ (])--[a-z-]+", text)) <= known


def test_every_input_and_output_is_documented_and_no_other() -> None:
    text = (ROOT / "docs" / "action.md").read_text(encoding="utf-8")
    composite = text.partition("## The composite action")[2].partition("## The comment")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", composite, re.MULTILINE)
    documented = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row)]
    assert sorted(documented) == sorted([*ACTION["inputs"], *ACTION["outputs"]])
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "triton-compat.yml").read_text(encoding="utf-8"))
    fan_out = text.partition("## The fan-out")[2].partition("## The composite")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", fan_out, re.MULTILINE)) == set(
        workflow[True]["workflow_call"]["inputs"]
    )


def stage(tmp_path: Path, name: str, script: str, **variables: str) -> tuple[int, str, list[str]]:
    """Run one stage with a `triton-compat` that notes its arguments and exits as `script` says."""
    tool = tmp_path / "triton-compat"
    tool.write_text(f'#!/usr/bin/env bash\nprintf "%s\\n" "$*" >> "{tmp_path}/calls"\n{script}\n', encoding="utf-8")
    tool.chmod(0o755)
    environ = {**os.environ, "TRITON_COMPAT": str(tool), "INPUT_OUTPUT": "o ut", "GITHUB_WORKSPACE": "/w"}
    environ |= {"RUNNER_TEMP": str(tmp_path / "te mp"), "INPUT_BASELINE": "auto", **variables}
    done = subprocess.run(
        ["bash", ROOT / "action" / "stages.sh", name], env=environ, capture_output=True, text=True, check=False
    )
    calls = tmp_path / "calls"
    return done.returncode, done.stdout, calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []


CELLS = 'case "$2" in a) exit 0 ;; b) exit 1 ;; c) exit 16 ;; *) exit 3 ;; esac'


@pytest.mark.parametrize(
    ("mode", "cells", "status"),
    [("cells", "a", 0), ("cells", "a b a", 1), ("cells", "d b", 3), ("cells", "c a b", 16), ("all", "c a b d", 0)],
)
def test_every_cell_is_run_whatever_became_of_another(tmp_path: Path, mode: str, cells: str, status: int) -> None:
    code, _, calls = stage(tmp_path, "cells", CELLS, MODE=mode, CELLS=cells, PROJECT_ROOT="sub", INPUT_BUDGET="0")
    root = "" if mode == "all" else " --root /w/sub"
    assert calls == [f"cell {cell} --out o ut{root}" for cell in cells.split()]
    assert code == status


@pytest.mark.parametrize(
    ("cells", "status", "looked_into"), [("a", 0, []), ("a b a", 1, ["b"]), ("d b", 3, ["b"]), ("b c", 16, ["b"])]
)
def test_failing_cells_are_looked_into_and_no_status_changes_by_it(
    tmp_path: Path, cells: str, status: int, looked_into: list[str]
) -> None:
    script = f'[[ "$1" != experiment ]] || exit 17\n{CELLS}'  # the experiments themselves fail
    variables = {"MODE": "cells", "CELLS": cells, "PROJECT_ROOT": "sub", "INPUT_BUDGET": "5m"}
    code, _, calls = stage(tmp_path, "cells", script, **variables)
    wanted = " ".join(f"--cell {cell}" for cell in looked_into)
    assert [call for call in calls if not call.startswith("cell ")] == (
        [f"experiment {wanted} --budget 5m --out o ut --root /w/sub"] if looked_into else []
    )
    assert code == status


def test_a_total_budget_is_handed_on(tmp_path: Path) -> None:
    variables = {"MODE": "cells", "CELLS": "b", "INPUT_BUDGET": "5m", "INPUT_TOTAL_BUDGET": "1h"}
    _, _, calls = stage(tmp_path, "cells", CELLS, **variables)
    assert "--budget 5m --total-budget 1h" in calls[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_step_tells_the_tool_and_begins_no_other_cell(tmp_path: Path, number: signal.Signals) -> None:
    """As GitHub cancels: a signal to the shell of the step, and to nothing else."""
    arrived, calls = tmp_path / "arrived", tmp_path / "calls"
    os.mkfifo(arrived)
    tool = tmp_path / "tool.py"
    tool.write_text(TOOL.format(python=sys.executable, arrived=str(arrived), calls=str(calls)), encoding="utf-8")
    tool.chmod(0o755)
    step = tmp_path / "step.sh"
    step.write_text(next(step["run"] for step in STEPS if step["name"] == "Cells"), encoding="utf-8")
    environ = {**os.environ, "TRITON_COMPAT": str(tool), "GITHUB_ACTION_PATH": str(ROOT), "INDEX": ""}
    environ |= {"INPUT_OUTPUT": "o", "MODE": "all", "CELLS": "a b", "INPUT_BUDGET": "5m"}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(step)]
    with subprocess.Popen(shell, env=environ, stdout=subprocess.PIPE, text=True) as process:
        arrived.read_text(encoding="utf-8")  # returns when the tool runs
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 143, output
    assert calls.read_text(encoding="utf-8") == "cell a --out o\nSIGINT is taken\ntold\n"


TOOL = """#!{python}
import signal, sys, time
def note(line):
    with open({calls!r}, "a") as stream:
        stream.write(line + "\\n")
def stop(*_):
    note("told")
    sys.exit(143)
signal.signal(signal.SIGTERM, stop)
note(" ".join(sys.argv[1:]))
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    note("SIGINT is taken")
open({arrived!r}, "w").close()
while True:
    signal.pause()
"""
COMMENT = {"INPUT_COMMENT": "always", "INPUT_COMMENT_AUTHOR": "github-actions[bot]"}


@pytest.mark.parametrize(
    ("mode", "judged", "status"), [("all", 0, 0), ("report", 1, 1), ("all", 3, 3), ("publish", 1, 0), ("publish", 3, 0)]
)
def test_the_job_ends_as_the_verdict_says(tmp_path: Path, mode: str, judged: int, status: int) -> None:
    script = f'case "$1" in judge | publish) exit {judged} ;; esac'
    name = "publish" if mode == "publish" else "report"
    code, _, calls = stage(tmp_path, name, script, MODE=mode, **COMMENT)
    assert code == status
    stages = ["publish"] if mode == "publish" else ["baseline", "judge", "report", "publish"]
    assert [call.split()[0] for call in calls] == stages


@pytest.mark.parametrize(
    ("found", "ends", "compared"),
    [
        ('mkdir -p "${!#}" && touch "$6/plan.json"', 0, " --baseline {into}"),
        ('mkdir -p "${!#}"', 0, ""),
        ("exit 10", 0, ""),
        ("exit 143", 0, ""),
    ],
    ids=["found", "none", "error of ours", "killed"],
)
def test_the_verdict_is_compared_with_what_was_found_and_never_waits_for_it(
    tmp_path: Path, found: str, ends: int, compared: str
) -> None:
    script = f'case "$1" in baseline) {found} ;; esac'
    code, said, calls = stage(tmp_path, "report", script, MODE="report", INPUT_BASELINE="$(x) y", **COMMENT)
    into = tmp_path / "te mp" / "triton-compat-baseline"
    assert calls[0] == f"baseline $(x) y --out o ut --into {into}"
    assert calls[1] == "judge --out o ut" + compared.format(into=into)
    assert (code, len(calls)) == (ends, 4)
    assert ("nothing to compare with was looked for" in said) == found.startswith("exit")


@pytest.mark.parametrize("mode", ["report", "publish"])
def test_an_error_of_ours_is_no_verdict(tmp_path: Path, mode: str) -> None:
    script = '[[ "$1" == baseline ]] || exit 17'
    code, _, calls = stage(tmp_path, mode, script, MODE=mode, **COMMENT)
    assert (code, [call.split()[0] for call in calls if not call.startswith("baseline")]) == (
        17,
        ["judge" if mode == "report" else "publish"],
    )


def test_inputs_are_words_and_never_commands(tmp_path: Path) -> None:
    evil = "x; touch pwned $(touch pwned) `touch pwned`"
    _, _, calls = stage(tmp_path, "plan", "", INPUT_MATRIX=evil, INPUT_RUNNER=f"self-hosted\n{evil}\n")
    assert calls == [f"plan {evil} --out o ut --github --runner self-hosted --runner {evil}"]
    assert not Path("pwned").exists()


@pytest.mark.network
def test_the_tool_is_made_ready_beside_the_users_python(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "runner").mkdir(parents=True)
    (project / "runner" / "__init__.py").write_text("raise SystemExit('the wrong runner')", encoding="utf-8")
    temp = tmp_path / "temp with a blank"
    temp.mkdir()
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "RUNNER_TEMP": str(temp),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PYTHONPATH": str(project),
    }
    script = ["bash", str(ROOT / "action" / "bootstrap.sh")]
    first = subprocess.run(script, cwd=project, env=environ, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout.startswith("triton-compat ")
    tool = (tmp_path / "output").read_text(encoding="utf-8").strip().removeprefix("tool=")
    assert Path(tool).is_relative_to(temp)
    helped = subprocess.run([tool, "publish", "--help"], cwd=project, env=environ, capture_output=True, check=False)
    assert helped.returncode == 0
    again = subprocess.run(script, cwd=project, env={**environ, "PATH": "/usr/bin:/bin"}, check=False)
    assert again.returncode == 0, "made ready once, it needs neither network nor python3"
