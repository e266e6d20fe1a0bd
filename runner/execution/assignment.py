"""Which GPU a cell gets: looked for, leased, looked at again, or the reason why there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from runner.execution.gpus import VISIBLE, GpuState, Survey, survey_gpus, visible_gpus, why_busy, why_unfit
from runner.execution.leases import GpuLock, lock_folder
from runner.execution.xids import XidWatch, machine_xids
from runner.model.plan import GpuNeed, PlannedCell, PlannedEnvironment, plan_sha
from runner.model.result import CellResult, GilState
from runner.model.words import Status

ENDING_SECONDS = 10.0
"""For processes of a holder that was killed to leave the GPU."""
_LOOK_SECONDS = 0.25
_TELL_SECONDS = 30.0


@dataclass
class Assignment:
    """What a cell may use. A context manager: at its end the GPU is given back.

    Attributes:
        gpu: the GPU or MIG instance that is leased, or None.
        problem: why none is, with what was seen; None when one is or none is needed.
        variables: for the tests.
    """

    gpu: GpuState | None = None
    problem: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    lock: GpuLock | None = None
    watch: XidWatch | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.watch is not None:
            self.watch.finish()
        if self.lock is not None:
            self.lock.close()


def assign_gpu(
    need: GpuNeed,
    *,
    cell: str,
    variables: Mapping[str, str],
    seconds: float,
    tell: Callable[[str], None],
    survey: Callable[[], Survey] = survey_gpus,
) -> Assignment:
    """Lease a GPU that is fit and idle, waiting while other cells have all of them.

    Args:
        need: what it must be. Without a compute capability no GPU is looked for, and the variables stay.
        cell: its id, for those who wait.
        variables: of the tests, before a GPU is chosen; CUDA_VISIBLE_DEVICES among them bounds the choice.
        seconds: how long to wait for a lease.
        tell: is given a sentence while it waits.
        survey: what the machine has.
    """
    if need.compute_capability is None:
        return Assignment()
    found = survey()
    fit = usable_gpus(found, need, variables)
    if not fit:
        devices, problem = visible_gpus(found.gpus, variables)
        reasons = [why for gpu in devices if (why := why_unfit(gpu, need))]
        reasons += [why for why in (problem if found.gpus else None, found.problem) if why]
        return Assignment(problem="; ".join(reasons) or "NVML lists no GPU here")
    return _Search(need, fit, cell, variables, tell, survey).wait(found, time.monotonic() + seconds)


def usable_gpus(survey: Survey, need: GpuNeed, variables: Mapping[str, str]) -> tuple[GpuState, ...]:
    """The GPUs that a process with these variables sees and that are, apart from who uses them now, what is needed."""
    return tuple(gpu for gpu in visible_gpus(survey.gpus, variables)[0] if why_unfit(gpu, need) is None)


class _Search:
    """One cell's search among the GPUs that are fit for it."""

    def __init__(
        self,
        need: GpuNeed,
        fit: Sequence[GpuState],
        cell: str,
        variables: Mapping[str, str],
        tell: Callable[[str], None],
        survey: Callable[[], Survey],
    ) -> None:
        self._need = need
        self._fit = fit
        self._cell = cell
        self._folder = lock_folder(variables)
        self._tell = tell
        self._survey = survey
        self._began = time.monotonic()

    def wait(self, seen: Survey | None, until: float) -> Assignment:
        """Try all GPUs until one is ours, none may become so, or the time is over."""
        told = 0.0
        while True:
            held, unusable = [], []
            for gpu in self._fit:
                try:
                    lock = GpuLock(self._folder, gpu.uuid)
                except OSError as error:
                    unusable.append(f"{gpu} cannot be leased: {error.filename}: {error.strerror}")
                    continue
                if not lock.take(self._cell):
                    held.append(f"{gpu} is held by {lock.holder()}")
                    lock.close()
                elif (problem := self._problem(gpu, lock, seen)) is not None:
                    unusable.append(problem)
                    lock.close()
                else:
                    return Assignment(gpu=gpu, variables={VISIBLE: gpu.uuid}, lock=lock, watch=XidWatch(gpu.index))
            if not held:
                return Assignment(problem="; ".join(unusable))
            now = time.monotonic()
            if now >= until:
                waited = f"no GPU became free within {now - self._began:.0f} s"
                # The tests must not disturb the cells that hold the GPUs.
                return Assignment(problem="; ".join([waited, *held, *unusable]), variables={VISIBLE: ""})
            if now - told >= _TELL_SECONDS:
                told = now
                self._tell(f"{self._cell} waits for a GPU: {'; '.join(held)}")
            time.sleep(min(_LOOK_SECONDS, until - now))
            seen = None  # what was seen before the wait is old

    def _problem(self, gpu: GpuState, lock: GpuLock, seen: Survey | None) -> str | None:
        """What speaks against a GPU now that its lease is ours. What was seen before may have been its last holder."""
        if seen is not None and not lock.was_abandoned and _judge(gpu, seen, self._need) is None:
            return None
        problem = _judge(gpu, self._survey(), self._need)
        if problem is not None and lock.was_abandoned:
            self._tell(f"{self._cell} waits for what a killed run left on a GPU: {problem}")
            until = time.monotonic() + ENDING_SECONDS
            while problem is not None and time.monotonic() < until:
                time.sleep(_LOOK_SECONDS)
                problem = _judge(gpu, self._survey(), self._need)
        return problem


def _judge(gpu: GpuState, survey: Survey, need: GpuNeed) -> str | None:
    devices = [each for whole in survey.gpus for each in (whole, *(whole.instances or ()))]
    now = next((each for each in devices if each.uuid == gpu.uuid), None)
    if now is None:
        return f"{gpu} is gone" + (f": {survey.problem}" if survey.problem else "")
    return why_unfit(now, need) or why_busy(now, need)


def machine_fault(gpu: GpuState, after: Survey, heard: tuple[int, ...] = ()) -> str | None:
    """What became of a leased GPU that no test can be blamed for: it is lost, it or its driver failed meanwhile.

    Args:
        gpu: as it was before.
        after: the machine as it is now.
        heard: the Xids in between.
    """
    if (xids := machine_xids(heard)) is not None:
        return f"{gpu} failed while the tests ran: {xids}"
    devices = [each for whole in after.gpus for each in (whole, *(whole.instances or ()))]
    now = next((each for each in devices if each.uuid == gpu.uuid), None)
    if now is None:
        troubles = [whole.trouble for whole in after.gpus if whole.index == gpu.index and whole.trouble]
        why = "; ".join([*troubles, *filter(None, [after.problem])])
        return f"{gpu} was lost while the tests ran" + (f": {why}" if why else "")
    new = (now.uncorrected_errors or 0) - (gpu.uncorrected_errors or 0)
    if new > 0:
        return f"{gpu} had {new} uncorrected ECC errors while the tests ran"
    return None


def infra_result(cell: PlannedCell, environment: PlannedEnvironment, problem: str) -> CellResult:
    """The result of a cell that needs a GPU and got none."""
    return CellResult(
        cell=cell.key,
        gil=GilState(requested=cell.key.gil),
        status=Status.INFRA,
        reason=f"no {_architecture(cell.settings.gpu)} GPU to use: {problem}",
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        plan_sha=plan_sha(cell, environment),
    )


def weigh_machine(
    result: CellResult, need: GpuNeed, assignment: Assignment, survey: Callable[[], Survey] = survey_gpus
) -> CellResult:
    """A result with what is to be said of the GPU: a fault of the machine makes it `infra`, a missing one is a note.

    Args:
        result: of the tests.
        need: what the GPU had to be.
        assignment: what the tests had.
        survey: what the machine has now; asked only when something went wrong on a leased GPU.
    """
    if assignment.gpu is not None and result.status is not Status.PASS:
        heard = assignment.watch.finish() if assignment.watch is not None else ()
        fault = machine_fault(assignment.gpu, survey(), heard)
        if fault is not None:
            return result.model_copy(update={"status": Status.INFRA, "reason": _joined(fault, result.reason)})
    if assignment.problem is not None:
        note = f"no {_architecture(need)} GPU to use: {assignment.problem}"
        return result.model_copy(update={"reason": _joined(result.reason, note)})
    return result


def _joined(*parts: str | None) -> str:
    return "; ".join(filter(None, parts))


def _architecture(need: GpuNeed) -> str:
    return "SM" + (need.compute_capability or "").replace(".", "")
