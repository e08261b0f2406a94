"""Everything that the endpoint does over HTTP, in one table: routes and OpenAPI description are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from mkdocs_roaming.roam.tools import MOST_HITS
from mkdocs_roaming.serve.question import LONGEST, LONGEST_PAGE, TAG, WORDS
from mkdocs_roaming.serve.walking import MOST_PARTS

MOST_SITES = 1_000
MOST_KEY = 100
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
    "lang", "The reader's language, as a tag; the site's own where it has no other.", pattern=f"^(?:{TAG})?$"
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
            Parameter("q", "The question.", required=True, most=LONGEST, pattern=WORDS),
            Parameter("page", "The page that the reader is on: its path or address.", most=LONGEST_PAGE),
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
            Parameter("part", "Which part of a long section; 1 when left out.", "integer", most=MOST_PARTS),
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
            Parameter("q", "Words, as the documentation would put them.", required=True, most=LONGEST, pattern=WORDS),
            Parameter("limit", f"At most so many hits, up to {MOST_HITS}; 5 when left out.", "integer", most=MOST_HITS),
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


def _of_sites(operation: Operation) -> Operation:
    """Give an operation as it is of the sites of a store: each has a language of its own, and may be gone."""
    own = tuple(one for one in operation.parameters if one is not _LANGUAGE)
    refuses = dict.fromkeys((*operation.refuses, 404)) if own else operation.refuses
    return replace(operation, parameters=own, refuses=tuple(sorted(refuses)))


_KEPT = ("read_outline", "read_section", "search_sections", "metrics", "openapi")
OF_SITES = (
    Operation(
        "list_sites",
        "GET",
        "/v1/sites",
        "List the sites, or those that words are about, best first.",
        {JSON: "Sites"},
        (*_ALWAYS, 404, 422, 503),
        (
            Parameter("q", "What they are about; all of them when left out.", most=LONGEST, pattern=WORDS),
            Parameter("after", "The key of a site: those behind it.", most=MOST_KEY),
            Parameter("limit", f"At most so many, up to {MOST_SITES}; 50 when left out.", "integer", most=MOST_SITES),
        ),
    ),
    *(_of_sites(one) for one in OPERATIONS if one.name in _KEPT),
    Operation("health", "GET", "/healthz", "Which sites can be read now.", {JSON: "Health"}, ()),
)
"""What the endpoint of a store of many sites does: all of it reads, and ids name their site."""
