"""How the matrix model reads YAML's raw texts: pydantic field types with our sentences and their JSON Schema."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainValidator, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from runner.model.cell import PythonBuild
from runner.model.plan import Race
from runner.model.words import GilMode
from runner.plan import values
from runner.plan.nodes import type_names
from runner.plan.problems import quoted
from runner.plan.releases import Choice, TorchChoice, torch_choice, triton_choice

T = TypeVar("T")

SENTENCE = "matrix_sentence"
"""The type of a validation error whose message is a whole sentence of ours."""

_YAML_BOOLEAN = {"type": "boolean"}
_VERSION_NUMBER = {"type": "number", "description": "Some readers of YAML see 3.12 as a number; it is read as written."}


class Part(BaseModel):
    """Base of every mapping in a matrix file: a key that it does not know is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, arbitrary_types_allowed=True)


def fault(sentence: str) -> PydanticCustomError:
    """A mistake in the user's value, as a sentence."""
    return PydanticCustomError(SENTENCE, "{sentence}", {"sentence": sentence})


def _value(read: Callable[[str], T]) -> PlainValidator:
    def validate(raw: object) -> T:
        if not isinstance(raw, str):
            raise fault(f"a single value is expected here, not {type_names.get(type(raw), 'this')}")
        try:
            return read(raw)
        except ValueError as error:
            raise fault(str(error)) from error

    return PlainValidator(validate)


def _schema(*alternatives: dict[str, Any], examples: list[Any] | None = None) -> WithJsonSchema:
    shape = alternatives[0] if len(alternatives) == 1 else {"anyOf": list(alternatives)}
    return WithJsonSchema({**shape, **({"examples": examples} if examples else {})})


def _text(pattern: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "string", **({"pattern": pattern} if pattern else {"minLength": 1}), **more}


_RELEASE = r"^(latest(-[0-9]{1,3})?|[0-9][0-9A-Za-z.+!-]*|[<>=!~].*)$"
_DURATION = r"^([0-9]+(\.[0-9]+)?h)?([0-9]+(\.[0-9]+)?m)?([0-9]+(\.[0-9]+)?s?)?$"

Python = Annotated[
    PythonBuild,
    _value(values.python_build),
    _schema(
        _text(r"^3\.[0-9]{1,2}(\.[0-9]{1,3}((a|b|rc)[0-9]{1,2})?)?t?$"),
        _VERSION_NUMBER,
        examples=["3.12", "3.13", "3.13t"],
    ),
]
Gil = Annotated[
    GilMode,
    _value(values.gil_mode),
    _schema({"enum": ["on", "off", "default"]}, _YAML_BOOLEAN, examples=["on", "off", "default"]),
]
Triton = Annotated[
    Choice,
    _value(triton_choice),
    _schema(_text(_RELEASE), _VERSION_NUMBER, examples=["3.7.0", ">=3.3,<3.8", "latest", "latest-2"]),
]
Torch = Annotated[
    TorchChoice,
    _value(torch_choice),
    _schema(
        {"enum": ["matched", "none"]},
        _text(_RELEASE),
        _VERSION_NUMBER,
        examples=["matched", "none", "2.12.0", "latest"],
    ),
]
Duration = Annotated[
    float,
    _value(values.duration),
    _schema(
        _text(_DURATION, minLength=1), {"type": "number", "exclusiveMinimum": 0}, examples=["90", "30s", "5m", "1h"]
    ),
]
Size = Annotated[
    int,
    _value(values.size),
    _schema(
        _text(r"^[0-9]+(\.[0-9]+)?\s*([kKmMgGtT][iI]?[bB]|[bB])?$"),
        {"type": "integer", "exclusiveMinimum": 0},
        examples=["8GiB", "512MB"],
    ),
]
Flag = Annotated[bool, _value(values.boolean), _schema({"type": "boolean"})]
Threads = Annotated[
    int,
    _value(lambda text: values.number(text, 2, Race.MOST_THREADS)),
    _schema(_text(r"^[0-9]+$"), {"type": "integer", "minimum": 2, "maximum": Race.MOST_THREADS}),
]
Rounds = Annotated[
    int,
    _value(lambda text: values.number(text, 0, Race.MOST_ROUNDS)),
    _schema(_text(r"^[0-9]+$"), {"type": "integer", "minimum": 0, "maximum": Race.MOST_ROUNDS}),
]
Date = Annotated[
    dt.date,
    _value(values.date),
    _schema(_text(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", format="date"), examples=["2027-01-31"]),
]
Capability = Annotated[
    str,
    _value(values.compute_capability),
    _schema(_text(r"^[0-9]{1,2}\.[0-9]$"), {"type": "number"}, examples=["9.0"]),
]
Link = Annotated[str, _value(values.link), _schema(_text(r"^https?://\S+$", format="uri"))]
Sentence = Annotated[str, _value(values.sentence), _schema(_text())]
Label = Annotated[str, _value(values.label), _schema(_text(), examples=["self-hosted", "sm90"])]
PathText = Annotated[str, _value(values.path), _schema(_text())]
Folder = Annotated[str, _value(values.relative_folder), _schema(_text())]
Executable = Annotated[str, _value(values.executable), _schema(_text(r"/"), examples=["/opt/conda/bin/python"])]
Name = Annotated[str, _value(values.name), _schema(_text(r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"))]
EnvironmentName = Annotated[
    str, _value(values.environment_name), _schema(_text(r"^(?!py3\.)[A-Za-z0-9][A-Za-z0-9._+-]*$"))
]
Glob = Annotated[str, _value(values.glob), _schema(_text(), examples=["py3.13t-*", "*-gil-off-*"])]
Requirement = Annotated[str, _value(values.requirement), _schema(_text(), examples=["pytest>=8,<9"])]
VariableName = Annotated[str, _value(values.variable_name), _schema(_text(r"^[A-Za-z_][A-Za-z0-9_]*$"))]
VariableValue = Annotated[
    str, _value(values.variable_value), _schema({"type": "string"}, {"type": "number"}, {"type": "boolean"})
]


@dataclass(frozen=True)
class Install:
    """A requirement from the index, or a folder of the user's with its extras.

    Attributes:
        requirement: PEP 508, or None for a folder.
        folder: as it was written without its extras, or None for a requirement.
        extras: in brackets as pip writes them (`[test]`), or ``.
    """

    requirement: str | None = None
    folder: str | None = None
    extras: str = ""


def _install(text: str) -> Install:
    place, bracket, extras = values.path(text).partition("[")
    if values.is_folder(text):
        if bracket and not extras.endswith("]"):
            raise ValueError(f"{quoted(text)} does not close its extras; write ./folder[test]")
        return Install(folder=values.path(place), extras=bracket + extras.replace(" ", ""))
    return Install(requirement=values.requirement(text))


Installed = Annotated[Install, _value(_install), _schema(_text(), examples=[".", "./kernels[test]", "numpy>=2"])]


def _arguments(raw: object) -> tuple[str, ...]:
    try:
        if isinstance(raw, str):
            return values.arguments(raw)
        if isinstance(raw, list) and all(isinstance(item, str) for item in raw):
            return tuple(values.passable(item, "argument") for item in raw)
    except ValueError as error:
        raise fault(str(error)) from error
    raise fault("arguments are one line of text or a list of texts")


Arguments = Annotated[
    tuple[str, ...],
    PlainValidator(_arguments),
    _schema(
        {"type": "string"},
        {"type": "array", "items": {"type": ["string", "number"]}},
        examples=["-x -q", ["-k", "not slow"]],
    ),
]


class _OneOrMany:
    """A single value stands for a list of one; an empty list is a mistake."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        many = handler(schema)
        return {"anyOf": [many["items"], {**many, "minItems": 1}]}


def _listed(raw: object) -> object:
    if isinstance(raw, list) and not raw:
        raise fault("this list is empty; name at least one")
    return raw if isinstance(raw, list) else [raw]


Many: TypeAlias = Annotated[tuple[T, ...], _OneOrMany()]
