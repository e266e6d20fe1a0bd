"""Signatures of a user's own, from a matrix file and from --rules, as a user gives them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.evidence.rulefile import built_in, with_user_rules
from runner.model.plan import Plan, RuleFile, plan_sha
from runner.model.verdict import Verdict
from tests.unit.verdict.building import plan, result, said
from tests.unit.verdict.examples import failed

RULE = """\
- id: {id}
  categories: [{category}]
  patterns: ['queue is full']
  meaning: {meaning}
  next_step: Make it longer.
  sources: [our handbook]
"""
FULL = failed("RuntimeError: the queue is full", "src/project/queue.py:put")
MATRIX = """\
gil: on
environment:
  - {{name: here, python: {python}}}
project:
  root: .
  tests: tests
signatures: {signatures}
"""


def rule(name: str = "queue-full", category: str = "resource", meaning: str = "The queue is full.") -> str:
    return RULE.format(id=name, category=category, meaning=meaning)


def call(folder: Path, *words: str, ends_with: int) -> str:
    """Run one command in a process of its own; everything that it said."""
    command = [sys.executable, "-m", "runner", *words]
    done = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == ends_with, done.stdout + done.stderr
    return done.stdout + done.stderr


def write(folder: Path, *signatures: RuleFile) -> None:
    """An output folder in which one test of each cell failed."""
    planned = plan().model_copy(update={"signatures": signatures})
    planned.write(folder / ".triton-compat" / "plan.json")
    for cell in planned.cells:
        made = result(planned, cell.key.id, {"test_a.py::test": FULL})
        sha = plan_sha(cell, planned.environment(cell.environment))
        path = folder / ".triton-compat" / "cells" / cell.key.id / "result.json"
        made.model_copy(update={"plan_sha": sha}).write(path)


def evidence(folder: Path) -> str:
    """What the one finding says of its signature."""
    (finding,) = Verdict.read(folder / ".triton-compat" / "verdict.json").findings
    return said(finding, "signature")


def test_judge_reads_a_failure_by_a_rule_of_the_users(tmp_path: Path) -> None:
    write(tmp_path)
    call(tmp_path, "judge", ends_with=1)
    assert evidence(tmp_path) == "The text is no known signature."
    (tmp_path / "mine.yml").write_text(rule())
    call(tmp_path, "judge", "--rules", "mine.yml", ends_with=1)
    assert evidence(tmp_path).startswith("A lead to resource: queue-full. The queue is full.")


def test_the_rules_of_the_plan_need_no_file(tmp_path: Path) -> None:
    write(tmp_path, RuleFile(name="mine.yml", text=rule()))
    call(tmp_path, "judge", ends_with=1)
    assert "queue-full" in evidence(tmp_path)


def test_a_rule_on_the_command_line_goes_before_one_of_the_matrix_file(tmp_path: Path) -> None:
    write(tmp_path, RuleFile(name="mine.yml", text=rule(meaning="Of the matrix.")))
    (tmp_path / "now.yml").write_text(rule(meaning="Of the moment."))
    call(tmp_path, "judge", "--rules", "now.yml", ends_with=1)
    assert "Of the moment." in evidence(tmp_path)


@pytest.mark.parametrize(
    ("content", "exit_code", "words"),
    [
        (None, 11, "mine.yml could not be read: No such file or directory."),
        (b"\xff\xfe", 11, "mine.yml is not text"),
        (rule(category="queue").encode(), 12, "mine.yml:2:16: 'queue' is not a category; the categories are thread-"),
        (b"- id: [", 12, "mine.yml:1:8: "),
        (b"#" * (1024 * 1024 + 1), 11, "mine.yml could not be read: it has more than 1,048,576 bytes."),
    ],
)
def test_a_file_that_cannot_be_used_stops_with_its_place(
    tmp_path: Path, content: bytes | None, exit_code: int, words: str
) -> None:
    write(tmp_path)
    if content is not None:
        (tmp_path / "mine.yml").write_bytes(content)
    told = call(tmp_path, "judge", "--rules", "mine.yml", ends_with=exit_code)
    assert words in told
    assert "docs/attribution.md describes" in told
    assert not (tmp_path / ".triton-compat" / "verdict.json").exists()


def test_a_pipe_is_no_rule_file(tmp_path: Path) -> None:
    write(tmp_path)
    os.mkfifo(tmp_path / "mine.yml")
    told = call(tmp_path, "judge", "--rules", "mine.yml", ends_with=11)
    assert "mine.yml could not be read: it is no regular file." in told


def test_a_mistake_in_the_plans_rules_is_a_users(tmp_path: Path) -> None:
    write(tmp_path, RuleFile(name="mine.yml", text="- {[a]: b}"))
    assert "mine.yml:1:4: the name of a field is a word" in call(tmp_path, "judge", ends_with=12)


class TestMatrixFile:
    def test_its_rules_go_with_the_plan(self, tmp_path: Path) -> None:
        self.write(tmp_path, "[rules/a.yml, rules/b.yml]", a=rule("one"), b=rule("two"))
        call(tmp_path, "plan", "matrix.yml", "--offline", ends_with=0)
        planned = Plan.read(tmp_path / ".triton-compat" / "plan.json")
        assert [(one.name, one.text) for one in planned.signatures] == [
            ("rules/a.yml", rule("one")),
            ("rules/b.yml", rule("two")),
        ]
        assert [one.id for one in with_user_rules(planned.signatures).rules[:2]] == ["two", "one"]

    def test_a_mistake_in_one_stops_the_plan(self, tmp_path: Path) -> None:
        self.write(tmp_path, "rules/a.yml", a=rule("Not An Id"))
        told = call(tmp_path, "plan", "matrix.yml", "--offline", ends_with=12)
        assert "rules/a.yml:1:7: the id 'Not An Id' may hold small letters, digits and '-' alone" in told
        assert not (tmp_path / ".triton-compat" / "plan.json").exists()

    def test_one_that_is_not_there_is_a_mistake_of_the_matrix_file(self, tmp_path: Path) -> None:
        self.write(tmp_path, "rules/a.yml")
        told = call(tmp_path, "plan", "matrix.yml", "--offline", ends_with=12)
        assert "matrix.yml:7:13: there is no file 'rules/a.yml' in" in told

    def write(self, folder: Path, signatures: str, **files: str) -> None:
        (folder / "tests").mkdir()
        for name, text in files.items():
            (folder / "rules").mkdir(exist_ok=True)
            (folder / "rules" / f"{name}.yml").write_text(text)
        (folder / "matrix.yml").write_text(MATRIX.format(python=sys.executable, signatures=signatures))


def test_without_files_the_rules_are_the_shipped_ones() -> None:
    assert with_user_rules(()) is built_in()
