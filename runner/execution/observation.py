"""The environment as it really is, found out by a short process beside the first worker."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.execution.surroundings import TOKEN
from runner.execution.worker import INSIDE
from runner.model.result import ObservedEnvironment

OBSERVE_SECONDS = 60.0
NICENESS = 10


class Observation:
    """A running observation; its failure is a note, never an end.

    Args:
        python: the tested interpreter.
        variables: those of the tests, so that the same packages and GPUs are seen.
        folder: where it starts.
    """

    def __init__(self, python: Path, variables: Mapping[str, str], folder: Path) -> None:
        self._popen = subprocess.Popen(
            [str(python), "-P", str(INSIDE / "observe.py"), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            # Without the mark and in this session, so that it is not taken for something that a worker left behind.
            env={name: value for name, value in variables.items() if name != TOKEN},
            process_group=0,
        )
        with contextlib.suppress(OSError):  # the first tests run meanwhile, and they are what the user waits for
            os.setpriority(os.PRIO_PROCESS, self._popen.pid, NICENESS)

    def finish(
        self, hello: Mapping[str, Any], fingerprint: str, seconds: float = OBSERVE_SECONDS
    ) -> ObservedEnvironment:
        """Wait for it, bounded, and put it together with what the worker said of itself.

        Args:
            hello: the first worker's description of itself.
            fingerprint: of the environment as it was made.
            seconds: how long to wait at most.
        """
        try:
            output, _ = self._popen.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            output, _ = self._popen.communicate()
        seen: dict[str, Any] = {}
        for line in output.splitlines():
            try:
                seen.update(json.loads(line))
            except ValueError:
                continue
        packages = seen.get("packages", {})
        return ObservedEnvironment(
            python=hello["python"],
            build=hello["build"],
            soabi=hello["soabi"],
            executable=hello["executable"],
            triton=packages.get("triton"),
            torch=packages.get("torch"),
            packages=packages,
            driver=seen.get("driver"),
            gpus=tuple(seen.get("gpus", ())),
            platform=seen.get("platform", ""),
            fingerprint=fingerprint,
        )

    def abandon(self) -> None:
        """End it without its result."""
        self._popen.kill()
        self._popen.communicate()
