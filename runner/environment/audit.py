"""Asks every extension module of an environment about the GIL, each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.model.audit import Audit, AuditRow, GilDeclaration, GilEffect, InitStyle

PROBE = Path(__file__).parents[1] / "inside" / "_triton_compat_audit.py"
LIMIT_SECONDS = 120.0
"""That loading one module may take; libtorch needs some on a cold disk."""


@dataclass(frozen=True)
class _Answer:
    """What a probe process said: its JSON, or why there is none."""

    row: dict[str, Any] | None
    problem: str | None


def audit(
    python: Path,
    *,
    environ: Mapping[str, str],
    caches: Sequence[Path] = (),
    side_by_side: int = 2,
    limit_seconds: float = LIMIT_SECONDS,
    progress: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Probe every extension module of an environment.

    Args:
        python: the environment's interpreter.
        environ: the environment to run it in; `PYTHON_GIL` is removed, so that the effect is what a user sees.
        caches: folders with modules that were compiled at run time, such as a Triton cache.
        side_by_side: how many probes run at once.
        limit_seconds: for one probe; a module that takes longer hangs.
        progress: told the name of each module as its probe ends.

    Returns:
        One row for each module, sorted; a crash or a hang of one is a row.

    Raises:
        UsageError: `python` is no interpreter that can be asked.
    """
    clean = {name: value for name, value in environ.items() if name != "PYTHON_GIL"}
    ask = partial(_ask, python, environ=clean, limit_seconds=limit_seconds)
    listed = ask(["list", *map(str, caches)])
    if listed.row is None:
        raise UsageError(f"{python} cannot be audited: {listed.problem}", remedy="Name the Python of an environment.")

    def probe(module: dict[str, Any]) -> AuditRow:
        row = _probe(module, ask)
        progress(row.module)
        return row

    with ThreadPoolExecutor(max_workers=max(1, side_by_side)) as pool:
        rows = sorted(pool.map(probe, listed.row["modules"]), key=lambda row: (row.run_time, row.module, row.file))
    return Audit(
        executable=str(python),
        python=" ".join(listed.row["python"].split()),
        soabi=listed.row["soabi"],
        free_threaded=listed.row["free_threaded"],
        rows=tuple(rows),
    )


def _probe(module: dict[str, Any], ask: Callable[[list[str]], _Answer]) -> AuditRow:
    base = AuditRow(
        module=module["name"],
        file=_short(module["path"]),
        distribution=module["distribution"],
        run_time=module.get("run_time", False),
        importable=module["importable"],
    )
    if not base.importable:
        return base.model_copy(update={"problem": "its file name is another interpreter's"})
    answer = ask(["file", module["name"], module["path"]])
    if answer.row is None or "style" not in answer.row:
        # Some modules load within their package alone (torch's need its libraries): import it as a user would.
        within = ask(["import", module["name"], module["path"]]) if not base.run_time else answer
        answer = within if within.row is not None and "style" in within.row else answer
    if answer.row is None:
        return base.model_copy(update={"problem": answer.problem})
    row = answer.row
    known = "style" in row
    return base.model_copy(
        update={
            "style": InitStyle(row.get("style", InitStyle.UNKNOWN)),
            "declares": GilDeclaration(row.get("declares", GilDeclaration.UNKNOWN)),
            "effect": _effect(row) if known else GilEffect.UNKNOWN,
            "problem": None if known else row.get("error", "it was never created"),
        }
    )


def _effect(row: dict[str, Any]) -> GilEffect:
    if not row["free_threaded"]:
        return GilEffect.NOT_APPLICABLE
    if row["gil_before"]:
        return GilEffect.UNKNOWN
    return GilEffect.SWITCHES_ON if row["gil_after"] else GilEffect.NONE


def _ask(python: Path, words: Sequence[str], *, environ: Mapping[str, str], limit_seconds: float) -> _Answer:
    try:
        process = subprocess.Popen(
            [python, "-B", PROBE, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,  # so that what a module starts can be ended with it
        )
    except OSError as error:
        return _Answer(None, str(error))
    try:
        output, errors = process.communicate(timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return _Answer(None, f"hung: no answer within {limit_seconds:.0f} s")
    if process.returncode < 0:
        return _Answer(None, f"crashed with {signal.Signals(-process.returncode).name}")
    try:
        row = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        return _Answer(None, f"ended with exit status {process.returncode}: {last[0][:300]}")
    return _Answer(row, None)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended in this very moment
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _short(path: str) -> str:
    """The part of a path after site-packages: the rest is the same for every row."""
    return path.rpartition("/site-packages/")[2]
