"""What Triton's compiler worked on when it failed: the MLIR reproducer, and the kernel's IR after each stage.

Measured with Triton 3.2 to 3.9: with `TRITON_REPRODUCER_PATH` the pass manager writes the module and its pipeline
before each stage, so that they are there also after a crash. 3.2 and 3.3 write one file over and over, later releases
one for each stage. With `TRITON_KERNEL_DUMP` every stage that comes to an end leaves its result.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from runner.model.contrast import Dump

REPRODUCER = "reproducer.mlir"
STAGES = (".ttir", ".ttgir", ".llir", ".ptx")
MOST_BYTES = 2 * 1024 * 1024
"""Of one file; a larger one is left out, and it is said."""
_QUOTED_PATH = re.compile(r'"(?P<path>/[^"\n]{1,4096})"')
_ARCHITECTURE = re.compile(r"\bcuda:(\d{2,3})\b")
_WARPS = re.compile(r'num-warps"?\s?=\s?(\d{1,2})\b')
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def dump_variables(folder: Path) -> dict[str, str]:
    """The variables with which a run leaves what the compiler worked on in that folder."""
    return {
        "TRITON_ALWAYS_COMPILE": "1",
        "TRITON_DUMP_DIR": str(folder / "stages"),
        "TRITON_KERNEL_DUMP": "1",
        "TRITON_REPRODUCER_PATH": str(folder / REPRODUCER),
    }


def collect_dump(folder: Path, target: Path, *, root: str, test: str) -> Dump | None:
    """Copy what belongs to the failure, without paths of this machine.

    The newest reproducer is that of the stage that failed, and the newest kernel the one that it failed on: a test may
    compile many before it.

    Args:
        folder: where the run left it; taken away afterwards.
        target: where it goes, made anew. What an earlier call left there is taken when the folder is gone.
        root: id of the failure's root.
        test: id of the test that was run.

    Returns:
        What lies in the target, or None when the compiler left nothing.
    """
    left_out: list[str] = []
    if folder.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        newest = max(folder.glob(f"{REPRODUCER}*"), key=_age, default=None)
        _copy([newest] if newest else [], target, left_out)
        kernels = [path for path in (folder / "stages").glob("*/*") if path.suffix in STAGES]
        last = max(kernels, key=_age, default=None)
        _copy([path for path in kernels if last and path.parent == last.parent], target, left_out)
        shutil.rmtree(folder, ignore_errors=True)
    names = sorted(path.name for path in target.glob("*")) if target.is_dir() else []
    if not names and not left_out:
        return None
    said = "\n".join((target / name).read_text(encoding="utf-8") for name in names)
    return Dump(
        root=root,
        test=test,
        reproducer=next((name for name in names if name.endswith(".mlir")), None),
        stages=tuple(name for stage in STAGES for name in names if name.endswith(stage)),
        architecture=_number(_ARCHITECTURE, said),
        warps=_number(_WARPS, said),
        left_out=tuple(left_out),
    )


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def _copy(paths: Iterable[Path], target: Path, left_out: list[str]) -> None:
    for path in paths:
        name = _UNSAFE.sub("-", path.name).strip(".-")[-120:]
        if path.stat().st_size > MOST_BYTES:
            left_out.append(f"{name} holds {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
            continue
        target.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8", errors="backslashreplace")
        (target / name).write_text(without_machine(text), encoding="utf-8")


def without_machine(text: str) -> str:
    """IR whose locations name files as they lie in their package or folder, not where this machine has them."""
    return _QUOTED_PATH.sub(lambda match: f'"{_short(match["path"])}"', text)


def _short(path: str) -> str:
    _, found, below = path.rpartition("-packages/")
    return below if found else "/".join(path.split("/")[-2:])
