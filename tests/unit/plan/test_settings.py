from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import MatrixFileError
from runner.model.plan import Race, Settings

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Workbench

LAYERS = """\
python: [3.12, 3.13t]
triton: 3.7.0
project:
  tests: [tests, "tests::one"]
  pytest-args: -x -k 'not slow'
  env:
    MODE: on
    LEVEL: 1
limits:
  test: 2m
  memory: 8GiB
runner: sm90
gpu:
  compute-capability: 9.0
overrides:
  - select: {gil: off}
    limits: {test: 30s}
    env: {LEVEL: 2}
    pytest-args: [-q]
  - select: py3.13t-*
    limits: {cell: 10m}
    gpu: {required: yes, free-memory: 1GiB}
    runner: [sm90, big]
    env: {NEW: ''}
"""


def of(bench: Workbench, text: str, cell_id: str) -> Settings:
    cell = bench.plan(text).cell(cell_id)
    assert cell is not None
    return cell.settings


RACES = """\
python: 3.13t
gil: [on, off]
triton: 3.7.0
project: {tests: tests}
race: {leave-out: "*slow*"}
overrides:
  - select: {gil: off}
    race: {threads: 4, rounds: 0}
"""


def test_a_race_that_is_asked_for_has_rounds_and_one_that_is_not_has_none(bench: Workbench) -> None:
    on, off = (cell.settings for cell in bench.plan(RACES).cells)
    assert on.race == Race(threads=8, rounds=10, leave_out=("*slow*",))
    assert off.race == Race(threads=4, rounds=0, leave_out=("*slow*",))
    assert off.sources["race.rounds"].endswith("m.yml:8")
    assert on.sources["race.leave_out"].endswith("m.yml:5")
    assert on.sources["race.threads"] == "default"
    assert bench.plan(RACES.replace('race: {leave-out: "*slow*"}\n', "")).cells[0].settings.race.rounds == 0


def test_defaults_say_that_they_are_defaults(bench: Workbench, minimal: str) -> None:
    found = of(bench, minimal, "py3.12-gil-on-triton3.7.0")
    assert (found.limits.test_seconds, found.limits.cell_seconds, found.limits.memory_bytes) == (300, 3600, None)
    source = {name: text.replace(str(bench.folder) + "/", "") for name, text in found.sources.items()}
    assert source.pop("tests") == "m.yml:4"
    assert set(source.values()) == {"default"}
    assert set(source) == {
        "pytest_args",
        "env",
        "workdir",
        "limits.test_seconds",
        "limits.cell_seconds",
        "limits.memory_bytes",
        "gpu.compute_capability",
        "gpu.free_memory_bytes",
        "gpu.required",
        "race.threads",
        "race.rounds",
        "race.leave_out",
        "runner",
    }


def test_the_file_wins_over_defaults_and_later_overrides_over_earlier(bench: Workbench) -> None:
    found = of(bench, LAYERS, "py3.13t-gil-off-triton3.7.0")
    assert found.model_dump(mode="json", exclude={"sources"}) == {
        "tests": ["tests", "tests::one"],
        "pytest_args": ["-q"],
        "env": {"MODE": "on", "LEVEL": "2", "NEW": ""},
        "workdir": ".",
        "limits": {"test_seconds": 30.0, "cell_seconds": 600.0, "memory_bytes": 8 * 2**30},
        "gpu": {"compute_capability": "9.0", "free_memory_bytes": 2**30, "required": True},
        "race": {"threads": 8, "rounds": 0, "leave_out": []},
        "runner": ["sm90", "big"],
    }
    lines = {name: int(text.rpartition(":")[2]) for name, text in found.sources.items() if text != "default"}
    assert lines == {
        "tests": 4,
        "pytest_args": 19,
        "env.MODE": 7,
        "env.LEVEL": 18,
        "env.NEW": 24,
        "limits.test_seconds": 17,
        "limits.cell_seconds": 21,
        "limits.memory_bytes": 11,
        "gpu.compute_capability": 14,
        "gpu.free_memory_bytes": 22,
        "gpu.required": 22,
        "runner": 23,
    }


def test_cells_that_no_override_selects_keep_the_files_settings(bench: Workbench) -> None:
    found = of(bench, LAYERS, "py3.12-gil-on-triton3.7.0")
    assert found.pytest_args == ("-x", "-k", "not slow")
    assert found.env == {"MODE": "on", "LEVEL": "1"}
    assert found.runner == ("sm90",)


def test_a_required_gpu_needs_a_capability(bench: Workbench, minimal: str) -> None:
    said = "a GPU is required but no compute-capability says which; add compute-capability: 9.0"
    assert bench.error(minimal + "gpu: {required: true}\n", MatrixFileError) == f"m.yml:5:17: {said}"
    text = minimal + "overrides:\n  - select: '*'\n    gpu: {required: true}\n"
    assert bench.error(text, MatrixFileError) == f"m.yml:7:21: {said}"
    both = text + "gpu: {required: true}\n"
    assert bench.error(both, MatrixFileError) == f"m.yml:7:21: {said}"
    assert of(bench, text + "gpu: {compute-capability: 9.0}\n", "py3.12-gil-on-triton3.7.0").gpu.required


SELECTORS: dict[str, Any] = {
    "'*'": lambda _: True,
    "py3.13t-*": lambda key: key.python == "3.13t",
    "'*-gil-off-*'": lambda key: key.gil.value == "off",
    "{triton: 3.7.0}": lambda key: key.triton == "3.7.0",
    "{python: 3.12, triton: 3.3.1}": lambda key: (key.python, key.triton) == ("3.12", "3.3.1"),
}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(list(SELECTORS)), st.integers(1, 3600)), max_size=5))
def test_the_last_override_that_selects_a_cell_wins(
    bench: Workbench, minimal: str, rules: list[tuple[str, int]]
) -> None:
    lines = "".join(f"  - {{select: {selector}, limits: {{test: {seconds}}}}}\n" for selector, seconds in rules)
    text = minimal + (f"overrides:\n{lines}" if rules else "")
    for cell in bench.plan(text).cells:
        numbers = [number for number, (selector, _) in enumerate(rules) if SELECTORS[selector](cell.key)]
        source = cell.settings.sources["limits.test_seconds"]
        if numbers:
            assert cell.settings.limits.test_seconds == rules[numbers[-1]][1]
            assert source.endswith(f"m.yml:{6 + numbers[-1]}")
        else:
            assert (cell.settings.limits.test_seconds, source) == (300, "default")
