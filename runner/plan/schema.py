"""The JSON Schema of matrix files, generated from the model; editors complete and check with it.

`python -m runner.plan.schema` prints it; matrices/matrix.schema.json is its output.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from runner.plan.matrix import Matrix


class _Generator(GenerateJsonSchema):
    """A key that is left out is the only absent value: no schema offers null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        # Defaults are said in the descriptions; parsed values are not what a user writes.
        return self.generate_inner(schema["schema"])


def matrix_schema() -> dict[str, Any]:
    """The schema as JSON data (draft 2020-12)."""
    body = Matrix.model_json_schema(by_alias=True, schema_generator=_Generator)
    body["anyOf"] = [{"required": ["python", "triton"]}, {"required": ["environment"]}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **body,
        "title": "Triton compatibility matrix",
    }


def schema_text() -> str:
    """What matrices/matrix.schema.json holds."""
    return json.dumps(matrix_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
