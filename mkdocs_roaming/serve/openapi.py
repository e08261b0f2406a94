"""The operations of the endpoint, in one table: routes, metrics and the OpenAPI description are made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.library.tools import MAX_HITS
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.content import DEFAULT_HITS, MAX_PARTS
from mkdocs_roaming.serve.schemas import EVENTS, JSON, MARKDOWN, PROBLEM

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query, or of the path if its name is there in braces.

    `maximum` limits the characters of a string, or the value of an integer.
    """

    name: str
    description: str
    type: Literal["string", "integer"] = "string"
    required: bool = False
    maximum: int | None = None
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the endpoint.

    Attributes:
        responses: Types of the response's body by media type; None for anything but JSON with a schema.
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


LANGUAGE = Parameter(
    "lang",
    "The reader's language, as a tag (default: the site's own language).",
    pattern=schemas.LANGUAGE_TAG_PATTERN,
)
QUERY = Parameter(
    "q",
    "Words, as the documentation would use them.",
    required=True,
    maximum=schemas.MAX_QUESTION_CHARS,
    pattern=schemas.NOT_BLANK_PATTERN,
)
_REQUEST_ERRORS = (400, 403, 421, 429)  # of the middleware

OPERATIONS = (
    Operation(
        "ask",
        "POST",
        "/v1/ask",
        "Ask a question. The answer is streamed while it is produced.",
        {EVENTS: None, JSON: schemas.Answer},
        (*_REQUEST_ERRORS, 408, 413, 415, 422, 502, 503),
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
        {MARKDOWN: None},
        (*_REQUEST_ERRORS, 422, 502, 503),
        (
            replace(QUERY, description="The question."),
            Parameter("page", "The page that the client shows, as a path or a URL.", maximum=schemas.MAX_PAGE_CHARS),
            LANGUAGE,
        ),
    ),
    Operation(
        "read_outline",
        "GET",
        "/v1/outline",
        "Read the collapsed outline, or a closed branch of it.",
        {JSON: schemas.Outline, MARKDOWN: None},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("id", "The id of a group, page or section, or `<id>+` (default: the whole outline)."),
            LANGUAGE,
        ),
    ),
    Operation(
        "read_section",
        "GET",
        "/v1/sections/{id}",
        "Open a section: its text, and its subsections within a size limit.",
        {JSON: schemas.Section, MARKDOWN: None},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("id", "The section's id, or a former one.", required=True),
            Parameter("part", "The part of a long section (default: 1).", "integer", maximum=MAX_PARTS),
            LANGUAGE,
        ),
    ),
    Operation(
        "search_sections",
        "GET",
        "/v1/search",
        "Search the full text. No model is called.",
        {JSON: schemas.Hits},
        (*_REQUEST_ERRORS, 422, 503),
        (
            QUERY,
            Parameter("limit", f"Maximum number of results (default: {DEFAULT_HITS}).", "integer", maximum=MAX_HITS),
            LANGUAGE,
        ),
    ),
    Operation(
        "feedback",
        "POST",
        "/v1/feedback",
        "Report whether an answer was helpful.",
        {},
        (*_REQUEST_ERRORS, 404, 408, 413, 415, 422),
        body=(schemas.Feedback,),
        status=204,
        description="404 if feedback is not collected.",
    ),
    Operation("health", "GET", "/healthz", "Check whether questions can be answered.", {JSON: schemas.Health}, (503,)),
    Operation("metrics", "GET", "/metrics", "Metrics for Prometheus.", {"text/plain": None}, _REQUEST_ERRORS),
    Operation("openapi", "GET", "/openapi.json", "This description.", {JSON: None}, (400, 421)),
    Operation("widget", "GET", "/roaming-ask.js", "The widget.", {"text/javascript": None}, (400, 404, 421)),
    Operation(
        "widget_finder",
        "GET",
        "/roaming-find.js",
        "The search of the widget.",
        {"text/javascript": None},
        (400, 404, 421),
    ),
    Operation(
        "widget_strings",
        "GET",
        "/ask.{language}.json",
        "The translations of the widget.",
        {JSON: None},
        (400, 404, 421),
        (Parameter("language", "A language tag.", required=True),),
    ),
)


def describe_operations(operations: Iterable[Operation], *, title: str) -> Json:
    """Return the OpenAPI 3.1 description of operations."""
    operations = tuple(operations)
    types: list[Any] = [schemas.Problem]
    for operation in operations:
        types += filter(None, (*operation.body, *operation.responses.values()))
    described, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema_by_type = dict(zip(types, described, strict=True))
    paths: dict[str, Json] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, schema_by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def _describe(operation: Operation, schema_by_type: Mapping[Any, Json]) -> Json:
    described: Json = {"operationId": operation.name, "summary": operation.summary}
    if operation.description:
        described["description"] = operation.description
    if operation.parameters:
        described["parameters"] = [_describe_parameter(parameter, operation.path) for parameter in operation.parameters]
    if operation.body:
        bodies = [schema_by_type[type_] for type_ in operation.body]
        schema = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    success: Json = {"description": HTTPStatus(operation.status).phrase}
    if operation.responses:
        success["content"] = {
            media_type: {"schema": {} if type_ is None else schema_by_type[type_]}
            for media_type, type_ in operation.responses.items()
        }
    described["responses"] = {str(operation.status): success}
    for status in sorted(operation.errors):
        described["responses"][str(status)] = _describe_error(status, schema_by_type[schemas.Problem])
    return described


def _describe_error(status: int, schema: Json) -> Json:
    described: Json = {"description": HTTPStatus(status).phrase, "content": {PROBLEM: {"schema": schema}}}
    if status == 429:
        described["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return described


def _describe_parameter(parameter: Parameter, path: str) -> Json:
    schema: Json = {"type": parameter.type}
    if parameter.maximum is not None:
        is_integer = parameter.type == "integer"
        schema |= {"minimum": 1, "maximum": parameter.maximum} if is_integer else {"maxLength": parameter.maximum}
    if parameter.pattern:
        schema["pattern"] = parameter.pattern
    return {
        "name": parameter.name,
        "in": "path" if f"{{{parameter.name}}}" in path else "query",
        "required": parameter.required,
        "description": parameter.description,
        "schema": schema,
    }
