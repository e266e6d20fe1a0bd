"""Cells that need a GPU, on machines that stubs of NVML and libcuda play."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.execution.gpus import Survey, survey_gpus
from runner.model.plan import GpuNeed, Plan
from runner.model.result import CellResult
from runner.model.words import Status
from tests.stubs.machine import HERE, MIB, StubGpu, StubMachine, compile_stubs

pytestmark = pytest.mark.interpreters

NEED = GpuNeed(compute_capability="9.0", free_memory_bytes=16_384 * MIB, required=True)
SHOWS = """
    import os
    from kernels import launch, synchronize
    def test_gpu():
        launch("do_nothing"); synchronize()
        print("visible:", os.environ["CUDA_VISIBLE_DEVICES"])
"""
CELL = """
import sys
from pathlib import Path
from runner.execution import run_cell
from runner.model.plan import Plan
plan, python, folder = Plan.read(Path(sys.argv[1])), Path(sys.argv[2]), Path(sys.argv[3])
cell = plan.cells[0]
def say(progress):
    if progress.note:
        print(progress.note, flush=True)
result = run_cell(cell, plan.environment(cell.environment), python, root=Path(plan.root), folder=folder, progress=say)
print("status", result.status.value, flush=True)
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StubMachine:
    """A machine with one H200, idle, on which this process's children find themselves."""
    played = StubMachine(compile_stubs(tmp_path), tmp_path / "machine")
    played.write()
    for name, value in {**played.variables, "TRITON_COMPAT_LOCKS": str(tmp_path / "locks")}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "locks").mkdir()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return played


@pytest.fixture
def gpu_cell(plain_project: Any, machine: StubMachine) -> Any:
    """A cell that needs an H200 and launches a kernel there."""
    plain_project.gpu = NEED
    shutil.copy(HERE / "kernels.py", plain_project.root)
    plain_project.write("test_gpu.py", SHOWS)
    return plain_project


def test_a_fit_gpu_is_leased_by_its_uuid_and_given_back(gpu_cell: Any, tmp_path: Path) -> None:
    result = gpu_cell.run()
    assert (result.status, result.reason) == (Status.PASS, None)
    assert [gpu.uuid for gpu in result.environment.gpus] == [StubGpu().uuid]
    assert result.environment.driver == "CUDA 13.0"
    (lock,) = (tmp_path / "locks").iterdir()
    assert lock.read_bytes() == b""


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (
            [StubGpu(name="Tesla T4", capability="7.5", total=15_360, free=15_000)],
            f"Tesla T4 {StubGpu().uuid} has compute capability 7.5, not 9.0",
        ),
        ([StubGpu(ecc=3)], f"NVIDIA H200 {StubGpu().uuid} had 3 uncorrected ECC errors since its driver was loaded"),
        ([StubGpu(free=4_096)], f"NVIDIA H200 {StubGpu().uuid} has 4.0 GiB of 140.4 GiB free, 16.0 GiB are needed"),
        (
            [StubGpu(processes=[(os.getpid(), 70_000)])],
            f"NVIDIA H200 {StubGpu().uuid} is not idle: process {os.getpid()} (",
        ),
        ([], "NVML lists no GPU here"),
    ],
    ids=["architecture", "ecc", "memory", "foreign-process", "none"],
)
def test_an_unusable_gpu_is_infra_with_the_evidence(
    gpu_cell: Any, machine: StubMachine, gpus: list[StubGpu], expected: str
) -> None:
    machine.gpus = gpus
    machine.write()
    result = gpu_cell.run()
    assert result.status is Status.INFRA
    assert (result.reason or "").startswith(f"no SM90 GPU to use: {expected}")
    assert result.tests == ()
    assert CellResult.read(gpu_cell.folder / "result.json") == result


def test_where_no_gpu_is_required_the_tests_run_and_the_reason_says_what_was_seen(
    gpu_cell: Any, machine: StubMachine
) -> None:
    gpu_cell.gpu = NEED.model_copy(update={"required": False})
    gpu_cell.write("test_gpu.py", "import pytest\ndef test_gpu(): pytest.skip('needs SM90')\ndef test_cpu(): pass\n")
    machine.gpus = [StubGpu(name="Tesla T4", capability="7.5")]
    machine.write()
    result = gpu_cell.run()
    assert result.status is Status.PASS
    assert result.reason == f"no SM90 GPU to use: Tesla T4 {StubGpu().uuid} has compute capability 7.5, not 9.0"


def test_a_driver_that_does_not_start_is_infra(gpu_cell: Any, machine: StubMachine) -> None:
    machine.more = ("nvml 18",)
    machine.write()
    result = gpu_cell.run()
    assert result.status is Status.INFRA
    assert (result.reason or "").startswith("no SM90 GPU to use: NVML does not start: ")


def test_a_driver_that_hangs_is_an_answer(machine: StubMachine) -> None:
    machine.more = ("hang",)
    machine.write()
    assert survey_gpus(seconds=0.5) == Survey(problem="the NVIDIA driver did not answer NVML within 0.5 s")


def test_a_driver_that_crashes_is_an_answer(machine: StubMachine) -> None:
    machine.more = ("crash",)
    machine.write()
    assert (survey_gpus().problem or "").startswith("asking NVML ended with status -11: ")


def test_without_any_driver_it_is_said(gpu_cell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a driver here")
    monkeypatch.delenv("LD_LIBRARY_PATH")
    result = gpu_cell.run()
    assert result.status is Status.INFRA
    assert result.reason == "no SM90 GPU to use: there is no NVIDIA driver here (no libnvidia-ml.so.1)"


def test_outer_visibility_bounds_the_choice(
    gpu_cell: Any, machine: StubMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.gpus = [StubGpu(0), StubGpu(1), StubGpu(2)]
    machine.write()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [gpu.uuid for gpu in gpu_cell.run().environment.gpus] == [StubGpu(1).uuid]
    gpu_cell.env = {"CUDA_VISIBLE_DEVICES": StubGpu(2).uuid}  # the matrix file's own word goes before
    shutil.rmtree(gpu_cell.folder)
    assert [gpu.uuid for gpu in gpu_cell.run().environment.gpus] == [StubGpu(2).uuid]


def test_an_instance_is_leased_in_the_place_of_its_gpu(gpu_cell: Any, machine: StubMachine) -> None:
    machine.gpus = [StubGpu(0, instances=2)]
    machine.write()
    gpu_cell.write("test_gpu.py", SHOWS + "        assert os.environ['CUDA_VISIBLE_DEVICES'].startswith('MIG-')\n")
    result = gpu_cell.run()
    assert result.status is Status.PASS, result.reason


def test_a_gpu_that_is_lost_while_tests_run_is_infra_and_tried_again(gpu_cell: Any, machine: StubMachine) -> None:
    gpu_cell.write(
        "test_gpu.py",
        """
    import os, pathlib
    def test_gpu():
        text = pathlib.Path(os.environ["STUB_MACHINE"]).read_text()
        pathlib.Path(os.environ["STUB_MACHINE"]).write_text(text.replace(" 143000 0 ", " 143000 2 "))
        assert "143000 2" in text, "the GPU failed"
    """,
    )
    result = gpu_cell.run()
    assert result.status is Status.INFRA
    assert result.reason == (
        f"NVIDIA H200 {StubGpu().uuid} had 2 uncorrected ECC errors while the tests ran; 1 of 1 went wrong: 1 failed"
    )
    machine.write()  # repaired
    gpu_cell.write("test_gpu.py", "def test_gpu(): pass\n")
    assert gpu_cell.run().status is Status.PASS, "what failed on the broken machine is not taken up"


@pytest.mark.parametrize(
    ("number", "status", "beginning"),
    [
        (
            79,
            Status.INFRA,
            f"NVIDIA H200 {StubGpu().uuid} failed while the tests ran: Xid 79 (the GPU has fallen off the bus); 1 of 1",
        ),
        (31, Status.FAIL, "1 of 1 went wrong"),
    ],
    ids=["of-the-machine", "of-a-kernel"],
)
def test_an_xid_while_tests_run_tells_machine_from_kernel(
    gpu_cell: Any, number: int, status: Status, beginning: str
) -> None:
    gpu_cell.write(
        "test_gpu.py",
        f"""
    import os
    def test_gpu():
        with open(os.environ["STUB_MACHINE"], "a") as machine:
            machine.write("xid {number}\\n")
        assert not "went wrong"
    """,
    )
    result = gpu_cell.run()
    assert result.status is status
    assert (result.reason or "").startswith(beginning)


# -- several processes --------------------------------------------------------------------------------------------


class Cells:
    """Processes that run the same cell in folders of their own."""

    def __init__(self, project: Any, tmp_path: Path) -> None:
        self._project = project
        self._tmp_path = tmp_path
        self.running: list[subprocess.Popen[str]] = []

    def start(self, name: str) -> subprocess.Popen[str]:
        """Start one; its output is what it says."""
        plan = Plan(
            matrix="m",
            matrix_file="m.yml",
            matrix_sha256="0",
            root=str(self._project.root),
            created="2026-01-01T00:00:00+00:00",
            tool="0",
            gil_modes=(),
            environments=(self._project.environment,),
            cells=(self._project.cell,),
        )
        path = self._tmp_path / f"{name}.json"
        plan.write(path)
        words = [sys.executable, "-c", CELL, str(path), str(self._project.python), str(self._tmp_path / name)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def result(self, name: str) -> dict[str, Any]:
        """What became of one."""
        found: dict[str, Any] = json.loads((self._tmp_path / name / "result.json").read_text())
        return found


@pytest.fixture
def cells(gpu_cell: Any, tmp_path: Path) -> Iterator[Cells]:
    """To start cells with; they are ended when the test is over."""
    found = Cells(gpu_cell, tmp_path)
    yield found
    for process in found.running:
        process.kill()
        process.communicate()


def next_line(process: subprocess.Popen[str], beginning: str) -> str:
    """Read on until a line begins so."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line
    raise AssertionError(f"it never said {beginning!r}")


GATE = """
    import os
    from kernels import launch, synchronize
    def test_gpu():
        launch("do_nothing"); synchronize()
        open(os.environ["GATE"] + ".here", "w").close()
        open(os.environ["GATE"]).read()
"""


class Gate:
    """Where a test says that it runs, and waits until it may go on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._here = path.with_name(f"{path.name}.here")
        os.mkfifo(self._path)
        os.mkfifo(self._here)
        self.variables = {"GATE": str(path)}

    def await_arrival(self) -> None:
        self._here.read_text(encoding="ascii")

    def open(self) -> None:
        self._path.write_text("go on", encoding="ascii")


def test_two_cells_take_two_gpus_and_a_third_waits_for_one(
    cells: Cells, gpu_cell: Any, machine: StubMachine, tmp_path: Path
) -> None:
    machine.gpus = [StubGpu(0), StubGpu(1)]
    machine.write()
    gpu_cell.write("test_gpu.py", GATE)
    gates = {name: Gate(tmp_path / f"{name}.gate") for name in ("one", "two", "three")}
    started = {}
    for name, gate in gates.items():
        gpu_cell.env = gate.variables
        started[name] = cells.start(name)
        if name == "three":
            next_line(started[name], f"{gpu_cell.cell.key.id} waits for a GPU: ")
        else:
            gate.await_arrival()
    gates["one"].open()
    next_line(started["one"], "status pass")
    gates["three"].await_arrival()
    for name in ("two", "three"):
        gates[name].open()
        next_line(started[name], "status pass")
    used = {name: cells.result(name)["environment"]["gpus"][0]["uuid"] for name in gates}
    assert {used["one"], used["two"]} == {StubGpu(0).uuid, StubGpu(1).uuid}
    assert used["three"] == used["one"]


def test_a_killed_holder_frees_its_gpu_once_its_kernels_are_gone(
    cells: Cells, gpu_cell: Any, machine: StubMachine, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    gpu_cell.env = gate.variables
    gpu_cell.write("test_gpu.py", GATE)
    first = cells.start("first")
    gate.await_arrival()
    machine.gpus = [StubGpu(processes=[(first.pid, 5_000)])]  # as NVML shows what the killed run left
    machine.write()
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = cells.start("second")
    assert "what a killed run left on a GPU" in next_line(second, gpu_cell.cell.key.id)
    machine.gpus = [StubGpu()]
    machine.write()
    gate.await_arrival()
    gate.open()
    next_line(second, "status pass")


def test_waiting_has_an_end_and_says_who_holds_the_gpu(cells: Cells, gpu_cell: Any, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    gpu_cell.env = gate.variables
    gpu_cell.write("test_gpu.py", GATE)
    first = cells.start("first")
    gate.await_arrival()
    gpu_cell.limits = gpu_cell.limits.model_copy(update={"cell_seconds": 1.0})
    result = gpu_cell.run()
    assert result.status is Status.INFRA
    assert (result.reason or "").startswith(
        f"no SM90 GPU to use: no GPU became free within 1 s; NVIDIA H200 {StubGpu().uuid} is held by "
        f"{gpu_cell.cell.key.id} (process {first.pid} of "
    )
    gpu_cell.gpu = NEED.model_copy(update={"required": False})
    gpu_cell.write("test_gpu.py", "import os\ndef test_gpu(): assert os.environ['CUDA_VISIBLE_DEVICES'] == ''\n")
    shutil.rmtree(gpu_cell.folder)
    result = gpu_cell.run()
    assert result.status is Status.PASS, "the tests do not disturb the cell that holds the GPU"
    assert "no GPU became free within 1 s" in (result.reason or "")


def test_the_doctor_sees_the_gpus_that_cells_see(
    machine: StubMachine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    machine.gpus = [StubGpu(0), StubGpu(1, name="NVIDIA A100", capability="8.0"), StubGpu(2, instances=2)]
    machine.write()
    words = [sys.executable, "-m", "runner", "doctor", "--out", str(tmp_path / "out")]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = [" ".join(row.split()) for row in said.splitlines() if "GPU " in row]
    assert rows[0].startswith(f"ok GPU 0 NVIDIA H200 {StubGpu(0).uuid}, compute capability 9.0, driver 580.65.06")
    assert rows[1].startswith("lacks GPU 1 NVIDIA A100")
    assert sum(StubGpu(2).instance(number) in said for number in range(2)) == 2
