"""The second environment of a Triton whose wheel is in the cache: ours beside tox with tox-uv, and nox with virtualenv.

Each round makes the environment once with each tool, one after the other, in folders that did not exist, as whole
processes. What is printed are medians and the ratios of each round, which hold where the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from runner.environment.interpreters import find_interpreter
from runner.model.cell import PythonBuild
from runner.model.plan import Plan

TRITON = "3.7.0"
MATRIX = f"python: 3.12\ngil: on\ntriton: {TRITON}\ntorch: none\nproject:\n  tests: tests\n"
OURS = """
import sys
from pathlib import Path
from runner.environment.environments import make_environment
from runner.model.plan import Plan
(environment,) = Plan.read(Path(sys.argv[1])).environments
make_environment(environment, root=Path.cwd(), store=Path(sys.argv[2]), offline=True)
"""
TOX = """
[tox]
env_list = bench
[testenv:bench]
skip_install = true
base_python = {python}
deps =
{deps}
"""
NOX = """
import nox
@nox.session(python={python!r}, venv_backend="virtualenv")
def bench(session):
    session.install({deps})
"""


def main() -> int:
    """Measure and print; exit 1 when ours is not the fastest in the median."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    python = find_interpreter(PythonBuild.parse("3.12")).executable
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        plan = make_plan(folder)
        pins = [f"{pin.name}=={pin.version}" for pin in plan.environments[0].pins]
        commands = {
            "triton-compat": [sys.executable, "-c", OURS, str(folder / "plan.json")],
            f"tox {version('tox')} with tox-uv {version('tox-uv')}": tox_command(folder, python, pins),
            f"nox {version('nox')} with virtualenv {version('virtualenv')}": nox_command(folder, python, pins),
        }
        for command in commands.values():  # fills every cache; not counted
            once(folder, command)
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                seconds[name].append(once(folder, command))
    ours = seconds["triton-compat"]
    print(f"Second environment of Triton {TRITON} with pytest, every wheel cached, {rounds} rounds:")
    for name, taken in seconds.items():
        ratio = statistics.median(other / own for own, other in zip(ours, taken, strict=True))
        print(f"  {name:<44} {statistics.median(taken):7.2f} s   {ratio:5.2f} times ours")
    return 0 if all(statistics.median(ours) <= statistics.median(taken) for taken in seconds.values()) else 1


def make_plan(folder: Path) -> Plan:
    """A plan of one environment, made by the tool itself."""
    (folder / "tests").mkdir()
    (folder / "matrix.yml").write_text(MATRIX)
    words = ["plan", str(folder / "matrix.yml"), "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "runner", *words], check=True, stdout=subprocess.DEVNULL)
    return Plan.read(folder / "plan.json")


def tox_command(folder: Path, python: Path, pins: list[str]) -> list[str]:
    """How tox makes it."""
    deps = "\n".join(f"    {pin}" for pin in pins)
    (folder / "tox.ini").write_text(TOX.format(python=python, deps=deps))
    return [sys.executable, "-m", "tox", "run", "--notest", "-q", "-c", str(folder / "tox.ini"), "--workdir"]


def nox_command(folder: Path, python: Path, pins: list[str]) -> list[str]:
    """How nox makes it."""
    (folder / "bench_noxfile.py").write_text(NOX.format(python=str(python), deps=", ".join(map(repr, pins))))
    return [sys.executable, "-m", "nox", "-f", str(folder / "bench_noxfile.py"), "--install-only", "--envdir"]


def once(folder: Path, command: list[str]) -> float:
    """Seconds of the whole process that makes the environment in a new folder, the command's last word."""
    made = folder / "made"
    started = time.perf_counter()
    finished = subprocess.run(
        [*command, str(made)], cwd=folder, env=os.environ, capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - started
    if finished.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{finished.stdout}\n{finished.stderr}")
    shutil.rmtree(made)
    return taken


if __name__ == "__main__":
    raise SystemExit(main())
