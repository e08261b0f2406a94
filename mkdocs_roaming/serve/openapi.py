"""The endpoint's description in OpenAPI 3.1, made from the table of its operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from mkdocs_roaming import __version__
from mkdocs_roaming.serve.operations import JSON, PROBLEM, Operation, Parameter
from mkdocs_roaming.serve.schemas import SCHEMAS

Json = dict[str, Any]


def describe(operations: Iterable[Operation], *, title: str, schemas: Mapping[str, Json] = SCHEMAS) -> Json:
    """Give the description of these operations."""
    paths: dict[str, Json] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": paths,
        "components": {"schemas": dict(schemas)},
    }


def _operation(operation: Operation) -> Json:
    told: Json = {"operationId": operation.name, "summary": operation.about}
    if operation.more:
        told["description"] = operation.more
    if operation.parameters:
        told["parameters"] = [_parameter(one, operation.path) for one in operation.parameters]
    if operation.body:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": _ref(operation.body)}}}
    given = {kind: {"schema": _ref(schema) if schema else {}} for kind, schema in operation.gives.items()}
    done: Json = {"description": HTTPStatus(operation.done).phrase}
    told["responses"] = {str(operation.done): {**done, "content": given} if given else done}
    for status in sorted(operation.refuses):
        told["responses"][str(status)] = _refusal(status)
    return told


def _refusal(status: int) -> Json:
    told: Json = {
        "description": HTTPStatus(status).phrase,
        "content": {PROBLEM: {"schema": _ref("Problem")}},
    }
    if status == 429:
        told["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return told


def _parameter(parameter: Parameter, path: str) -> Json:
    schema: Json = {"type": parameter.kind}
    if parameter.most is not None and parameter.kind == "integer":
        schema |= {"minimum": 1, "maximum": parameter.most}
    elif parameter.most is not None:
        schema["maxLength"] = parameter.most
    if parameter.pattern:
        schema["pattern"] = parameter.pattern
    return {
        "name": parameter.name,
        "in": "path" if f"{{{parameter.name}}}" in path else "query",
        "required": parameter.required,
        "description": parameter.about,
        "schema": schema,
    }


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
