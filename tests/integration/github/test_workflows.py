"""This repository's own workflows: what they may do is little, said with its reason, and pinned."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORK_RECIPE = re.compile(r"```yaml\n(?P<text>.*?)```", re.DOTALL)


def texts() -> list[tuple[str, str]]:
    """The workflows here and those that the documents show."""
    shown = [
        (f"{path.name}, example {number}", match["text"])
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        for number, match in enumerate(FORK_RECIPE.finditer(path.read_text("utf-8")), 1)
        if "uses:" in match["text"]
    ]
    return [(path.name, path.read_text("utf-8")) for path in FILES] + shown


TEXTS = texts()
EACH = pytest.mark.parametrize("text", [text for _, text in TEXTS], ids=[name for name, _ in TEXTS])


@EACH
def test_every_action_is_pinned_by_a_commit_and_named_by_its_version(text: str) -> None:
    for used in re.findall(r"^[ -]*uses: (.*)", text, re.MULTILINE):
        assert re.fullmatch(
            r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
            r"|\$/(\.github/workflows/triton-compat\.yml)?"
            r"|OWNER/REPOSITORY(/\.github/workflows/triton-compat\.yml)?@COMMIT",
            used,
        ), used


def test_one_action_has_one_pin_everywhere() -> None:
    pins = {pin for _, text in TEXTS for pin in re.findall(r"uses: ([\w-]+/[\w-]+@[0-9a-f]{40} # \S+)", text)}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


@EACH
def test_every_permission_is_given_to_one_job_with_its_reason(text: str) -> None:
    granted = re.findall(
        r"^ *(?:contents|pull-requests|actions|checks|id-token): (?:read|write).*$", text, re.MULTILINE
    )
    assert all(re.search(r" # \S+", line) for line in granted), granted
    workflow: dict[str, Any] = yaml.safe_load(text)
    if "permissions" in workflow:
        assert workflow["permissions"] == {}
    assert "pull_request_target" not in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_expression_stands_in_a_script_and_every_job_ends(path: Path) -> None:
    workflow: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    for job in workflow["jobs"].values():
        assert "uses" in job or "timeout-minutes" in job
        assert "permissions" in job
        assert [step for step in job.get("steps", ()) if "${{" in step.get("run", "")] == []


def script(step: str) -> str:
    """A script of the release workflow."""
    workflow: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    steps = [found for job in workflow["jobs"].values() for found in job["steps"] if found.get("name") == step]
    return str(steps[0]["run"])


MOVE = "Move vX, unless a newer release of it is out"
CHECK = "The tag is the version of the code, and the changelog knows it"


def run(folder: Path, step: str, tag: str, *, gh: str = "") -> tuple[int, str, str]:
    """Run a script with a `gh` that notes what it is asked for and does what is given."""
    program = folder / "gh"
    program.write_text(f'#!/usr/bin/env bash\nprintf "%s\\n" "$*" >> "{folder}/asked"\n{gh}\n', encoding="utf-8")
    program.chmod(0o755)
    variables = {"GITHUB_REF_NAME": tag, "GITHUB_SHA": "a" * 40, "GITHUB_REPOSITORY": "octo/compat"}
    environ = {**os.environ, **variables, "RUNNER_TEMP": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["bash", "-e", "-o", "pipefail", "-c", script(step)]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    asked = folder / "asked"
    return done.returncode, done.stdout, asked.read_text(encoding="utf-8") if asked.exists() else ""


@pytest.mark.parametrize(
    ("tag", "there", "moved"),
    [("v1.10.0", True, "PATCH"), ("v1.10.0", False, "POST"), ("v1.9.1", True, None), ("v2.0.0", False, "POST")],
)
def test_the_moving_tag_follows_the_newest_release_alone(
    tmp_path: Path, tag: str, there: bool, moved: str | None
) -> None:
    releases = "v1.10.0 v1.9.1 v1.2.0 v2.0.0 v10.0.0"
    gh = f'case "$*" in release*) printf "%s\\n" {releases} ;; */ref/*) exit {int(not there)} ;; esac'
    code, said, asked = run(tmp_path, MOVE, tag, gh=gh)
    assert code == 0
    major = tag.partition(".")[0]
    changes = [line for line in asked.splitlines() if "--method" in line]
    if moved is None:
        assert changes == []
        assert "v1 stays at v1.10.0" in said
    else:
        (change,) = changes
        assert change.startswith(f"api --method {moved} repos/octo/compat/git/refs")
        assert f"tags/{major} " in change
        assert f"sha={'a' * 40}" in change


@pytest.mark.parametrize(("tag", "code"), [("v0.1.0", 0), ("v0.1.1", 1), ("v0.2.0", 1)])
def test_a_tag_that_the_code_or_the_changelog_does_not_know_is_refused(tmp_path: Path, tag: str, code: int) -> None:
    (tmp_path / "runner").mkdir()
    (tmp_path / "runner" / "__init__.py").write_text('__version__ = "0.1.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n\n## 0.1.0 - 2026-12-01\n\n- First.\n", encoding="utf-8")
    assert run(tmp_path, CHECK, tag)[0] == code


def test_a_release_says_what_the_changelog_says_of_it(tmp_path: Path) -> None:
    text = "## Unreleased\n\n- No.\n\n## 0.2.0 - 2026-12-02\n\n### Added\n\n- Yes.\n\n## 0.1.0 - 2026-12-01\n\n- Old.\n"
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    code, _, asked = run(tmp_path, "Release", "v0.2.0")
    assert code == 0
    assert asked.startswith("release create v0.2.0 --verify-tag ")
    assert (tmp_path / "notes.md").read_text(encoding="utf-8").strip() == "### Added\n\n- Yes."


def test_the_workflows_that_the_documents_show_are_clean(tmp_path: Path) -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    if zizmor is None:
        pytest.skip("zizmor belongs to the linters, which are not installed here")
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    for number, (_, text) in enumerate(TEXTS[len(FILES) :]):
        if "\non:" in text:
            pinned = text.replace("@COMMIT", f"@{'a' * 40} # v1.0.0")
            (folder / f"{number}.yml").write_text(pinned, encoding="utf-8")
    assert len(list(folder.iterdir())) >= 3
    done = subprocess.run([zizmor, "--offline", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
