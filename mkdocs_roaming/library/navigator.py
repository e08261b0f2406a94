"""What of a library may be seen: enforced where places are looked up, not by a prompt."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from msgspec.structs import replace

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library import tools as given
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Finder, Hit, Search
from mkdocs_roaming.library.tools import (
    MAX_HITS,
    MAX_IDS,
    TOOLS,
    ExpandResult,
    OutlineResult,
    SearchResult,
    SearchResults,
    Tool,
    ToolError,
    ToolOutput,
    UnknownSection,
    call_tool,
    render,
)
from mkdocs_roaming.manifest.expand import (
    MAX_EXPANSION_CHARS,
    Expansion,
    ListedSection,
    expand_section,
    list_section,
    render_expansion,
)
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry
from mkdocs_roaming.manifest.outline import MIN_OUTLINE_BUDGET, OUTLINE_BUDGET, render_outline, render_page_outlines
from mkdocs_roaming.text.markdown import truncate_at_word

__all__ = [
    "TOOLS",
    "ExpandResult",
    "Navigator",
    "OutlineResult",
    "Scope",
    "SearchResult",
    "SearchResults",
    "Tool",
    "ToolError",
    "ToolOutput",
    "UnknownSection",
    "render",
]


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be seen: pages with any of the tags, of any of the globs over paths; `version` is the site's."""

    tags: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    version: str | None = None


def places_in_scope(library: Library, scope: Scope) -> SectionIndex:
    """Give the places that may be seen; the others are as if they did not exist."""
    manifest = library.manifest
    if scope.version is not None and scope.version != manifest.site.version:
        others = [other.manifest for other in manifest.site.alternates if other.version == scope.version]
        cure = f"open {others[0]}" if others else "open that version's own site"
        raise UsageError(
            f"{library.where} is version {manifest.site.version or 'unknown'}, not {scope.version}; {cure}"
        )
    if not scope.tags and not scope.pages:
        return library.sections
    pages = tuple(page for page in manifest.pages if _in_scope(page, scope))
    paths = {page.path for page in pages}
    return SectionIndex(replace(manifest, pages=pages, nav=tuple(_kept(manifest, paths))))


def _in_scope(page: PageEntry, scope: Scope) -> bool:
    if scope.tags and not set(scope.tags) & set(page.tags):
        return False
    names = {page.path, page.path.rstrip("/"), page.source or page.path}
    return not scope.pages or any(fnmatchcase(name, glob.lstrip("/")) for name in names for glob in scope.pages)


def _kept(manifest: Manifest, paths: set[str]) -> Iterator[NavEntry]:
    def kept(entries: Iterable[NavEntry]) -> Iterator[NavEntry]:
        for entry in entries:
            children = tuple(kept(entry.children))
            if entry.page in paths or (children and entry.page is None):
                yield replace(entry, children=children)
            else:
                yield from children  # below a page that may not be seen

    return kept(manifest.nav)


# MERGED mkdocs_roaming.roam.navigator:
# The tools that a model or an agent holds while it roams, and what it has opened so far.


MIN_CAP = 2_000


class Navigator:
    """Walks a library within a scope and remembers what was opened; one for each conversation.

    No tool raises, whatever its arguments, and no result is longer than `cap` characters when rendered. `format_error` gives
    what is said of a section that cannot be read.
    """

    def __init__(
        self,
        library: Library,
        *,
        search: Finder | None = None,
        scope: Scope | None = None,
        cap: int = MAX_EXPANSION_CHARS,
        outline_tokens: int = OUTLINE_BUDGET,
        format_error: Callable[[LibraryError], str] = str,
    ) -> None:
        if cap < MIN_CAP:
            raise UsageError(f"a result needs at least {MIN_CAP} characters, not {cap}")
        self.library = library
        self.search = search or Search(library)
        self.scope = scope or Scope()
        self.sections = library.memoize(("places", self.scope), lambda: places_in_scope(library, self.scope))
        self.cap = cap
        self._outline_tokens = outline_tokens
        self._format_error = format_error
        self._lock = threading.RLock()
        self._trail: dict[str, None] = {}
        self._open: dict[str, int] = {}  # characters that stand open, by section
        self._whole: set[str] = set()  # sections whose own text stands open entirely
        self._given: dict[tuple[str, int], frozenset[str]] = {}  # what each part that was given shows
        self._caps: dict[str, int] = {}  # the cap that a section was cut into parts by

    @property
    def name(self) -> str:
        """What is walked: the site's name."""
        return self.library.manifest.site.name

    @property
    def about(self) -> str:
        """What the tools say of it."""
        return f"The documentation: {truncate_at_word(' '.join(self.name.split()), 80)}." if self.name.split() else ""

    @property
    def digest(self) -> str:
        """What tells this site from what it was before."""
        return self.library.manifest.digest

    @property
    def opened(self) -> tuple[str, ...]:
        """The ids of all sections of which text was shown, in the order of opening: these may be cited."""
        return tuple(self._trail)

    def open_chars(self) -> int:
        """Give the characters of text that stand open now."""
        return sum(self._open.values())

    def fork(self, cap: int) -> Navigator:
        """Give a navigator of the same site that has opened nothing."""
        return Navigator(self.library, search=self.search, scope=self.scope, cap=cap, format_error=self._format_error)

    def outline(self) -> str:
        """Give the outline; it depends on the library and the scope alone."""
        budget = max(self._outline_tokens, MIN_OUTLINE_BUDGET)
        return self.library.memoize(
            ("render_outline", self.scope, budget), lambda: render_outline(self.sections, budget=budget)
        )

    def hints(self, question: str, page: str | None = None) -> str:
        """Give the inner outlines of the page that the reader is on and of those that search ranks first."""
        pages = self.search.pages(question, limit=_HINTED, within=self._within)
        place = self.sections.resolve(page) or self.sections.resolve(page.partition("#")[0]) if page else None
        if place is not None:
            pages = [place.page, *(other for other in pages if other is not place.page)]
        return render_page_outlines(pages)

    def call(self, name: str, arguments: object) -> ToolOutput:
        """Call a tool by its name, with what a model passes for arguments."""
        return call_tool(self, name, arguments)

    def read_outline(self, id: str | None = None) -> OutlineResult | ToolError:  # noqa: A002 -- the tool's parameter
        """Give the outline or a closed branch of it; `<id>+` gives the lines from that id on."""
        budget = max(min(self._outline_tokens, self.cap // 4), MIN_OUTLINE_BUDGET)
        if not id:  # everyone begins with this one, and it takes longest: it is made once
            key = ("outline as a tool", self.scope, budget)
            return OutlineResult(self.library.memoize(key, lambda: render_outline(self.sections, budget=budget)))
        rest = "+" if id.endswith("+") else ""
        bare = id.removesuffix("+").strip()
        place = self._place(bare)
        branch = place.id if place else bare.lower()
        try:
            return OutlineResult(render_outline(self.sections, budget=budget, branch=branch + rest))
        except UsageError:
            missing = self._missing(bare)
            near = "".join(f"\n[{other.id}] {other.title}" for other in missing.nearest)
            return ToolError(f"The outline has no {missing.id}." + (f" Nearest:{near}" if near else ""))

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> ExpandResult | ToolError:
        """Open sections; they share the cap, and the rest of each is to be had by `part`."""
        wanted = given.parse_ids(list(ids) if not isinstance(ids, str) else ids)
        if not wanted:
            return ToolError("expand_sections needs `ids`: a list of ids as the outline shows them.")
        most = min(MAX_IDS, self.cap // MIN_CAP)
        left = [_named(id_) for id_ in wanted[most:]]
        with self._lock:
            places, missing, standing = self._sorted_out(wanted[:most], part)
            expansions: list[Expansion] = []
            room = self.cap - len(render(ExpandResult((), tuple(missing), tuple(standing), tuple(left)))) - _FRAME
            for at, place in enumerate(places):
                share = self._share(place, part, room, len(places) - at)
                if share is None:
                    left.append(place.id)
                    continue
                try:
                    expansion = expand_section(self.sections, place, self._reading(place), cap=share, part=part)
                except LibraryError as error:
                    missing.append(UnknownSection(place.id, why=truncate_at_word(self._format_error(error), 200)))
                    continue
                room -= len(render_expansion(expansion)) + _BETWEEN
                self._note(place, expansion, share)
                expansions.append(expansion)
        return ExpandResult(tuple(expansions), tuple(missing), tuple(standing), tuple(left))

    def search_sections(self, query: str, limit: int = 5) -> SearchResults | ToolError:
        """Search the full text within the scope."""
        limit = given.parse_int(limit, 5, 1, MAX_HITS)
        hits: list[SearchResult] = []
        left = self.cap
        for hit in self.search.find(query, limit=limit, within=self._within):
            entry = to_search_result(self.sections, hit)
            left -= len(render(SearchResults("", (entry,)))) + 1
            if left < 0:
                break
            hits.append(entry)
        words_only = self.search.words_only(query)
        return SearchResults(query[:_QUERY], tuple(hits), words_only)

    def drop(self, ids: Iterable[str]) -> None:
        """Let sections go: they stand open no more, may be opened again, and may still be cited."""
        with self._lock:
            gone = {place.id for id_ in ids if (place := self.sections.get(id_))}
            for id_ in gone:
                self._open.pop(id_, None)
            self._whole -= gone
            self._given = {key: shown for key, shown in self._given.items() if key[0] not in gone and not shown & gone}

    def mark_opened(self, ids: Iterable[str]) -> None:
        """Count sections as opened whose text was shown in another way: in an earlier turn, in the prompt."""
        self._trail.update((place.id, None) for id_ in ids if (place := self.sections.get(id_)))

    # Who is meant

    def _within(self, place: SectionRef) -> bool:
        return self.sections.get(place.id) is not None

    def _place(self, id_: str) -> SectionRef | None:
        found = self.sections.get(id_) or self.sections.get(id_.lower())
        if found is None and len(id_) < _ADDRESS:
            inner = _ID.search(id_)
            found = self.sections.resolve(id_) or (self.sections.get(inner[0].lower()) if inner else None)
        return found

    def _sorted_out(
        self, ids: Sequence[str], part: int
    ) -> tuple[list[SectionRef], list[UnknownSection], list[ListedSection]]:
        places: dict[str, SectionRef] = {}
        missing: list[UnknownSection] = []
        standing: list[ListedSection] = []
        for id_ in ids:
            place = self._place(id_.removesuffix("+"))
            if place is None:
                missing.append(self._missing(id_))
            elif place.id in places:
                continue
            elif self._stands(place, part):
                standing.append(list_section(self.sections, place))
            else:
                places[place.id] = place
        return list(places.values()), missing, standing

    def _stands(self, place: SectionRef, part: int) -> bool:
        if (place.id, part) in self._given:
            return True
        return part == 1 and all(
            other.id in self._whole or other.section.start == other.section.end
            for other in (place, *self.sections.descendants(place))
        )

    def _missing(self, id_: str) -> UnknownSection:
        bare = id_.removesuffix("+").strip().lower()
        group = self.sections.get_group(bare)
        if group is not None:
            inside = [self._listed_page(entry) for entry in _pages_of(group)]
            return UnknownSection(
                bare, tuple(filter(None, inside[:_NEAREST])), f"a group of pages: read_outline({bare}) shows it"
            )
        if re.fullmatch(r"(?:[a-z0-9._-]{1,100}:)?[0-9a-f]{4,12}", bare):
            near = get_close_matches(bare, [place.id for place in self.sections], _NEAREST, 0.6)
            found = [self.sections.get(close) for close in near]
        else:
            found = [hit.place for hit in self.search.find(id_, limit=_NEAREST, within=self._within)]
        return UnknownSection(_named(id_), tuple(list_section(self.sections, place) for place in found if place))

    def _listed_page(self, entry: NavEntry) -> ListedSection | None:
        page = self.sections.get_page(entry.page or "")
        return list_section(self.sections, SectionRef(page, 0)) if page else None

    # What stands open

    def _share(self, place: SectionRef, part: int, room: int, waiting: int) -> int | None:
        """Give how many characters a section may take. Its later parts are cut as its first one was."""
        if part > 1 and place.id in self._caps:
            return self._caps[place.id] if self._caps[place.id] <= room else None
        share = room // waiting - _BETWEEN
        return share if share >= _SMALLEST_SHARE else None

    def _reading(self, asked: SectionRef) -> Callable[[SectionRef], str]:
        def read(place: SectionRef) -> str:
            try:
                return self.library.text(place)
            except LibraryError:
                if place.id == asked.id:
                    raise
                return ""  # a subsection that cannot be read is not shown; asked for itself, it says why

        return read

    def _note(self, place: SectionRef, expansion: Expansion, share: int) -> None:
        self._caps[place.id] = share
        for shown in expansion.shown:
            self._trail[shown.id] = None
            self._open[shown.id] = self._open.get(shown.id, 0) + len(shown.text)
            other = self.sections.get(shown.id)
            if other is not None and shown.text == self._reading(other)(other):
                self._whole.add(shown.id)
        self._given[place.id, expansion.part] = frozenset(shown.id for shown in expansion.shown)


def to_search_result(places: SectionIndex, hit: Hit, score: float | None = None) -> SearchResult:
    """Give a hit as the tools tell it: titles on one line, and none of them endless."""
    place = hit.place
    crumbs = tuple(truncate_at_word(" ".join(title.split()), 80) for title in places.breadcrumb(place)[-6:])
    title = truncate_at_word(" ".join(place.section.title.split()), 120)
    counted = hit.score if score is None else score
    return SearchResult(place.id, title, crumbs, hit.snippet, round(counted, 4), places.url(place))


def _pages_of(entry: NavEntry) -> Iterator[NavEntry]:
    for child in entry.children:
        if child.page is not None:
            yield child
        yield from _pages_of(child)


def _named(id_: str) -> str:
    return truncate_at_word(" ".join(id_.split()), 60)


_HINTED = 10


_NEAREST = 3


_FRAME = 64


_BETWEEN = 8  # what parts one expansion from the next


_SMALLEST_SHARE = 1_200


_ADDRESS = 2_000


_QUERY = 1_000


_ID = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?![0-9A-Za-z])")
