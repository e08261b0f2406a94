"""The tools of roaming as they are offered: alike to Claude, to any other model and to MCP clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST_IDS = 8
MOST_HITS = 10


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is offered: `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


TOOLS = (
    Tool(
        "read_outline",
        "Read the collapsed outline of the documentation, or of one closed branch of it. Each line shows a section's "
        "id, title and opening. `+12 inside` marks a closed branch: pass its id to see inside. `[07f3277d+] 30 more` "
        "stands for lines that follow: pass `07f3277d+` to see them.",
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "A group's, page's or section's id; all of it when left out."}
            },
            "additionalProperties": False,
        },
    ),
    Tool(
        "expand_sections",
        "Open sections and read their text, several at once. Subsections come along while there is room; the others "
        "are listed with their ids. A long section comes in parts.",
        {
            "type": "object",
            "properties": {
                "ids": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "maxItems": MOST_IDS,
                    "description": "Ids of pages or sections, as the outline shows them.",
                },
                "part": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Which part of a long section; 1 when left out.",
                },
            },
            "required": ["ids"],
            "additionalProperties": False,
        },
    ),
    Tool(
        "search_sections",
        "Search the full text. Gives ids, breadcrumbs and matching snippets, no texts: expand_sections opens them.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words as the documentation would put them."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_HITS, "description": "5 when left out."},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
)
"""In the order in which a reader new to the site would use them."""
