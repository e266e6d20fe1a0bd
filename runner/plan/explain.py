"""A plan in words: each cell with every setting, where each was set, and what its environment holds."""

from __future__ import annotations

from collections.abc import Iterator

from runner.model.plan import Expectation, Plan, PlannedCell, PlannedEnvironment, Settings


def explain(plan: Plan) -> str:
    """The text of `triton-compat plan --explain`: plain lines, one block for each environment and each cell."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    unavailable = sum(environment.unavailable is not None for environment in plan.environments)
    yield f"{plan.matrix}: {_count(plan.cells, 'cell')} in {_count(plan.environments, 'environment')}" + (
        f", {unavailable} of them unavailable" if unavailable else ""
    )
    yield f"planned from {plan.matrix_file} at {plan.created} by triton-compat {plan.tool}"
    yield f"root {plan.root}   ({plan.root_source})"
    for environment in plan.environments:
        yield ""
        yield from _environment_lines(environment)
        for cell in plan.cells:
            if cell.environment == environment.id:
                yield ""
                yield from _cell_lines(cell, plan)
    yield ""
    for job in plan.jobs:
        yield f"job {job.name} on {_value(job.runner)}: {', '.join(job.cells)}"


def _environment_lines(environment: PlannedEnvironment) -> Iterator[str]:
    yield f"environment {environment.id}"
    if environment.executable is not None:
        yield f"  used as it is: {environment.executable} (Python {environment.python})"
    elif environment.unavailable is not None:
        yield f"  unavailable: {environment.unavailable}"
    else:
        yield f"  available, {_count(environment.pins, 'pin')}"
    for pin in environment.pins:
        yield f"    {pin.name}=={pin.version}  {pin.filename}"
    for folder, extras in zip(environment.local, environment.extras, strict=True):
        yield f"    {folder}{extras}  (local folder)"
    yield f"  fingerprint {environment.fingerprint}"


def _cell_lines(cell: PlannedCell, plan: Plan) -> Iterator[str]:
    yield f"cell {cell.key.id}"
    values = _flat(cell.settings)
    name_width = max(map(len, values))
    value_width = max(map(len, values.values()))
    for name, value in values.items():
        source = cell.settings.sources.get(name, "default")
        yield f"  {name:<{name_width}} = {value:<{value_width}}   {source}"
    for expectation in plan.expectations:
        if cell.key.id in expectation.cells:
            yield f"  {_expectation(expectation)}   {expectation.source}"


def _flat(settings: Settings) -> dict[str, str]:
    """Every setting by its dotted name, as text."""
    flat: dict[str, str] = {}
    for name, value in settings:
        if name == "env":
            flat.update({f"env.{variable}": _value(text) for variable, text in sorted(settings.env.items())})
            if not settings.env:
                flat["env"] = "none"
        elif name in {"limits", "gpu", "race"}:
            flat.update({f"{name}.{key}": _value(inner) for key, inner in value})
        elif name != "sources":
            flat[name] = _value(value)
    return flat


def _value(value: object) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(map(_value, value))
    text = str(value)
    return text if text and text.isprintable() and " " not in text else repr(text)


def _expectation(expectation: Expectation) -> str:
    tests = ", ".join(expectation.tests) or "every test"
    return f"known failure of {tests}: {expectation.reason} ({expectation.owner}, until {expectation.expires})"


def _count(things: tuple[object, ...], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
