"""A tool called by its name, with whatever a model passes for arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.headings import cut_at_word
from mkdocs_roaming.roam import arguments as given
from mkdocs_roaming.roam.results import Expanded, Found, Misused, Outlined, Result, render
from mkdocs_roaming.roam.tools import MOST_HITS, MOST_IDS, TOOLS


class Tools(Protocol):
    """What the three tools are called of: the navigator of a site, or of several."""

    def read_outline(self, id: str | None = None) -> Outlined | Misused:  # noqa: A002 -- the tool's parameter
        """Give the outline, or a closed branch of it."""
        ...

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> Expanded | Misused:
        """Open sections."""
        ...

    def search_sections(self, query: str, limit: int = 5) -> Found | Misused:
        """Search the full text."""
        ...

    def drop(self, ids: Iterable[str]) -> None:
        """Let sections go: they stand open no more."""
        ...


def called(tools: Tools, name: str, arguments: object) -> Result:
    """Give what a tool gives; what cannot be understood is told, and nothing is raised."""
    try:
        match given.tool_name(name):
            case "read_outline":
                named = given.mapping(arguments, "id")
                ids = given.ids_of(given.first(named, "id", "ids", "section_id"))
                return tools.read_outline(ids[0] if ids else None)
            case "expand_sections":
                ids, part = sections_asked(arguments)
                return tools.expand_sections(ids, part)
            case "search_sections":
                named = given.mapping(arguments, "query")
                words = given.first(named, "query", "q")
                if not isinstance(words, str):
                    return Misused("search_sections needs `query`, a text.")
                return tools.search_sections(words, given.number(named.get("limit"), 5, 1, MOST_HITS))
            case _:
                return Misused(f"There is no tool {str(name)[:60]!r}; there are {', '.join(t.name for t in TOOLS)}.")
    except RoamingError as error:
        return Misused(cut_at_word(str(error), 500))


def sections_asked(arguments: object) -> tuple[list[str], int]:
    """Give the ids and the part that expand_sections is asked for."""
    named = given.mapping(arguments, "ids")
    ids = given.ids_of(given.first(named, "ids", "id", "section_ids", "section_id"))
    return ids, given.number(named.get("part"), 1, 1, 10**6)


def opened_apart(
    one: Callable[[str], Expanded | Misused], ids: Sequence[str], drop: Callable[[Iterable[str]], None], *, cap: int
) -> Expanded | Misused:
    """Open sections one by one, each cut into parts as if it were the only one: `one` opens it, `drop` lets it go.

    Those that find no room beside the others are named, to be asked for again.
    """
    opened = Expanded(())
    skipped: list[str] = []
    for at, id_ in enumerate(ids[:MOST_IDS]):
        found = one(id_)
        if isinstance(found, Misused):
            return found
        more = Expanded(
            opened.sections + found.sections,
            opened.missing + found.missing,
            opened.standing + found.standing,
            tuple(cut_at_word(left, _NAME) for left in (*skipped, *ids[at + 1 :])),
        )
        if len(render(more)) <= cap:
            opened = more
        else:
            skipped.append(id_)
            drop(shown.id for expansion in found.sections for shown in expansion.shown)
    left = tuple(cut_at_word(left, _NAME) for left in (*skipped, *ids[MOST_IDS:]))
    return Expanded(opened.sections, opened.missing, opened.standing, left)


_NAME = 120
