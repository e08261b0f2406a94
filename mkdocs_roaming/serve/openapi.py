"""Everything that the endpoint does over HTTP, in one table: routes and OpenAPI description are made from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Literal

from roaming_fleet.namespaces import NAMESPACED_ID

from mkdocs_roaming._version import __version__
from mkdocs_roaming.library.tools import MAX_HITS
from mkdocs_roaming.serve.content import MAX_PARTS
from mkdocs_roaming.serve.log import MAX_COMMENT_CHARS
from mkdocs_roaming.serve.requests import (
    LANGUAGE_TAG_PATTERN,
    MAX_PAGE_CHARS,
    MAX_QUESTION_CHARS,
    MAX_TURN_CHARS,
    MAX_TURNS,
    NOT_BLANK_PATTERN,
)

MAX_SITES = 1_000


MAX_SITE_KEY_CHARS = 100


Method = Literal["GET", "POST"]


JSON, MARKDOWN, EVENTS, PROBLEM = (
    "application/json",
    "text/markdown",
    "text/event-stream",
    "application/problem+json",
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query, or of a path where its name stands there in braces.

    `most` is of a text's characters, of a number's value; a text matches `pattern`.
    """

    name: str
    about: str
    kind: Literal["string", "integer"] = "string"
    required: bool = False
    most: int | None = None
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing to ask for: `gives` are media types of the answer with the schema of each, empty for plain text.

    `refuses` are the statuses that are answered with a problem, `done` is the one of success.
    """

    name: str
    method: Method
    path: str
    about: str
    gives: Mapping[str, str]
    refuses: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    done: int = 200
    more: str = field(default="", repr=False)


_LANGUAGE = Parameter(
    "lang",
    "The reader's language, as a tag; the site's own where it has no other.",
    pattern=f"^(?:{LANGUAGE_TAG_PATTERN})?$",
)


_ALWAYS = (400, 403, 421, 429)  # what the guard refuses


OPERATIONS = (
    Operation(
        "ask",
        "POST",
        "/v1/ask",
        "Ask a question; the answer is streamed while it comes about.",
        {EVENTS: "", JSON: "Answer"},
        (*_ALWAYS, 408, 413, 415, 422, 502, 503),
        body="Question",
        more="Server-sent events in the AI SDK's UI message stream v1, or one object with `Accept: application/json`. "
        "After the first byte a failure is told by an `error` part and by the code in `data-status`.",
    ),
    Operation(
        "ask_offline",
        "GET",
        "/ask",
        "Ask a question and get Markdown; no model is asked and no money is spent.",
        {MARKDOWN: ""},
        (*_ALWAYS, 422, 502, 503),
        (
            Parameter("q", "The question.", required=True, most=MAX_QUESTION_CHARS, pattern=NOT_BLANK_PATTERN),
            Parameter("page", "The page that the reader is on: its path or address.", most=MAX_PAGE_CHARS),
            _LANGUAGE,
        ),
    ),
    Operation(
        "read_outline",
        "GET",
        "/v1/outline",
        "Read the collapsed outline, or a closed branch of it.",
        {JSON: "Outline", MARKDOWN: ""},
        (*_ALWAYS, 404, 422, 503),
        (
            Parameter("id", "A group's, page's or section's id, or `<id>+`; all of the outline when left out."),
            _LANGUAGE,
        ),
    ),
    Operation(
        "read_section",
        "GET",
        "/v1/sections/{id}",
        "Open a section: its text, and its subsections' while there is room.",
        {JSON: "Section", MARKDOWN: ""},
        (*_ALWAYS, 404, 422, 503),
        (
            Parameter("id", "The section's id, or one that it had before.", required=True),
            Parameter("part", "Which part of a long section; 1 when left out.", "integer", most=MAX_PARTS),
            _LANGUAGE,
        ),
    ),
    Operation(
        "search_sections",
        "GET",
        "/v1/search",
        "Search the full text; no model is asked.",
        {JSON: "Hits"},
        (*_ALWAYS, 422, 503),
        (
            Parameter(
                "q",
                "Words, as the documentation would put them.",
                required=True,
                most=MAX_QUESTION_CHARS,
                pattern=NOT_BLANK_PATTERN,
            ),
            Parameter("limit", f"At most so many hits, up to {MAX_HITS}; 5 when left out.", "integer", most=MAX_HITS),
            _LANGUAGE,
        ),
    ),
    Operation(
        "feedback",
        "POST",
        "/v1/feedback",
        "Say whether an answer was helpful.",
        {},
        (*_ALWAYS, 404, 408, 413, 415, 422),
        body="Feedback",
        done=204,
        more="404 where opinions are not kept.",
    ),
    Operation("health", "GET", "/healthz", "Whether questions can be answered now.", {JSON: "Health"}, (503,)),
    Operation("metrics", "GET", "/metrics", "Counters for Prometheus.", {"text/plain": ""}, _ALWAYS),
    Operation("openapi", "GET", "/openapi.json", "This description.", {JSON: ""}, (400, 421)),
    Operation("widget", "GET", "/roaming-ask.js", "The widget.", {"text/javascript": ""}, (400, 404, 421)),
    Operation(
        "widget_finder", "GET", "/roaming-find.js", "The widget's search.", {"text/javascript": ""}, (400, 404, 421)
    ),
    Operation(
        "widget_strings",
        "GET",
        "/ask.{language}.json",
        "The widget's words in another language.",
        {JSON: ""},
        (400, 404, 421),
        (Parameter("language", "A language tag.", required=True),),
    ),
)


def _store_operation(operation: Operation) -> Operation:
    """Give an operation as it is of the sites of a store: each has a language of its own, and may be gone."""
    own = tuple(one for one in operation.parameters if one is not _LANGUAGE)
    refuses = dict.fromkeys((*operation.refuses, 404)) if own else operation.refuses
    return replace(operation, parameters=own, refuses=tuple(sorted(refuses)))


_SHARED_OPERATIONS = ("read_outline", "read_section", "search_sections", "metrics", "openapi")


STORE_OPERATIONS = (
    Operation(
        "list_sites",
        "GET",
        "/v1/sites",
        "List the sites, or those that words are about, best first.",
        {JSON: "Sites"},
        (*_ALWAYS, 404, 422, 503),
        (
            Parameter(
                "q",
                "What they are about; all of them when left out.",
                most=MAX_QUESTION_CHARS,
                pattern=NOT_BLANK_PATTERN,
            ),
            Parameter("after", "The key of a site: those behind it.", most=MAX_SITE_KEY_CHARS),
            Parameter("limit", f"At most so many, up to {MAX_SITES}; 50 when left out.", "integer", most=MAX_SITES),
        ),
    ),
    *(_store_operation(one) for one in OPERATIONS if one.name in _SHARED_OPERATIONS),
    Operation("health", "GET", "/healthz", "Which sites can be read now.", {JSON: "Health"}, ()),
)


"""What the endpoint of a store of many sites does: all of it reads, and ids name their site."""


# MERGED mkdocs_roaming.serve.schemas:
# What requests and answers look like, as JSON Schema, for the OpenAPI description.


Schema = dict[str, Any]


def _object(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _schema_ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_TEXT: Schema = {"type": "string"}


_WHOLE: Schema = {"type": "integer"}


_NUMBER: Schema = {"type": "number"}


_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{8}$"}


_STATE: Schema = {"enum": ["answered", "partial", "not_found", "refused", "budget", "error"]}


_SOURCE = {"id": _ID, "title": _TEXT, "path": _list(_TEXT), "url": _TEXT, "tokens": _WHOLE}


_LISTED = _object(id=_ID, title=_TEXT, tokens=_WHOLE, inside=_WHOLE)


def _hits(**more: Schema) -> Schema:
    hit = _object(id=_ID, title=_TEXT, path=_list(_TEXT), url=_TEXT, snippet=_TEXT, score=_NUMBER, **more)
    return _object(("query", "hits"), query=_TEXT, hits=_list(hit), digest=_TEXT)


SCHEMAS: dict[str, Schema] = {
    "Question": {
        "description": "A question. The body that the AI SDK's `useChat` sends is accepted too: of its `messages` the "
        "last one of the user is read, and the signed turns in the metadata of earlier answers. A body has at most "
        "64 KiB: in long conversations let `prepareSendMessagesRequest` leave the parts of answers out.",
        "anyOf": [
            _object(
                ("question",),
                question={"type": "string", "maxLength": MAX_QUESTION_CHARS, "pattern": NOT_BLANK_PATTERN},
                page={
                    **_TEXT,
                    "maxLength": MAX_PAGE_CHARS,
                    "description": "The page that the reader is on: its path or address.",
                },
                lang={
                    **_TEXT,
                    "pattern": f"^(?:{LANGUAGE_TAG_PATTERN})?$",
                    "description": "The reader's language, as a tag.",
                },
                turns={**_list({"type": "string", "maxLength": MAX_TURN_CHARS}), "maxItems": MAX_TURNS},
            ),
            _object(("messages",), messages=_list(_object(("role",), role=_TEXT, parts=_list({"type": "object"})))),
        ],
    },
    "Answer": _object(
        ("state", "answer", "sources", "trail", "status", "digest"),
        state=_STATE,
        answer={**_TEXT, "description": "Markdown; `[^id]` cites a section."},
        sources=_list(_schema_ref("Source")),
        trail={**_list(_schema_ref("Source")), "description": "The sections that were opened, in order."},
        support={"anyOf": [_schema_ref("Support"), {"type": "null"}]},
        status=_schema_ref("Status"),
        digest=_TEXT,
        turn={**_TEXT, "description": "Send it with the next question, among its `turns`."},
    ),
    "Source": _object(("id", "title", "path", "url"), **_SOURCE),
    "Support": _object(
        score=_NUMBER,
        sentences=_list(
            _object(
                start={**_WHOLE, "description": "In UTF-16 units of the answer without its `[^id]` markers."},
                end=_WHOLE,
                section={"anyOf": [_ID, {"type": "null"}]},
                score=_NUMBER,
                marks=_list(_object(kind=_TEXT, start=_WHOLE, end=_WHOLE, instead=_TEXT)),
            )
        ),
        skipped={"type": "boolean"},
    ),
    "Status": _object(
        ("state", "code", "model", "rounds", "sections", "usage", "cost"),
        state=_STATE,
        code={**_TEXT, "description": "The state; `budget_…` names the budget that was spent; `failed`."},
        model=_TEXT,
        rounds=_WHOLE,
        sections={**_WHOLE, "description": "How many were opened."},
        tokens_read={**_WHOLE, "description": "Estimated."},
        usage=_object(input=_WHOLE, cache_read=_WHOLE, cache_write=_WHOLE, output=_WHOLE),
        cost={"anyOf": [_NUMBER, {"type": "null"}]},
        currency=_TEXT,
        cached={"type": "boolean"},
        dropped_citations=_WHOLE,
        withheld=_WHOLE,
        turns_dropped=_WHOLE,
        looked_at=_list(_schema_ref("Source")),
        nearest=_list(_schema_ref("Source")),
    ),
    "Outline": _object(("digest", "outline"), digest=_TEXT, outline=_TEXT, tokens=_WHOLE),
    "Section": _object(
        ("id", "title", "path", "url", "text", "part", "parts"),
        **_SOURCE,
        text=_TEXT,
        shown={**_list(_ID), "description": "The sections whose text is in `text`."},
        listed=_list(_LISTED),
        part=_WHOLE,
        parts=_WHOLE,
        before={"anyOf": [_LISTED, {"type": "null"}]},
        after={"anyOf": [_LISTED, {"type": "null"}]},
        digest=_TEXT,
    ),
    "Hits": _hits(),
    "Feedback": _object(
        ("turn", "helpful"),
        turn={
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_TURN_CHARS,
            "description": "What the answer ended with.",
        },
        helpful={"type": "boolean"},
        comment={"type": "string", "maxLength": MAX_COMMENT_CHARS},
    ),
    "Health": _object(
        ("status",),
        status={"enum": ["ok", "stale"], "description": "`stale`: the last good copy answers."},
        site=_TEXT,
        digest=_TEXT,
        sections=_WHOLE,
        model=_TEXT,
    ),
    "Problem": _object(
        ("title", "status", "detail", "code"),
        type=_TEXT,
        title=_TEXT,
        status=_WHOLE,
        detail=_TEXT,
        code=_TEXT,
        retry_after=_WHOLE,
    ),
}


_SITE = {
    "site": _TEXT,
    "crawled": {**_NUMBER, "description": "When the site was last up to date, in seconds since 1970."},
}


def _store_schema(schema: Schema) -> Schema:
    """Give a schema whose ids name their site."""
    told: Schema = json.loads(json.dumps(schema).replace(_ID["pattern"], f"^{NAMESPACED_ID}$"))
    return told


STORE_SCHEMAS: dict[str, Schema] = {
    **{name: _store_schema(SCHEMAS[name]) for name in ("Outline", "Problem")},
    "Section": _store_schema({**SCHEMAS["Section"], "properties": {**SCHEMAS["Section"]["properties"], **_SITE}}),
    "Hits": _store_schema(_hits(**_SITE)),
    "Sites": _object(
        ("sites",),
        sites=_list(
            _object(
                ("site", "title", "url"),
                **_SITE,
                title=_TEXT,
                summary=_TEXT,
                url=_TEXT,
                language=_TEXT,
                pages=_WHOLE,
                sections=_WHOLE,
                digest=_TEXT,
                state={"enum": ["done", "failed"], "description": "`failed`: the last good copy is what there is."},
            )
        ),
        next={"anyOf": [_TEXT, {"type": "null"}], "description": "The `after` of those that follow."},
        digest=_TEXT,
    ),
    "Health": _object(
        ("status",),
        status={"enum": ["ok", "stale"], "description": "`stale`: what is known of the store goes on."},
        sites=_WHOLE,
        digest=_TEXT,
    ),
}


"""The same of a store of many sites."""


# MERGED mkdocs_roaming.serve.openapi:
# The endpoint's description in OpenAPI 3.1, made from the table of its operations.


Json = dict[str, Any]


def describe_operations(operations: Iterable[Operation], *, title: str, schemas: Mapping[str, Json] = SCHEMAS) -> Json:
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
