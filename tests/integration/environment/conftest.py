"""Real Pythons of this machine, and small environments from real wheels."""

from __future__ import annotations

import dataclasses
import os
import select
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.environment.interpreters import find_on_machine
from runner.environment.places import Places
from runner.environment.probe import Interpreter
from runner.model.cell import PythonBuild
from runner.model.plan import Pin, PlannedEnvironment

PLUGGY = Pin(
    name="pluggy",
    version="1.6.0",
    filename="pluggy-1.6.0-py3-none-any.whl",
    sha256="e920276dd6813095e9377c0bc5566d94c932c33b27a3e3945d8389c374dd4746",
    size=20538,
)
INICONFIG = Pin(
    name="iniconfig",
    version="2.1.0",
    filename="iniconfig-2.1.0-py3-none-any.whl",
    sha256="9deba5723312380e77435581c6bf4935c94cbfab9b1ed33ef8d238ea168eb760",
    size=6050,
)
OLDER_INICONFIG = Pin(
    name="iniconfig",
    version="2.0.0",
    filename="iniconfig-2.0.0-py3-none-any.whl",
    sha256="b6a85871a79d2e3b22d2d1b94ac2824226a63c6b741c88f7ae975f18b6778374",
    size=5892,
)
TRITON = Pin(
    name="triton",
    version="3.7.0",
    filename="triton-3.7.0-cp313-cp313-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    sha256="a35d7afe3f3f058e7ec49fcce09794049e0ffc5c59019ac25ec3413741b8c4e7",
    size=201453566,
)
SETUPTOOLS = Pin(name="setuptools", version="80.9.0", filename="setuptools-80.9.0-py3-none-any.whl")

Planned = Callable[..., PlannedEnvironment]


def ends(pid: int) -> bool:
    """Whether a process has ended or ends within a minute: SIGKILL is sent at once, and takes effect a little later."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    try:
        return bool(ended.poll(60_000))
    finally:
        os.close(descriptor)


@pytest.fixture(scope="session")
def python313() -> Interpreter:
    """A 3.13 with the GIL that stands on this machine."""
    found, _ = find_on_machine(PythonBuild.parse("3.13"), Places.of_this_machine())
    if found is None:
        pytest.skip("no Python 3.13 on this machine")
    return found


@pytest.fixture
def nowhere(tmp_path: Path) -> Places:
    """A machine without any Python."""
    return Places(path=(), versions=(), made=tmp_path / "made", prefixes=())


@pytest.fixture
def only313(python313: Interpreter, nowhere: Places) -> Places:
    """A machine with that one Python."""
    return dataclasses.replace(nowhere, path=(python313.executable.parent,))


@pytest.fixture
def planned() -> Planned:
    """Makes a planned environment on 3.13; its fingerprint follows its pins unless one is given."""

    def make(*pins: Pin, **fields: object) -> PlannedEnvironment:
        described = {"id": "py3.13-demo", "python": "3.13", "triton": None, "torch": None, "pins": pins}
        described["fingerprint"] = repr(pins)
        return PlannedEnvironment.model_validate(described | fields)

    return make
