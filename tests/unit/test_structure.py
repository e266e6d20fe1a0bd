"""The import rule of the house: folders import downwards only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "runner"

# Each floor with the floors it may import. What is not named here may not be imported.
FLOORS: dict[str, set[str]] = {
    "errors": set(),
    "model": {"errors"},
    "plan": {"errors", "model"},
    "environment": {"errors", "model"},
    "execution": {"errors", "model"},
    "evidence": {"errors", "model"},
    "experiment": {"errors", "model", "plan", "environment", "execution", "evidence"},
    "verdict": {"errors", "model", "evidence"},
    "report": {"errors", "model", "evidence", "verdict"},
    "github": {"errors", "model", "evidence", "verdict", "report"},
    "inside": set(),
}
FRONT_DOORS = {"__init__", "__main__", "cli", "commands", "sessions"}
PURE = ("evidence", "verdict", "report")
EFFECTS = {"subprocess", "requests", "socket", "urllib", "time"}


def imports(source: str, package: str) -> set[str]:
    """Absolute names of the modules that a module imports, as written anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: -node.level + 1 or None]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            found.add(module)
            found.update(f"{module}.{alias.name}" for alias in node.names if module == "runner")
    return found


def floor_of(module: Path) -> str:
    """The floor on which a module of the package stands."""
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


# The control is a test suite that runs in the tested environment, not a part of the tool.
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "control" not in path.parent.name)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downwards(module: Path) -> None:
    floor = floor_of(module)
    if floor in FRONT_DOORS:
        return
    assert floor in FLOORS, f"{module} stands on no known floor; add it to design and to this test"
    package = ".".join(("runner", *module.relative_to(PACKAGE).with_suffix("").parts[:-1]))
    for name in imports(module.read_text(encoding="utf-8"), package):
        if name.split(".")[0] == "runner" and name != "runner":
            other = name.split(".")[1]
            if other == "__version__":
                continue
            assert other == floor or other in FLOORS[floor], f"{floor} may not import {name}"


@pytest.mark.parametrize(
    "module", [m for m in MODULES if floor_of(m) in PURE], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_pure_floors_have_no_effects(module: Path) -> None:
    found = {name.split(".")[0] for name in imports(module.read_text(encoding="utf-8"), "runner")}
    assert not found & EFFECTS
    text = module.read_text(encoding="utf-8")
    assert "os.environ" not in text
    assert "datetime.now" not in text


def test_inside_uses_the_standard_library_alone() -> None:
    allowed = set(sys.stdlib_module_names) | {"pytest", "_pytest", "__future__"}
    modules = list((PACKAGE / "inside").rglob("*.py"))
    assert modules
    for module in modules:
        for name in imports(module.read_text(encoding="utf-8"), "_triton_compat"):
            top = name.split(".")[0]
            assert top in allowed or top.startswith("_triton_compat"), f"{module.name} imports {name}"


def test_the_rule_sees_an_upward_import() -> None:
    assert "runner.github.api" in imports("from runner.github.api import Client", "runner.model")
    assert "runner.report" in imports("from runner import report", "runner.model")
    assert "runner.plan.wheels" in imports("from ..plan.wheels import fits", "runner.model")
