#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["nox"]
# ///
"""Drives everything: `python3 noxfile.py -s matrix` on a bare machine, `nox -s matrix` where nox is at hand.

Whichever way it is started, it runs in the tool's own environment (`.nox/tool`, made from requirements.lock with
every hash checked), so that neither the user's Python nor an old nox decides what the sessions can do.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TOOL = ROOT / ".nox" / "tool"
INSIDE_TOOL = "TRITON_COMPAT_INSIDE_TOOL"


def make_tool_environment() -> Path:
    """Make `.nox/tool` unless it is there and whole; return its Python."""
    lock = ROOT / "requirements.lock"
    stamp, python = TOOL / "complete", TOOL / "bin" / "python"
    decides = (lock.read_bytes(), Path(__file__).read_bytes(), sys.version.encode(), str(ROOT).encode())
    wanted = hashlib.sha256(b"\0".join(decides)).hexdigest()
    TOOL.parent.mkdir(exist_ok=True)
    with (TOOL.parent / "tool.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # two nox started at once make it once
        if not (stamp.exists() and stamp.read_text() == wanted):
            print("triton-compat: making its own environment in .nox/tool", file=sys.stderr, flush=True)
            shutil.rmtree(TOOL, ignore_errors=True)
            venv.create(TOOL, with_pip=True, symlinks=True)
            subprocess.run(
                [
                    python,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--require-hashes",
                    "-r",
                    lock,
                ],
                check=True,
            )
            site = next((TOOL / "lib").glob("python3*")) / "site-packages"
            (site / "triton_compat.pth").write_text(f"{ROOT}\n")
            command = TOOL / "bin" / "triton-compat"
            command.write_text(f"#!{python}\nfrom runner.cli import main\nraise SystemExit(main())\n")
            command.chmod(0o755)
            stamp.write_text(wanted)
    return python


try:
    import nox

    from runner import sessions
except ImportError:
    if INSIDE_TOOL in os.environ:
        raise
    python = make_tool_environment()
    os.environ[INSIDE_TOOL] = "1"
    os.execv(python, [str(python), "-m", "nox", "--noxfile", __file__, *sys.argv[1:]])  # noqa: S606 - no shell wanted

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["matrix"]

sessions.register(ROOT / "matrices" / "quickstart.yml", noxfile=Path(__file__).resolve())


def _install_development(session: nox.Session) -> None:
    session.install("--quiet", "--require-hashes", "-r", "requirements-dev.lock")
    session.install("--quiet", "--no-deps", "-e", ".")


@nox.session
def tests(session: nox.Session) -> None:
    """Every test but the end-to-end ones; arguments after -- go to pytest."""
    _install_development(session)
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Format, lint, strict types, and the linters of workflows and schemas."""
    _install_development(session)
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("check-jsonschema", "--schemafile", "matrices/matrix.schema.json", *_files("matrices/*.yml"))
    if actions := _files("action.yml"):
        session.run("check-jsonschema", "--builtin-schema", "vendor.github-actions", *actions)
    session.run("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml")
    forms = [form for form in _files(".github/ISSUE_TEMPLATE/*.yml") if not form.endswith("config.yml")]
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", *forms)
    if workflows := _files(".github/workflows/*.yml"):
        session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
        session.run("zizmor", "--offline", "--quiet", "--persona", "pedantic", ".github", "action.yml")
        # `$/` alone is the action at the root of the workflow's own repository; actionlint wants a path after it.
        session.run("actionlint", "-ignore", r'specifying action "\$/" in invalid format', *workflows)


@nox.session
def e2e(session: nox.Session) -> None:
    """The workflows as a user's repository runs them, by act on this machine; arguments after -- go to pytest."""
    _install_development(session)
    session.run("pytest", "tests/e2e", *session.posargs)


@nox.session
def experiments(session: nox.Session) -> None:
    """Whole experiments on everything that is planted, with one table at the end; arguments after -- go to pytest."""
    _install_development(session)
    session.run("pytest", "tests/integration/experiment", "-m", "", *session.posargs)  # those of `tests` among them


@nox.session
def bench(session: nox.Session) -> None:
    """Speed as ratios, each measured side by side in one run with the peer pinned."""
    _install_development(session)
    for script in _files("benchmarks/*.py"):
        session.run("python", script, *session.posargs)


@nox.session(venv_backend="none")
def lock(session: nox.Session) -> None:
    """Write the lock files anew."""
    common = ("uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate")
    session.run(*common, "pyproject.toml", "-o", "requirements.lock", *session.posargs, external=True)
    session.run(
        *common,
        *("pyproject.toml", "--group", "tests", "--group", "lint", "--group", "bench", "--group", "e2e"),
        *("-o", "requirements-dev.lock", *session.posargs),
        external=True,
    )


def _files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


if __name__ == "__main__":
    sys.argv[1:1] = ["--noxfile", __file__]
    nox.main()
