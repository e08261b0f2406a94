"""The tools that models, agents and MCP clients call: definitions, results, arguments, dispatch.

Arguments come from models, so they are parsed leniently: one id where a list belongs, a number as text, JSON in text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.library.grep import GrepResult, render_grep
from mkdocs_roaming.library.library import OWN, Origin
from mkdocs_roaming.library.search import SearchResult
from mkdocs_roaming.manifest.expand import Expansion, ListedSection, render_expansion, render_listed
from mkdocs_roaming.text.markdown import truncate_at_word

MAX_IDS = 8
MAX_HITS = 10

_MAX_ARGUMENTS = 64
_MAX_ARGUMENT_CHARS = 2_000
_MAX_DEPTH = 3
_MAX_ID_CHARS = 120
_MAX_ERROR_CHARS = 500
_MAX_NAME_CHARS = 60
_DEFAULT_HITS = 5
_MAX_PART = 10**6
_ID_DIGITS = 8
"""Digits of an id that is written as a number: leading zeros are missing then."""

_MAX_ID_DIGITS = 20
_NOT_IN_NAMES = re.compile(r"__|[^A-Za-z_-]+")
"""What separates the name of a tool from a prefix: `mcp__site__search`, `functions.search:1`."""

_ALL_IDS = re.compile(r"(?:(?:[\w.-]+:)?[0-9a-fA-F]{8}(?:\+?\s+|\+?$))+")
"""Ids with spaces between them, such as `07f3277d ruff:1c2d3e4f+`."""


# Definitions


@dataclass(frozen=True, slots=True)
class Tool:
    """The definition of a tool; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


TOOLS = (
    Tool(
        "read_outline",
        "Read the outline of the documentation, or of one branch of it. A line shows the id and title of a page or "
        "section, perhaps its opening, and titles of sections inside. `+12` means that 12 sections inside are not "
        "listed: pass the id to list them. `[07f3277d+] 30 more` means that the list goes on: pass `07f3277d+`.",
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
                    "maxItems": MAX_IDS,
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
        "Search the full text. Opens the best or shortest hits; of the others it shows id, place and a matching "
        "passage, and expand_sections opens them. Says which words the documentation does not contain.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words as the documentation would put them."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_HITS, "description": "5 when left out."},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
)
"""The tools of the answer loop, in the order in which a reader new to the site uses them."""

AGENT_TOOLS = (
    *TOOLS,
    Tool(
        "grep",
        "Find lines that contain an exact string: an identifier, an option, an error message. Case counts if the "
        "pattern has a capital letter. Shows section ids and numbered lines; expand_sections opens the sections.",
        {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The string, without quotes."},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
    ),
)
"""The tools of agents."""

_TOOL_NAMES = {
    "readoutline": "read_outline",
    "outline": "read_outline",
    "expandsections": "expand_sections",
    "expandsection": "expand_sections",
    "expand": "expand_sections",
    "searchsections": "search_sections",
    "search": "search_sections",
    "grep": "grep",
}
"""The tools by the names that models use for them, in small letters alone."""

_WRAPPERS = {"arguments", "parameters", "input", "args"}
"""What models name the object of all arguments if they put it into another one."""


# Results

_SEPARATOR = "\n---\n\n"


@dataclass(frozen=True, slots=True)
class OutlineResult:
    """The outline, or a branch of it, and the site that it is from."""

    text: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class UnknownSection:
    """An id that cannot be opened: the reason if it is known, and the most similar sections."""

    id: str
    nearest: tuple[ListedSection, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class ExpandResult:
    """Opened sections, and the ids that were not opened: unknown, open already, or `skipped` for lack of room."""

    sections: tuple[Expansion, ...]
    missing: tuple[UnknownSection, ...] = ()
    already_open: tuple[ListedSection, ...] = ()
    skipped: tuple[str, ...] = ()
    origin: Origin = OWN


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of a query.

    Attributes:
        query: The query.
        hits: The sections that were found, best first.
        words_only: Whether the embedding of the query was not available.
        sections: The hits that were opened with the search: short ones whole, of a long one the best part.
        already_open: The hits that were open before.
        unknown_words: The words of the query that the site does not contain.
        confidence: How probably the site answers the query, from 0 to 1; see `relevance.MIN_CONFIDENCE`.
        note: Says that probably no section answers the query; see `Search.judge`.
        origin: The site that the results are from.
    """

    query: str
    hits: tuple[SearchResult, ...]
    words_only: bool = False
    sections: tuple[Expansion, ...] = ()
    already_open: tuple[ListedSection, ...] = ()
    unknown_words: tuple[str, ...] = ()
    confidence: float = 1.0
    note: str = ""
    origin: Origin = OWN


@dataclass(frozen=True, slots=True)
class ToolError:
    """A call with a wrong name or wrong arguments; the message says what is right."""

    message: str


ToolOutput = OutlineResult | ExpandResult | SearchResults | GrepResult | ToolError


def render(result: ToolOutput) -> str:
    """Return a tool's result as text for a model, below a label if it is from a third-party site."""
    match result:
        case OutlineResult(text):
            return result.origin.render() + text
        case ToolError(message):
            return message + "\n"
        case SearchResults():
            return result.origin.render() + _render_hits(result)
        case ExpandResult():
            return result.origin.render() + _render_sections(result)
        case GrepResult():
            return render_grep(result)


def split_origin(result: ToolOutput) -> tuple[str, ToolOutput]:
    """Return the label of a result, and the result without it."""
    if isinstance(result, ToolError):
        return "", result
    return result.origin.render(), replace(result, origin=OWN)


def limit_results(results: Iterable[SearchResult], cap: int) -> tuple[SearchResult, ...]:
    """Return the first results that fit into `cap` characters when they are rendered."""
    fitting: list[SearchResult] = []
    for result in results:
        cap -= len(render(SearchResults("", (result,)))) + 1
        if cap < 0:
            break
        fitting.append(result)
    return tuple(fitting)


def _render_hits(results: SearchResults) -> str:
    """Return the opened sections, then a line for each other hit, and what is open or missing."""
    blocks = [results.note + "\n"] if results.note else []
    # A model that gets the texts in another way needs only the list of what remains closed.
    closed: dict[str, ListedSection] = {}
    for expansion in results.sections:
        if expansion.shown:
            blocks.append(render_expansion(expansion))
        else:
            closed.update((section.id, section) for section in expansion.listed)
    if closed:
        blocks.append("Of these, expand_sections opens more:\n\n" + "".join(map(render_listed, closed.values())))
    # Other hits that are not open; those with the same title are grouped.
    known = {section.id for section in results.sections} | {section.id for section in results.already_open}
    by_title: dict[str, list[SearchResult]] = {}
    for hit in results.hits:
        if hit.id not in known:
            by_title.setdefault(hit.title.casefold(), []).append(hit)
    notes = "Also found, not opened:\n\n" if by_title and results.sections else ""
    for hits in by_title.values():
        places = [f"[{hit.id}] {' › '.join(hit.breadcrumb)}" for hit in hits]
        snippet = f" — {hits[0].snippet}" if hits[0].snippet else ""
        notes += f"{places[0]}{snippet}\n"
        for place in places[1:]:
            notes += f"  also {place}\n"
    if results.already_open:
        notes += f"Open already: {_list_titles(results.already_open)}\n"
    if not results.hits:
        notes += "Nothing found. Try other words, or read_outline.\n"
    if results.unknown_words:
        notes += f"Words that the documentation does not contain: {', '.join(results.unknown_words)}\n"
    if notes:
        blocks.append(notes)
    return _SEPARATOR.join(blocks)


def _list_titles(sections: Iterable[ListedSection]) -> str:
    return ", ".join(f"[{section.id}] {section.title}" for section in sections)


def _render_sections(result: ExpandResult) -> str:
    notes = ""
    for unknown in result.missing:
        reason = unknown.why or "no section has this id"
        nearest = f"; nearest: {_list_titles(unknown.nearest)}" if unknown.nearest else ""
        notes += f"{unknown.id}: {reason}{nearest}.\n"
    for section in result.already_open:
        notes += f"[{section.id}] {section.title}: is open above already.\n"
    if result.skipped:
        notes += f"No room for {', '.join(result.skipped)}: ask again in another call.\n"
    blocks = [render_expansion(expansion) for expansion in result.sections]
    if notes:
        blocks.append(notes)
    return _SEPARATOR.join(blocks) or "Nothing to open: give ids from the outline.\n"


# Arguments


def parse_tool_name(name: object) -> str | None:
    """Return the name of the tool that a model means, or None: names come with a prefix, or in another style."""
    if not isinstance(name, str):
        return None
    for word in _NOT_IN_NAMES.split(name):
        tool = _TOOL_NAMES.get(word.replace("_", "").replace("-", "").lower())
        if tool:
            return tool
    return None


def parse_arguments(arguments: object, default_name: str) -> Mapping[str, object]:
    """Return arguments by name; a value that is no mapping becomes the argument `default_name`."""
    arguments = _decode(arguments)
    while isinstance(arguments, Mapping) and len(arguments) == 1 and arguments.keys() <= _WRAPPERS:
        arguments = _decode(*arguments.values())
    if isinstance(arguments, Mapping):
        return {str(key): value for key, value in list(arguments.items())[:_MAX_ARGUMENTS]}
    return {} if arguments is None else {default_name: arguments}


def _decode(arguments: object) -> object:
    """Return the JSON in a text, or the value itself."""
    try:
        decoded = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments
    # An id may consist of digits, or look like 12e45678.
    return arguments if isinstance(decoded, (int, float)) else decoded


def parse_expand_arguments(arguments: object) -> tuple[list[str], int]:
    """Return the ids and the part of a call of expand_sections."""
    named = parse_arguments(arguments, "ids")
    ids = parse_ids(first_argument(named, "ids", "id", "section_ids", "section_id"))
    return ids, parse_int(named.get("part"), 1, 1, _MAX_PART)


def parse_ids(value: object) -> list[str]:
    """Return the distinct ids in an argument, in order: a list, a text with commas, a single id."""
    return list(dict.fromkeys(_iter_ids(value, 0)))[:_MAX_ARGUMENTS]


def first_argument(arguments: Mapping[str, object], *names: str) -> object:
    """Return the first non-empty argument of these names, or None."""
    values = map(arguments.get, names)
    return next((value for value in values if value not in (None, "", [], {})), None)


def _join_texts(value: object) -> str:
    """Return a text, or the texts in a list or an object, as one text."""
    if isinstance(value, Mapping):
        value = list(value.values())
    texts = value if isinstance(value, list) else [value]
    return " ".join(text for text in texts if isinstance(text, str))


def parse_int(value: object, default: int, minimum: int, maximum: int) -> int:
    """Return an argument as a number within limits, or the default if it is none."""
    if isinstance(value, (str, float)):
        try:
            value = int(value)
        except (ValueError, OverflowError):  # other words, or no finite number
            return default
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return min(max(value, minimum), maximum)


def _iter_ids(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        text = value[:_MAX_ARGUMENT_CHARS].replace(";", ",").replace("\n", ",")
        for part in text.split(","):
            address = part.strip(" \t\r\n\"'`[](){}<>")
            if _ALL_IDS.fullmatch(address):
                yield from address.split()
            elif address:
                yield address
    elif isinstance(value, int) and not isinstance(value, bool):
        number = abs(value)
        yield f"{value:0{_ID_DIGITS}d}" if number < 10**_ID_DIGITS else str(number % 10**_MAX_ID_DIGITS)
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        for name in ("id", "section_id", "ids"):
            if name in value:
                yield from _iter_ids(value[name], depth + 1)
    elif isinstance(value, (list, tuple)) and depth < _MAX_DEPTH:
        for item in value[:_MAX_ARGUMENTS]:
            yield from _iter_ids(item, depth + 1)


# Dispatch


class Toolset(Protocol):
    """The tools over one site (`Navigator`) or over a store of many, with a memory of the open sections."""

    @property
    def name(self) -> str:
        """The name of the site, or the number of sites."""

    @property
    def about(self) -> str:
        """One or two sentences for the descriptions of the tools."""

    @property
    def digest(self) -> str:
        """A text that changes with the content."""

    def fork(self, cap: int) -> Self:
        """Return tools over the same content with nothing opened, whose results have at most `cap` characters."""

    def read_outline(self, id: str | None = None) -> OutlineResult | ToolError:
        """Return the outline, or a closed branch of it."""

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> ExpandResult | ToolError:
        """Open sections."""

    def search_sections(self, query: str, limit: int = _DEFAULT_HITS) -> SearchResults | ToolError:
        """Search the full text."""

    def grep(self, pattern: str) -> GrepResult | ToolError:
        """Find lines that contain a string."""

    def drop(self, ids: Iterable[str]) -> None:
        """Forget that sections are open."""

    def call(self, name: str, arguments: object) -> ToolOutput:
        """Call a tool by its name with a model's arguments. Errors are returned, not raised."""
        try:
            match parse_tool_name(name):
                case "read_outline":
                    named = parse_arguments(arguments, "id")
                    ids = parse_ids(first_argument(named, "id", "ids", "section_id"))
                    return self.read_outline(ids[0] if ids else None)
                case "expand_sections":
                    ids, part = parse_expand_arguments(arguments)
                    return self.expand_sections(ids, part)
                case "search_sections":
                    named = parse_arguments(arguments, "query")
                    query = _join_texts(first_argument(named, "query", "q", "queries"))
                    if not query:
                        return ToolError("search_sections needs `query`, a text.")
                    return self.search_sections(query, parse_int(named.get("limit"), _DEFAULT_HITS, 1, MAX_HITS))
                case "grep":
                    named = parse_arguments(arguments, "pattern")
                    pattern = first_argument(named, "pattern", "query")
                    if not isinstance(pattern, str):
                        return ToolError("grep needs `pattern`, a text.")
                    return self.grep(pattern)
                case _:
                    names = ", ".join(tool.name for tool in TOOLS)
                    return ToolError(f"There is no tool {str(name)[:_MAX_NAME_CHARS]!r}; there are {names}.")
        except RoamingError as error:
            return ToolError(truncate_at_word(str(error), _MAX_ERROR_CHARS))


def expand_separately(
    expand: Callable[[str], ExpandResult | ToolError],
    ids: Sequence[str],
    drop: Callable[[Iterable[str]], None],
    *,
    cap: int,
) -> ExpandResult | ToolError:
    """Open sections one by one, so that each is cut into parts as if it were the only one.

    Args:
        expand: Opens one section.
        ids: The sections. Those beyond `MAX_IDS`, and those with no room left, are returned as skipped.
        drop: Forgets that sections are open: called for a section that is skipped.
        cap: Maximum number of characters of the rendered result.
    """
    names = [truncate_at_word(id_, _MAX_ID_CHARS) for id_ in ids]
    result = ExpandResult(())
    skipped: list[str] = []
    for at, id_ in enumerate(ids[:MAX_IDS]):
        opened = expand(id_)
        if isinstance(opened, ToolError):
            return opened
        combined = ExpandResult(
            result.sections + opened.sections,
            result.missing + opened.missing,
            result.already_open + opened.already_open,
            (*skipped, *names[at + 1 :]),
            result.origin | opened.origin,
        )
        if len(render(combined)) <= cap:
            result = combined
        else:
            skipped.append(names[at])
            drop(shown.id for expansion in opened.sections for shown in expansion.shown)
    return replace(result, skipped=(*skipped, *names[MAX_IDS:]))
