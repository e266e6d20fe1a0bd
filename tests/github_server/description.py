"""GitHub's own description of its API: which operation a request is, and whether request and answer fit it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

_ROOT = "urn:github"


class MisfitError(AssertionError):
    """A request or an answer is not as GitHub describes it."""


@dataclass(frozen=True)
class Operation:
    """One operation of the description, found for one request.

    Attributes:
        method: lower case.
        template: such as `/repos/{owner}/{repo}/pulls`.
        arguments: the path's parameters as they stand in the request.
        spec: the operation object.
    """

    method: str
    template: str
    arguments: Mapping[str, str]
    spec: Mapping[str, Any]

    @property
    def name(self) -> str:
        """`GET /pulls/{pull_number}`: the operation without the repository."""
        return f"{self.method.upper()} {self.template.removeprefix('/repos/{owner}/{repo}')}"

    def check_request(self, query: Mapping[str, str], body: Any) -> None:
        """Raise MisfitError for a parameter that GitHub does not know or a body that it does not describe."""
        known = {parameter["name"]: parameter for parameter in map(_resolved, self.spec.get("parameters", ()))}
        for name, text in {**query, **self.arguments}.items():
            if name not in known:
                raise MisfitError(f"{self.name} knows no parameter {name!r}")
            schema = known[name]["schema"]
            _check(int(text) if schema.get("type") == "integer" else text, schema, f"{self.name}: parameter {name}")
        wanted = self.spec.get("requestBody")
        if wanted is not None:
            _check(body, wanted["content"]["application/json"]["schema"], f"{self.name}: request")
        elif body is not None:
            raise MisfitError(f"{self.name} takes no body")

    def check_answer(self, status: int, body: Any) -> None:
        """Raise MisfitError for an answer of the stand-in that GitHub would not give."""
        schema: Mapping[str, Any] = {"$ref": f"{_ROOT}#/components/schemas/basic-error"}
        found = self.spec["responses"].get(str(status))
        if found is not None:
            content = _resolved(found).get("content")
            if content is None:
                if body is not None:
                    raise MisfitError(f"{self.name}: a {status} has no body")
                return
            schema = content["application/json"]["schema"]
        elif status < 400:
            raise MisfitError(f"{self.name} never answers {status}")
        _check(body, schema, f"{self.name}: answer {status}")


@cache
def document() -> dict[str, Any]:
    """The committed part of the description, in the terms of today's JSON Schema."""
    text = Path(__file__).with_name("openapi.json").read_text(encoding="utf-8")
    modern: dict[str, Any] = _modern(json.loads(text))
    return modern


def find_operation(method: str, path: str) -> Operation | None:
    """The operation that a request is, or None where GitHub (as far as it is committed here) has none."""
    for template, methods in document()["paths"].items():
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template)
        match = re.fullmatch(pattern, path)
        if match and method.lower() in methods:
            return Operation(method.lower(), template, match.groupdict(), methods[method.lower()])
    return None


def schema_of(name: str) -> dict[str, Any]:
    """One named schema."""
    found: dict[str, Any] = document()["components"]["schemas"][name]
    return found


def specimen(schema: Mapping[str, Any]) -> Any:
    """The smallest value that fits a schema: required properties alone, null where that is allowed."""
    schema = _resolved(schema)
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return specimen(schema[several][0])
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return None
    if kind == "object":
        return {name: specimen(schema["properties"][name]) for name in schema.get("required", ())}
    if kind == "string":
        return {"date-time": "2026-01-01T00:00:00Z", "uri": "https://github.example/"}.get(schema.get("format", ""), "")
    return {"array": [], "integer": 0, "number": 0, "boolean": False}[kind]


def _check(value: Any, schema: Mapping[str, Any], what: str) -> None:
    error = next(iter(Draft202012Validator(schema, registry=_registry()).iter_errors(value)), None)
    if error is not None:
        raise MisfitError(f"{what}: {error.json_path}: {error.message[:300]}")


@cache
def _registry() -> Registry[Any]:
    resource: Resource[Any] = Resource.from_contents(document(), default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(_ROOT, resource)
    return registry


def _resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        found: Any = document()
        for step in node["$ref"].removeprefix(f"{_ROOT}#/").split("/"):
            found = found[step]
        node = found
    return node


def _modern(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` as JSON Schema writes it, and references that hold from anywhere."""
    if isinstance(node, list):
        return [_modern(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _modern(value) for key, value in node.items()}
    if isinstance(out.get("$ref"), str):
        out["$ref"] = _ROOT + out["$ref"]
    if out.pop("nullable", False) is True:
        if isinstance(out.get("type"), str):
            out["type"] = [out["type"], "null"]
        if "enum" in out:
            out["enum"] = [*out["enum"], None]
    return out
