"""Fill an environment's folder with exactly the pinned packages, and prove that it holds them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename

from runner.environment.contents import damaged_distributions
from runner.environment.probe import Interpreter
from runner.environment.process import Finished, run
from runner.environment.progress import Progress
from runner.environment.projects import build_wheel
from runner.environment.uv import run_uv
from runner.errors import EnvironmentFailedError
from runner.model.plan import Pin

_INSTALL_SECONDS = 3600.0
_UNPACKED = 3.5  # bytes on disk for each byte of a wheel; libtriton has 3.3, torch 2.2
_LIST = """
import importlib.metadata as metadata, json, sysconfig
found = [(d.metadata["Name"], d.version) for d in metadata.distributions(path=[sysconfig.get_path("purelib")])]
print("installed:" + json.dumps([found, sysconfig.get_path("purelib")]))
"""


def install(
    folder: Path,
    interpreter: Interpreter,
    pins: Sequence[Pin],
    local: Sequence[Path],
    *,
    progress: Progress,
    offline: bool,
    inherit: int,
) -> None:
    """Make a virtual environment in `folder`, which must not exist.

    Args:
        folder: the environment's own.
        interpreter: it is made from.
        pins: packages from the index; wheels alone, and where the plan knows a digest only the wheel that has it.
        local: the user's folders, built and installed last.
        progress: told the stages.
        offline: use uv's cache alone.
        inherit: descriptor of the lock on the folder, which uv keeps open.

    Raises:
        EnvironmentFailedError: uv failed (with the end of its output), the disk is short, a project did not build, or
            the result is not exactly what was pinned.
    """
    made = run_uv("venv", "--python", interpreter.executable, folder, timeout=120, offline=True, inherit=[inherit])
    if made.code != 0:
        raise _failed(f"uv venv with {interpreter.executable}", made)
    python = folder / "bin" / "python"
    with _scratch(folder) as scratch:
        if pins:
            requirements = scratch / "requirements.txt"
            requirements.write_text("".join(map(_requirement, pins)), encoding="utf-8")
            _install_pins(python, requirements, pins, progress=progress, offline=offline, inherit=inherit)
        expected = {str(canonicalize_name(pin.name)): pin.version for pin in pins}
        for number, project in enumerate(local):
            progress(f"building {project}")
            wheel = build_wheel(project, python, scratch / str(number), offline=offline)
            finished = run_uv("pip", "install", *_options(python), wheel, timeout=600, offline=True, inherit=[inherit])
            if finished.code != 0:
                raise _failed(f"installing {wheel.name}", finished)
            name, version, *_ = parse_wheel_filename(wheel.name)
            expected[str(name)] = str(version)
    _prove(python, expected)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder beside the environment's, under a name that its lock gives to one maker: what a kill left is found."""
    scratch = folder.with_name(f".making-{folder.name}")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _requirement(pin: Pin) -> str:
    digest = f" --hash=sha256:{pin.sha256}" if pin.sha256 else ""
    return f"{pin.name}=={pin.version}{digest}\n"


def _options(python: Path) -> tuple[str | Path, ...]:
    return ("--python", python, "--no-deps", "--only-binary", ":all:", "--link-mode", "hardlink")


def _install_pins(
    python: Path, requirements: Path, pins: Sequence[Pin], *, progress: Progress, offline: bool, inherit: int
) -> None:
    # Every pin is exact, so what the cache holds is right: with a warm cache the network is not touched at all.
    command: list[str | Path] = ["pip", "install", *_options(python), "-r", requirements]
    if all(pin.sha256 for pin in pins):
        command.append("--require-hashes")
    finished = run_uv(*command, timeout=_INSTALL_SECONDS, offline=True, inherit=[inherit])
    if finished.code != 0 and not offline:
        size = sum(pin.size or 0 for pin in pins)
        _require_space(python.parent.parent, size)
        progress(f"downloading what uv's cache lacks of {len(pins)} packages ({size / 1e6:.0f} MB)")
        finished = run_uv(*command, timeout=_INSTALL_SECONDS, inherit=[inherit])
    if finished.code != 0:
        raise _failed("uv pip install" + (" --offline" if offline else ""), finished)
    site_packages = next((python.parent.parent / "lib").glob("python3*/site-packages"))
    if damaged := damaged_distributions(site_packages):
        _repair(command, damaged, progress=progress, offline=offline, inherit=inherit)
        if still := damaged_distributions(site_packages):
            raise EnvironmentFailedError(f"Files are not what their wheels say, even after a new download: {still}")


def _repair(
    command: Sequence[str | Path], damaged: Mapping[str, str], *, progress: Progress, offline: bool, inherit: int
) -> None:
    """Something wrote through a hard link into uv's cache; have uv forget those packages and fetch them again."""
    name, path = next(iter(damaged.items()))
    what = f"uv's cache holds {path} changed since {name} was unpacked (a test of some environment wrote into it)"
    if offline:
        raise EnvironmentFailedError(
            what, remedy=f"Run `uv cache clean {' '.join(damaged)}`, then again with a network."
        )
    progress(f"{what}; fetching {', '.join(damaged)} again")
    run_uv("cache", "clean", *damaged, timeout=600)
    switches = [part for name in damaged for part in ("--reinstall-package", name)]
    finished = run_uv(*command, *switches, timeout=_INSTALL_SECONDS, inherit=[inherit])
    if finished.code != 0:
        raise _failed("uv pip install of what was damaged", finished)


def _require_space(folder: Path, download: int) -> None:
    needed, free = int(download * _UNPACKED), shutil.disk_usage(folder).free
    if free < needed:
        raise EnvironmentFailedError(
            f"{folder} needs about {needed / 1e9:.1f} GB, and its disk has {free / 1e9:.1f} GB free",
            remedy="Free some space (`uv cache prune` removes what nothing uses) or choose another output folder.",
        )


def _prove(python: Path, expected: Mapping[str, str]) -> None:
    """Compare what is installed with what was pinned, as the environment's own Python sees it."""
    finished = run([python, "-I", "-B", "-c", _LIST], timeout=120)
    line = next((line for line in finished.output.splitlines() if line.startswith("installed:")), None)
    if finished.code != 0 or line is None:
        raise _failed(f"{python}, asked what is installed,", finished)
    pairs, _ = json.loads(line.removeprefix("installed:"))
    found = {str(canonicalize_name(name)): version for name, version in pairs}
    if found != expected:
        wrong = [
            f"{name}: pinned {expected.get(name, 'nothing')}, installed {found.get(name, 'nothing')}"
            for name in sorted(found.keys() | expected.keys())
            if found.get(name) != expected.get(name)
        ]
        raise EnvironmentFailedError("The environment is not what was pinned: " + "; ".join(wrong[:10]))


def _failed(what: str, finished: Finished) -> EnvironmentFailedError:
    return EnvironmentFailedError(f"{what} {finished.end}\n{finished.last_lines(30)}")
