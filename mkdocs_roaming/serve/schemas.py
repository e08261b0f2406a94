"""What requests and answers look like, as JSON Schema, for the OpenAPI description."""

from __future__ import annotations

import json
from typing import Any

from mkdocs_roaming.roam.namespaces import ID
from mkdocs_roaming.serve.log import LONGEST_COMMENT
from mkdocs_roaming.serve.question import LONGEST, LONGEST_PAGE, LONGEST_TURN, MOST_TURNS, TAG, WORDS

Schema = dict[str, Any]


def _object(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _ref(name: str) -> Schema:
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
                question={"type": "string", "maxLength": LONGEST, "pattern": WORDS},
                page={
                    **_TEXT,
                    "maxLength": LONGEST_PAGE,
                    "description": "The page that the reader is on: its path or address.",
                },
                lang={**_TEXT, "pattern": f"^(?:{TAG})?$", "description": "The reader's language, as a tag."},
                turns={**_list({"type": "string", "maxLength": LONGEST_TURN}), "maxItems": MOST_TURNS},
            ),
            _object(("messages",), messages=_list(_object(("role",), role=_TEXT, parts=_list({"type": "object"})))),
        ],
    },
    "Answer": _object(
        ("state", "answer", "sources", "trail", "status", "digest"),
        state=_STATE,
        answer={**_TEXT, "description": "Markdown; `[^id]` cites a section."},
        sources=_list(_ref("Source")),
        trail={**_list(_ref("Source")), "description": "The sections that were opened, in order."},
        support={"anyOf": [_ref("Support"), {"type": "null"}]},
        status=_ref("Status"),
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
        looked_at=_list(_ref("Source")),
        nearest=_list(_ref("Source")),
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
            "maxLength": LONGEST_TURN,
            "description": "What the answer ended with.",
        },
        helpful={"type": "boolean"},
        comment={"type": "string", "maxLength": LONGEST_COMMENT},
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


def _of_sites(schema: Schema) -> Schema:
    """Give a schema whose ids name their site."""
    told: Schema = json.loads(json.dumps(schema).replace(_ID["pattern"], f"^{ID}$"))
    return told


OF_SITES: dict[str, Schema] = {
    **{name: _of_sites(SCHEMAS[name]) for name in ("Outline", "Problem")},
    "Section": _of_sites({**SCHEMAS["Section"], "properties": {**SCHEMAS["Section"]["properties"], **_SITE}}),
    "Hits": _of_sites(_hits(**_SITE)),
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
