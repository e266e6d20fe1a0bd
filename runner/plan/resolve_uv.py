"""Asking uv which versions go together, for a Python that need not exist on this machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import uv
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from runner.errors import IndexUnreachableError, ResolutionError
from runner.plan.index import PackageIndex
from runner.plan.resolve_reasons import bounded, explanation
from runner.plan.wheels import Platform, Target

_SECONDS = 900
_KEPT_SETTINGS = re.compile(
    r"UV_(HTTP_\w+|REQUEST_TIMEOUT|NATIVE_TLS|SYSTEM_CERTS|KEYRING_PROVIDER|INSECURE_HOST|CONCURRENT_\w+)"
)
_KNOWN_GLIBC = ((2, 17), (2, 28), *((2, minor) for minor in range(31, 41)))
# Pages are asked for in every run, so that uv sees what the index client has seen; wheels' metadata does not change. uv
# decides this when it stores an answer, and with such a line --refresh does nothing: hence a cache of its own.
_CONFIGURATION = """
[[index]]
url = {url}
default = true
cache-control = {{ api = "max-age=0", files = "max-age=86400" }}
"""
_NO_ANSWER = re.compile(
    r"Failed to fetch|error sending request|Request failed after|client error|timed out"
    r"|HTTP status (client|server) error|was not found in the cache|network (was|connectivity is) disabled",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answer:
    """What uv made of a set of requirements.

    Attributes:
        versions: normalized name to exact version, in uv's order; empty when they do not go together.
        refusal: why they do not go together, in one bounded line, or None.
    """

    versions: dict[str, str] = field(default_factory=dict)
    refusal: str | None = None


@dataclass(frozen=True)
class _Question:
    lines: tuple[str, ...]
    constraints: tuple[str, ...]
    target: Target
    built: tuple[str, ...]


class Uv:
    """`uv pip compile` with nothing that a user's configuration could change.

    Args:
        index: whose address and reachability uv shares.
        environ: the process's environment; uv's network settings are taken from it, and no others.
    """

    def __init__(self, index: PackageIndex, environ: Mapping[str, str]) -> None:
        self._index = index
        self._binary = uv.find_uv_bin()
        self._built: set[str] = set()
        self._environ = {
            name: value
            for name, value in environ.items()
            if name not in {"VIRTUAL_ENV", "CONDA_PREFIX"}
            and (not name.startswith("UV_") or _KEPT_SETTINGS.fullmatch(name))
        }

    @cached_property
    def version(self) -> str:
        """`uv 0.13.9`, without the build."""
        found = subprocess.run(
            [self._binary, "--version"], capture_output=True, text=True, check=True, env=self._environ
        )
        return " ".join(found.stdout.split()[:2])

    def compile(
        self, lines: Sequence[str], constraints: Sequence[str], target: Target, *, built: Sequence[str] = ()
    ) -> Answer:
        """Find versions that go together, wheels only.

        uv knows the builds with the GIL alone here, so for a free-threaded target its wheels must be checked after.

        Args:
            lines: requirements, as in a requirements file.
            constraints: further specifiers for packages that may or may not be needed.
            target: the Python build and platform.
            built: names of local projects whose metadata may be built.

        Raises:
            IndexUnreachableError: uv got no answer from the index, or lacks something in its cache when offline.
            ResolutionError: uv could not work with the requirements at all.
        """
        question = _Question(tuple(lines), tuple(constraints), target, tuple(built))
        offline = self._index.offline or self._index.is_down
        done = self._run(question, offline=offline)
        if done.returncode and not offline and _NO_ANSWER.search(done.stderr):
            done = self._run(question, offline=True)
            if not done.returncode:
                self._index.notice(
                    f"The package index {self._index.shown_url} did not answer uv, which used its cache instead."
                )
        elif not offline:
            self._built |= set(built)
        return self._read(done, question)

    def _read(self, done: subprocess.CompletedProcess[str], question: _Question) -> Answer:
        wanted = ", ".join(question.lines)[:200]
        if not done.returncode:
            return Answer(versions=_versions(done.stdout))
        if _NO_ANSWER.search(done.stderr):
            raise IndexUnreachableError(
                f"uv could not resolve {wanted} from {self._index.shown_url}: {_shown(done.stderr)}",
                remedy="Check the network, or run once where the index is reachable so that the cache holds it.",
            )
        if "No solution found" in done.stderr:
            return Answer(refusal=explanation(_shown(done.stderr, 100_000)))
        raise ResolutionError(
            f"uv could not resolve {wanted}: {_shown(done.stderr)}",
            remedy="Correct the requirement it names"
            + (
                "; a project lists its dependencies best in pyproject.toml, not dynamically." if question.built else "."
            ),
        )

    def _run(self, question: _Question, *, offline: bool) -> subprocess.CompletedProcess[str]:
        flags = ["--no-header", "--no-annotate", "--no-progress", "--color=never", "--no-sources"]
        flags += ["--cache-dir", str(self._index.cache_folder / "uv"), "--only-binary", ":all:"]
        flags += ["--no-python-downloads", "--python", sys.executable]
        flags += ["--python-version", question.target.python_full_version]
        flags += ["--python-platform", _uv_platform(question.target.platform)]
        for name in question.built:
            flags += ["--no-binary", name]
        if offline:
            flags.append("--offline")
        else:
            # uv by itself would notice a changed setup.py, but not a changed requirements.txt.
            flags += [f"--refresh-package={name}" for name in question.built if name not in self._built]
        # An empty folder: uv would otherwise read the workspace around the working directory.
        with tempfile.TemporaryDirectory(prefix="triton-compat-") as name:
            folder = Path(name)
            # In place of every configuration of the user's, and not among the arguments, which every user can see.
            text = _CONFIGURATION.format(url=json.dumps(self._index.url))
            (folder / "uv.toml").write_text(text, encoding="utf-8")
            (folder / "constraints.txt").write_text("\n".join([*question.constraints, ""]), encoding="utf-8")
            flags += ["--config-file", str(folder / "uv.toml"), "--constraints", str(folder / "constraints.txt")]
            command = [self._binary, "pip", "compile", *flags, "-"]
            try:
                return subprocess.run(
                    command,
                    input="\n".join([*question.lines, ""]),
                    capture_output=True,
                    text=True,
                    errors="replace",
                    check=False,
                    cwd=folder,
                    env=self._environ,
                    timeout=_SECONDS,
                )
            except subprocess.TimeoutExpired as error:
                raise IndexUnreachableError(
                    f"uv did not finish resolving {', '.join(question.lines)[:200]} within {_SECONDS} seconds."
                ) from error


def _versions(output: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in output.splitlines():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue  # an empty line
        pins = list(requirement.specifier)
        if requirement.url is None and len(pins) == 1:
            found[canonicalize_name(requirement.name)] = pins[0].version
    return found


def _uv_platform(platform: Platform) -> str:
    known = max((glibc for glibc in _KNOWN_GLIBC if glibc <= platform.glibc), default=_KNOWN_GLIBC[0])
    return "{}-manylinux_{}_{}".format(platform.machine, *known)


def _shown(stderr: str, most: int = 600) -> str:
    """What it said, without its warnings and without credentials in addresses."""
    lines = [line for line in stderr.splitlines() if not line.startswith("warning:")]
    return bounded(re.sub(r"://[^/\s@]+@", "://", " ".join(lines)), most)
