"""JSON bodies of requests and responses, and the operations that they belong to.

The types are those of the code and of the OpenAPI description. Routes, metrics and the description are made from the
table of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from inspect import cleandoc
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from mkdocs_roaming._json import prepare
from mkdocs_roaming._version import __version__
from mkdocs_roaming.answer.events import AnswerState
from mkdocs_roaming.answer.support.check import Mark
from mkdocs_roaming.answer.support.passages import Passage
from mkdocs_roaming.library.tools import MAX_HITS
from mkdocs_roaming.manifest.lookup import Scope

JSON = "application/json"
MARKDOWN = "text/markdown"
EVENTS = "text/event-stream"
PROBLEM = "application/problem+json"

MAX_QUESTION_CHARS = 4_000
MAX_PAGE_CHARS = 500
MAX_TURNS = 6
"""Number of earlier answers that an answer refers to; the last ones that a client sends count."""
MAX_TURN_CHARS = 2_048
MAX_COMMENT_CHARS = 1_000
MAX_PARTS = 10**6
DEFAULT_HITS = 5
NOT_BLANK_PATTERN = "[^\\s\\u0000-\\u001f\\u0085]"
LANGUAGE_TAG_PATTERN = "^(?:[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,4})?$"

SectionId = Annotated[str, Meta(pattern="^(?:.+:)?[0-9a-f]{8}$")]
"""In a store of many sites, the key of the site precedes the id."""

# Requests


class _Context(Struct, frozen=True, kw_only=True):
    """What a client may send with a question. Turns are signed, the oldest first."""

    page: Annotated[
        str, Meta(max_length=MAX_PAGE_CHARS, description="The page that the client shows, as a path or a URL.")
    ] = ""
    language: Annotated[
        str,
        Meta(
            description="The reader's language, as a language tag (default: the site's own language).",
            extra_json_schema={"pattern": LANGUAGE_TAG_PATTERN},
        ),
    ] = field(name="lang", default="")
    turns: Annotated[
        tuple[Annotated[str, Meta(max_length=MAX_TURN_CHARS)], ...],
        Meta(description=f"Signed turns of earlier answers, the oldest first. The last {MAX_TURNS} count."),
    ] = ()
    scope: Scope = Scope()


# A message of msgspec would not say what is wrong with a question: requests.py validates it.
_NOT_BLANK = {"maxLength": MAX_QUESTION_CHARS, "pattern": NOT_BLANK_PATTERN}
QuestionText = Annotated[str, Meta(description="The question.", extra_json_schema=_NOT_BLANK)]
Query = Annotated[str, Meta(description="Words, as the documentation would use them.", extra_json_schema=_NOT_BLANK)]


class Question(_Context, frozen=True):
    """A question of a client of this API."""

    text: QuestionText = field(name="question")


class ChatMessage(Struct, frozen=True):
    """A message of the AI SDK's `useChat`."""

    role: str
    parts: list[dict[str, Any]] | None = None
    metadata: Any = None


class Chat(_Context, frozen=True):
    """A conversation as the AI SDK's `useChat` sends it.

    Only the last message of the user and the signed turns in the metadata of earlier answers are read.
    """

    messages: list[ChatMessage]


class Feedback(Struct, frozen=True):
    """A reader's opinion of an answer."""

    turn: Annotated[
        str, Meta(min_length=1, max_length=MAX_TURN_CHARS, description="The signed turn at the end of the answer.")
    ]
    helpful: bool
    comment: Annotated[
        str, Meta(max_length=MAX_COMMENT_CHARS, description=f"At most {MAX_COMMENT_CHARS} characters.")
    ] = ""


# Answers. Fields that are UNSET are left out.


class Source(Struct, frozen=True):
    """A section. `tokens` is the estimated size of its own text.

    In a stream it is that of the text that was read, once it was: a part of the section, or one with its subsections.
    """

    id: SectionId
    title: str
    path: tuple[str, ...]
    url: str
    tokens: int
    snippet: Annotated[str, Meta(description="Opening of the section, in plain text.")] | UnsetType = UNSET


class Usage(Struct, frozen=True):
    """Tokens as the model's provider counts them."""

    input: int
    cache_read: int
    cache_write: int
    output: int


class Status(Struct):
    """The outcome of an answer, and its cost."""

    state: AnswerState
    code: Annotated[str, Meta(description="The state; `budget_…` names the exhausted budget; `failed`.")]
    model: str
    rounds: int
    sections: Annotated[int, Meta(description="Number of opened sections.")]
    tokens_read: Annotated[int, Meta(description="Estimate.")]
    usage: Usage
    cost: float | None
    currency: str
    cached: bool
    dropped_citations: int | UnsetType = UNSET
    withheld: int | UnsetType = UNSET
    turns_dropped: int | UnsetType = UNSET
    message: Annotated[str, Meta(description="Why there is no complete answer, for the reader.")] | UnsetType = UNSET
    cause: (
        Annotated[
            str,
            Meta(
                description="What failed: `key`, `credit`, `rate`, `overload`, `failure`, `address`, `request`, "
                "`size`, `timeout`, `connection`, `format`, `site` or `model`; of an unusable "
                "reply `citations`, `empty` or `call`."
            ),
        ]
        | UnsetType
    ) = UNSET
    retry_after: Annotated[float, Meta(description="Seconds until the provider accepts a request.")] | UnsetType = UNSET
    foreign_addresses: (
        Annotated[int, Meta(description="Addresses in code or removed links that no opened section contains.")]
        | UnsetType
    ) = UNSET
    looked_at: list[Source] | UnsetType = UNSET
    nearest: list[Source] | UnsetType = UNSET


class Support(Struct, frozen=True):
    """The support check of an answer, and the passages that it cites."""

    score: Annotated[float, Meta(description="Share of the answer in sentences without a mark.")] | UnsetType = UNSET
    marks: tuple[Mark, ...] | UnsetType = UNSET
    skipped: bool | UnsetType = UNSET
    passages: tuple[Passage, ...] | UnsetType = UNSET


class Answer(Struct, frozen=True):
    """A complete answer."""

    state: AnswerState
    answer: Annotated[
        str,
        Meta(description="Markdown; `[^id]` cites a section. Without an answer, a sentence that says so."),
    ]
    sources: list[Source]
    steps: Annotated[list[Source], Meta(description="The opened sections, in order.")] = field(name="trail")
    support: Support | None
    status: Status
    digest: str
    followups: Annotated[list[str], Meta(description="Questions that the site suggests next.")] | UnsetType = UNSET
    turn: Annotated[str, Meta(description="Send it with the next question, as one of its `turns`.")] | UnsetType = UNSET


# Reading


class Outline(Struct, frozen=True):
    """The outline as text, collapsed within a token budget."""

    digest: str
    outline: str
    tokens: int


class SectionEntry(Struct, frozen=True):
    """A section that is listed without its text. `inside` counts its subsections."""

    id: SectionId
    title: str
    tokens: int
    inside: int


class Section(Struct, frozen=True):
    """An opened section."""

    id: SectionId
    title: str
    path: tuple[str, ...]
    url: str
    tokens: int
    text: str
    shown: Annotated[list[SectionId], Meta(description="The sections whose text is part of `text`.")]
    listed: list[SectionEntry]
    part: int
    parts: int
    before: SectionEntry | None
    after: SectionEntry | None
    digest: str


class Hit(Struct, frozen=True):
    """A search result."""

    id: SectionId
    title: str
    path: tuple[str, ...]
    url: str
    snippet: str
    score: float


class Hits(Struct, frozen=True):
    """Search results, best first."""

    query: str
    hits: list[Hit]
    digest: str
    confidence: Annotated[
        float,
        Meta(description="From 0 to 1. Below 0.65 probably no section answers an English query."),
    ]


class Health(Struct, frozen=True):
    """The state of the endpoint."""

    status: Annotated[
        Literal["ok", "stale"], Meta(description="`stale`: the site cannot be read, the last good copy is served.")
    ]
    site: str
    digest: str
    sections: int
    model: str


class Problem(Struct, frozen=True):
    """An error response (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    answer: Annotated[str, Meta(description="The reason and search results, if a model failed.")] | UnsetType = UNSET
    sources: list[Source] | UnsetType = UNSET
    retry_after: int | UnsetType = UNSET


# Encoding


def status_phrase(status: int) -> str:
    """Return the reason phrase of a status, the same in all versions of Python: 3.13 renamed some."""
    return _STATUS_PHRASES.get(status) or HTTPStatus(status).phrase


_STATUS_PHRASES = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    422: "Unprocessable Entity",
}


# Operations

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


_TYPES = get_type_hints(Question, include_extras=True)
LANGUAGE = Parameter("lang", _TYPES["language"])
_REQUEST_ERRORS = (400, 403, 421, 429)  # of the middleware
_FILE_ERRORS = (400, 404, 421)
_SCRIPT = {"text/javascript": str}

OPERATIONS = (
    Operation(
        "ask",
        "POST",
        "/v1/ask",
        "Ask a question. The answer is streamed while it is produced.",
        {EVENTS: Any, JSON: Answer},
        (*_REQUEST_ERRORS, 404, 408, 413, 415, 422, 502, 503),
        body=(Question, Chat),
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
            Parameter("q", QuestionText, required=True),
            Parameter("page", _TYPES["page"]),
            LANGUAGE,
        ),
    ),
    Operation(
        "read_outline",
        "GET",
        "/v1/outline",
        "Read the collapsed outline, or a closed branch of it.",
        {JSON: Outline, MARKDOWN: str},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("id", _text("The id of a group, page or section, or `<id>+` (default: the whole outline).")),
            LANGUAGE,
        ),
    ),
    Operation(
        "read_section",
        "GET",
        "/v1/sections/{id}",
        "Open a section: its text, and its subsections within a size limit.",
        {JSON: Section, MARKDOWN: str},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("id", _text("The section's id, or a former one."), required=True),
            Parameter("part", count_up_to(MAX_PARTS, "The part of a long section (default: 1).")),
            LANGUAGE,
        ),
    ),
    Operation(
        "search_sections",
        "GET",
        "/v1/search",
        "Search the full text. No model is called.",
        {JSON: Hits},
        (*_REQUEST_ERRORS, 404, 422, 503),
        (
            Parameter("q", Query, required=True),
            Parameter("limit", count_up_to(MAX_HITS, f"Maximum number of results (default: {DEFAULT_HITS}).")),
            LANGUAGE,
        ),
    ),
    Operation(
        "feedback",
        "POST",
        "/v1/feedback",
        "Report whether an answer was helpful.",
        {},
        (*_REQUEST_ERRORS, 404, 408, 413, 415, 422, 503),
        body=(Feedback,),
        status=204,
        description="404 if feedback is not collected, 422 for a turn of another server or an expired one.",
    ),
    Operation("health", "GET", "/healthz", "Check whether questions can be answered.", {JSON: Health}, (503,)),
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


def describe_operations(operations: Iterable[Operation]) -> Json:
    """Return the OpenAPI 3.1 description of operations."""
    components: Json = {}
    paths: dict[str, Json] = {}

    def describe_type(type_: Any) -> Json:
        (schema,), named = msgspec.json.schema_components([prepare(type_)], ref_template="#/components/schemas/{name}")
        for name, described in named.items():
            components[name] = described | {"description": cleandoc(described["description"])}
        return schema

    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, describe_type)
        for type_ in operation.body:
            _allow_null(components[type_.__name__])
    return {
        "openapi": "3.1.0",
        "info": {"title": "mkdocs-roaming", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def _allow_null(schema: Json) -> None:
    """Describe that optional fields of a request may be null."""
    fields = schema["properties"]
    for name in fields.keys() - schema["required"]:
        notes = {key: fields[name].pop(key) for key in ("description", "default") if key in fields[name]}
        fields[name] = {"anyOf": [fields[name], {"type": "null"}], **notes}


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
    success: Json = {"description": status_phrase(operation.status)}
    if operation.responses:
        success["content"] = describe_content(operation.responses)
    described["responses"] = {str(operation.status): success}
    for status in sorted(operation.errors):
        error = {"description": status_phrase(status), "content": describe_content({PROBLEM: Problem})}
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
