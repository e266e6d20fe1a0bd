from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.plan.explain import explain

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Workbench

GOLDEN = Path(__file__).parent / "golden" / "explain.txt"

TEXT = """\
name: shown
python: [3.12, 3.13t]
triton: 3.7.0
project:
  tests: tests
  install: .
  pytest-args: -k 'not slow'
  env: {EMPTY: '', TEXT: "two words\\n"}
limits: {test: 30s}
runner: [self-hosted, sm90]
gpu: {compute-capability: 9.0, required: true}
overrides:
  - select: {gil: off}
    limits: {test: 5s, memory: 1GiB}
expect:
  - {select: '*-gil-off-*', reason: races, owner: me, link: https://example.org/7, expires: 2027-01-31}
environment:
  - {name: conda, python: /opt/conda/bin/python}
"""


def test_every_setting_of_every_cell_with_its_source(bench: Workbench) -> None:
    bench.resolver.lacking = {("3.13t", "3.7.0")}
    said = explain(bench.plan(TEXT)).replace(str(bench.folder / "m.yml"), "m.yml").replace(str(bench.folder), "/ROOT")
    assert said == GOLDEN.read_text(encoding="utf-8")
