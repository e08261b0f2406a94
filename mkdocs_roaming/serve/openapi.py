"""The operations of the endpoint, in one table: routes, metrics and the OpenAPI description are made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import msgspec
from msgspec import Meta

from mkdocs_roaming._version import __version__
from mkdocs_roaming.library.tools import MAX_HITS
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.content import DEFAULT_HITS, MAX_PARTS
from mkdocs_roaming.serve.schemas import EVENTS, JSON, MARKDOWN, PROBLEM
from mkdocs_roaming.settings import prepare

Json = dict[str, Any]


class Parameter(NamedTuple):
    """A parameter of the query, or of the path if its name is there in braces."""

    name: str
    type: Any
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the endpoint.

    Attributes:
        responses: Types of the response's body, by media type.
        errors: Status codes of error responses.
        body: Accepted types of the request's body.
        status: Status code of success.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    responses: Mapping[str, Any]
    errors: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: tuple[Any, ...] = ()
    status: int = 200
    description: str = ""


def count_up_to(maximum: int, description: str) -> Any:
    """Return the type of a number from 1 to a maximum."""
    return Annotated[int, Meta(ge=1, le=maximum, description=description)]


def _text(description: str) -> Any:
    return Annotated[str, Meta(description=description)]


_SCOPE_TYPES = get_type_hints(Scope, include_extras=True)
LANGUAGE = Parameter("lang", schemas.Language)
SCOPE = (
    Parameter("tag", _SCOPE_TYPES["tags"]),
    Parameter("path", _SCOPE_TYPES["paths"]),
    Parameter("version", _SCOPE_TYPES["version"]),
)
_REQUEST_ERRORS = (400, 403, 421, 429)  # of the middleware
_FILE_ERRORS = (400, 404, 421)
_SCRIPT = {"text/javascript": str}

OPERATIONS = (
    Operation(
        "ask",
        "POST",
        "/v1/ask",
        "Ask a question. The answer is streamed while it is produced.",
        {EVENTS: Any, JSON: schemas.Answer},
        (*_REQUEST_ERRORS, 404, 408, 413, 415, 422, 502, 503),
        body=(schemas.Question, schemas.Chat),
        description="Server-sent events in the AI SDK's UI message stream v1, or one object with "
        "`Accept: application/json`. After the first byte, a failure is reported by an `error` part and by the code "
        "in `data-status`.",
    ),
    Operation(
        "ask_offline",
        "GET",
        "/ask",
        "Ask a question and get Markdown. No provider's model is called and no money is spent.",
        {MARKDOWN: str},
        (*_REQUEST_ERRORS, 404, 422, 502, 503),
        (
            Parameter("q", schemas.QuestionText, required=True),
            Parameter("page", schemas.Page),
            LANGUAGE,
            *SCOPE,
        ),
    ),
    Operation(
        "read_outline",
        "GET",
        "/v1/outline",
        "Read the collapsed outline, or a closed branch of it.",
        {JSON: schemas.Outline, MARKDOWN: str},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("id", _text("The id of a group, page or section, or `<id>+` (default: the whole outline).")),
            LANGUAGE,
            *SCOPE,
        ),
    ),
    Operation(
        "read_section",
        "GET",
        "/v1/sections/{id}",
        "Open a section: its text, and its subsections within a size limit.",
        {JSON: schemas.Section, MARKDOWN: str},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("id", _text("The section's id, or a former one."), required=True),
            Parameter("part", count_up_to(MAX_PARTS, "The part of a long section (default: 1).")),
            LANGUAGE,
            *SCOPE,
        ),
    ),
    Operation(
        "search_sections",
        "GET",
        "/v1/search",
        "Search the full text. No model is called.",
        {JSON: schemas.Hits},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("q", schemas.Query, required=True),
            Parameter("limit", count_up_to(MAX_HITS, f"Maximum number of results (default: {DEFAULT_HITS}).")),
            LANGUAGE,
            *SCOPE,
        ),
    ),
    Operation(
        "feedback",
        "POST",
        "/v1/feedback",
        "Report whether an answer was helpful.",
        {},
        (*_REQUEST_ERRORS, 404, 408, 413, 415, 422, 503),
        body=(schemas.Feedback,),
        status=204,
        description="404 if feedback is not collected, 422 for a turn of another server or an expired one.",
    ),
    Operation("health", "GET", "/healthz", "Check whether questions can be answered.", {JSON: schemas.Health}, (503,)),
    Operation("metrics", "GET", "/metrics", "Metrics for Prometheus.", {"text/plain": str}, _REQUEST_ERRORS),
    Operation("openapi", "GET", "/openapi.json", "This description.", {JSON: Any}, (400, 421)),
    Operation(
        "widget",
        "GET",
        "/roaming-{module}.js",
        "A module of the widget: `ask`, and those that it loads.",
        _SCRIPT,
        _FILE_ERRORS,
        (Parameter("module", _text("The name of the module."), required=True),),
    ),
    Operation(
        "widget_strings",
        "GET",
        "/ask.{language}.json",
        "The translations of the widget.",
        {JSON: Any},
        _FILE_ERRORS,
        (Parameter("language", _text("A language tag."), required=True),),
    ),
)


def list_operations(operations: Iterable[Operation], *, with_metrics: bool) -> tuple[Operation, ...]:
    """Return the operations, the one for metrics only if they are served at the address of the endpoint."""
    return tuple(operation for operation in operations if with_metrics or operation.name != "metrics")


def describe_operations(operations: Iterable[Operation]) -> Json:
    """Return the OpenAPI 3.1 description of operations."""
    components: Json = {}
    paths: dict[str, Json] = {}

    def describe_type(type_: Any) -> Json:
        (schema,), found = msgspec.json.schema_components([prepare(type_)], ref_template="#/components/schemas/{name}")
        components.update(found)
        return schema

    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, describe_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "mkdocs-roaming", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def _describe(operation: Operation, describe_type: Callable[[Any], Json]) -> Json:
    def describe_content(types: Mapping[str, Any]) -> Json:
        return {media_type: {"schema": describe_type(type_)} for media_type, type_ in types.items()}

    described: Json = {"operationId": operation.name, "summary": operation.summary}
    if operation.description:
        described["description"] = operation.description
    described["parameters"] = [
        _describe_parameter(parameter, operation.path, describe_type(parameter.type))
        for parameter in operation.parameters
    ]
    if operation.body:
        schema = {"anyOf": [describe_type(type_) for type_ in operation.body]}
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    success: Json = {"description": schemas.status_phrase(operation.status)}
    if operation.responses:
        success["content"] = describe_content(operation.responses)
    described["responses"] = {str(operation.status): success}
    for status in sorted(operation.errors):
        error = {"description": schemas.status_phrase(status), "content": describe_content({PROBLEM: schemas.Problem})}
        if status == 429:
            error["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
        described["responses"][str(status)] = error
    return described


def _describe_parameter(parameter: Parameter, path: str, schema: Json) -> Json:
    return {
        "name": parameter.name,
        "in": "path" if f"{{{parameter.name}}}" in path else "query",
        "required": parameter.required,
        "description": schema.pop("description"),
        "schema": schema,
    }
