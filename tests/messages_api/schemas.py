"""Checks of a tool's JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError


def schema_faults(schema: object) -> Iterator[str]:
    """Return the faults of the schema of a tool's parameters."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield "must be an object's schema"
        return
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield error.message
    missing = [name for name in schema.get("required", ()) if name not in schema.get("properties", {})]
    if missing:
        yield f"required but not described: {', '.join(missing)}"
