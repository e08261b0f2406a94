"""The tools of roaming as they are offered: alike to Claude, to any other model and to MCP clients."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.expand import Expansion, ListedSection, render_expansion
from mkdocs_roaming.text.markdown import truncate_at_word

MAX_IDS = 8


MAX_HITS = 10


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
        "Search the full text. Gives ids, breadcrumbs and matching snippets, no texts: expand_sections opens them.",
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


"""In the order in which a reader new to the site would use them."""


# MERGED mkdocs_roaming.roam.results:
# What the tools of roaming give, as data, and the same as text for those who read no data.


@dataclass(frozen=True, slots=True)
class OutlineResult:
    """The outline, or a branch of it."""

    text: str


@dataclass(frozen=True, slots=True)
class UnknownSection:
    """An id that opens nothing, the nearest that do, and why where the id is known."""

    id: str
    nearest: tuple[ListedSection, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class ExpandResult:
    """Sections opened; ids that open none; sections that stand open already; ids for which there was no room."""

    sections: tuple[Expansion, ...]
    missing: tuple[UnknownSection, ...] = ()
    already_open: tuple[ListedSection, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A section that search found."""

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    snippet: str
    score: float
    url: str


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What search found, best first."""

    query: str
    hits: tuple[SearchResult, ...]
    words_only: bool = False
    """Whether it went by words alone since the question's meaning could not be had."""


@dataclass(frozen=True, slots=True)
class ToolError:
    """A call that cannot be understood; the message says what is right."""

    message: str


ToolOutput = OutlineResult | ExpandResult | SearchResults | ToolError


def render(result: ToolOutput) -> str:
    """Give a result as text; what a navigator gives stays within its cap."""
    match result:
        case OutlineResult(text):
            return text
        case ToolError(message):
            return message + "\n"
        case SearchResults():
            return _found(result)
        case ExpandResult():
            return _expanded(result)


def _found(found: SearchResults) -> str:
    if not found.hits:
        return "Nothing found. Try other words, or read_outline.\n"
    return "\n".join(
        f"[{hit.id}] {' › '.join(hit.breadcrumb)}\n{hit.snippet}\n"
        if hit.snippet
        else f"[{hit.id}] {' › '.join(hit.breadcrumb)}\n"
        for hit in found.hits
    )


def _expanded(expanded: ExpandResult) -> str:
    notes = [_missing(missing) for missing in expanded.missing]
    notes += [f"[{other.id}] {other.title}: stands open above already.\n" for other in expanded.already_open]
    if expanded.skipped:
        notes.append(f"No room for {', '.join(expanded.skipped)}: ask again in another call.\n")
    pieces = [render_expansion(expansion) for expansion in expanded.sections]
    if notes:
        pieces.append("".join(notes))
    return "\n---\n\n".join(pieces) or "Nothing to open: give ids from the outline.\n"


def _missing(missing: UnknownSection) -> str:
    said = missing.why or "no section has this id"
    nearest = ", ".join(f"[{other.id}] {other.title}" for other in missing.nearest)
    return f"{missing.id}: {said}" + (f"; nearest: {nearest}.\n" if nearest else ".\n")


# MERGED mkdocs_roaming.roam.arguments:
# What models pass to tools, understood as far as it can be: one id for a list, a text for a number, JSON in a
# text.


TOOL_NAMES = {
    "read_outline": "read_outline",
    "outline": "read_outline",
    "expand_sections": "expand_sections",
    "expand_section": "expand_sections",
    "expand": "expand_sections",
    "search_sections": "search_sections",
    "search": "search_sections",
}


"""The tools, by the names that models give them."""


def parse_tool_name(name: object) -> str | None:
    """Give the tool that is meant."""
    return TOOL_NAMES.get(name.strip().lower().rpartition(".")[2][:40]) if isinstance(name, str) else None


def parse_arguments(arguments: object, alone: str) -> Mapping[str, object]:
    """Give the arguments by name; what is no mapping is taken for the one called `alone`."""
    if isinstance(arguments, (str, bytes)):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = arguments
        # A bare id may be all digits, or look like 12e45678.
        arguments = arguments if isinstance(read, (int, float)) else read
    if isinstance(arguments, Mapping):
        return {str(key): value for key, value in list(arguments.items())[:_MOST]}
    return {} if arguments is None else {alone: arguments}


def parse_ids(value: object) -> list[str]:
    """Give the ids in an argument, each once, in order: a list of them, a text with commas, one alone."""
    return list(dict.fromkeys(_ids(value, 0)))[:_MOST]


def first_argument(arguments: Mapping[str, object], *names: str) -> object:
    """Give the first argument of these names that says something."""
    return next((arguments[name] for name in names if arguments.get(name) not in (None, "", [], {})), None)


def parse_int(value: object, default: int, least: int, most: int) -> int:
    """Give a whole number between two others."""
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,9}\s*", value) else default
    if isinstance(value, float):
        value = int(value) if -1e9 < value < 1e9 else default
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return min(max(value, least), most)


def _ids(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, bytes):
        value = value[:_LONGEST].decode("utf-8", "replace")
    if isinstance(value, str):
        text = value[:_LONGEST]
        pieces = [piece.strip(" \t\r\n\"'`[](){}<>") for piece in re.split(r"[,;\n]", text)]
        for piece in pieces:
            yield from piece.split() if _ALL_IDS.fullmatch(piece) else [piece] if piece else []
    elif isinstance(value, int) and not isinstance(value, bool):
        yield f"{value:08d}" if abs(value) < 10**8 else str(abs(value) % 10**20)
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        for name in ("id", "section_id", "ids"):
            if name in value:
                yield from _ids(value[name], depth + 1)
    elif isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for item in value[:_MOST]:
            yield from _ids(item, depth + 1)


_MOST = 64


_LONGEST = 2_000


_DEEPEST = 3


_ALL_IDS = re.compile(r"(?:[0-9a-fA-F]{8}\+?\s+)+[0-9a-fA-F]{8}\+?")


# MERGED mkdocs_roaming.roam.calling:
# A tool called by its name, with whatever a model passes for arguments.


class Toolset(Protocol):
    """The three tools over one site (`Navigator`) or over a store of many, with a memory of the open sections."""

    @property
    def name(self) -> str:
        """The name of the site, or the number of sites."""
        ...

    @property
    def about(self) -> str:
        """One or two sentences for the descriptions of the tools."""
        ...

    @property
    def digest(self) -> str:
        """A text that changes with the content."""
        ...

    def fork(self, cap: int) -> Self:
        """Return tools over the same content with nothing opened, whose results have at most `cap` characters."""
        ...

    def call(self, name: str, arguments: object) -> ToolOutput:
        """Call a tool by its name with a model's arguments."""
        ...

    def read_outline(self, id: str | None = None) -> OutlineResult | ToolError:  # noqa: A002 -- the tool's parameter
        """Give the outline, or a closed branch of it."""
        ...

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> ExpandResult | ToolError:
        """Open sections."""
        ...

    def search_sections(self, query: str, limit: int = 5) -> SearchResults | ToolError:
        """Search the full text."""
        ...

    def drop(self, ids: Iterable[str]) -> None:
        """Let sections go: they stand open no more."""
        ...


def call_tool(tools: Toolset, name: str, arguments: object) -> ToolOutput:
    """Give what a tool gives; what cannot be understood is told, and nothing is raised."""
    try:
        match parse_tool_name(name):
            case "read_outline":
                named = parse_arguments(arguments, "id")
                ids = parse_ids(first_argument(named, "id", "ids", "section_id"))
                return tools.read_outline(ids[0] if ids else None)
            case "expand_sections":
                ids, part = parse_expand_arguments(arguments)
                return tools.expand_sections(ids, part)
            case "search_sections":
                named = parse_arguments(arguments, "query")
                words = first_argument(named, "query", "q")
                if not isinstance(words, str):
                    return ToolError("search_sections needs `query`, a text.")
                return tools.search_sections(words, parse_int(named.get("limit"), 5, 1, MAX_HITS))
            case _:
                return ToolError(f"There is no tool {str(name)[:60]!r}; there are {', '.join(t.name for t in TOOLS)}.")
    except RoamingError as error:
        return ToolError(truncate_at_word(str(error), 500))


def parse_expand_arguments(arguments: object) -> tuple[list[str], int]:
    """Give the ids and the part that expand_sections is asked for."""
    named = parse_arguments(arguments, "ids")
    ids = parse_ids(first_argument(named, "ids", "id", "section_ids", "section_id"))
    return ids, parse_int(named.get("part"), 1, 1, 10**6)


def expand_separately(
    one: Callable[[str], ExpandResult | ToolError],
    ids: Sequence[str],
    drop: Callable[[Iterable[str]], None],
    *,
    cap: int,
) -> ExpandResult | ToolError:
    """Open sections one by one, each cut into parts as if it were the only one: `one` opens it, `drop` lets it go.

    Those that find no room beside the others are named, to be asked for again.
    """
    opened = ExpandResult(())
    skipped: list[str] = []
    for at, id_ in enumerate(ids[:MAX_IDS]):
        found = one(id_)
        if isinstance(found, ToolError):
            return found
        more = ExpandResult(
            opened.sections + found.sections,
            opened.missing + found.missing,
            opened.already_open + found.already_open,
            tuple(truncate_at_word(left, _NAME) for left in (*skipped, *ids[at + 1 :])),
        )
        if len(render(more)) <= cap:
            opened = more
        else:
            skipped.append(id_)
            drop(shown.id for expansion in found.sections for shown in expansion.shown)
    left = tuple(truncate_at_word(left, _NAME) for left in (*skipped, *ids[MAX_IDS:]))
    return ExpandResult(opened.sections, opened.missing, opened.already_open, left)


_NAME = 120
