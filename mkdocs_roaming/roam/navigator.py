"""The tools that a model or an agent holds while it roams, and what it has opened so far."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.expand import CAP, Expansion, Listed, expand, list_entry
from mkdocs_roaming.expand import render as render_expansion
from mkdocs_roaming.headings import cut_at_word
from mkdocs_roaming.manifest import NavEntry
from mkdocs_roaming.outline import BUDGET, SMALLEST, outline, page_outlines
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.roam import arguments as given
from mkdocs_roaming.roam.calling import called
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.meaning import Finder, Hybrid
from mkdocs_roaming.roam.results import Expanded, Found, FoundSection, Missing, Misused, Outlined, Result, render
from mkdocs_roaming.roam.scope import Scope, scoped
from mkdocs_roaming.roam.search import Hit, Search
from mkdocs_roaming.roam.tools import MOST_HITS, MOST_IDS, TOOLS, Tool

__all__ = [
    "TOOLS",
    "Expanded",
    "Found",
    "FoundSection",
    "Missing",
    "Misused",
    "Navigator",
    "Outlined",
    "Result",
    "Scope",
    "Tool",
    "render",
]  # read in columns  # fmt: skip

SMALLEST_CAP = 2_000


class Navigator:
    """Walks a library within a scope and remembers what was opened; one for each conversation.

    No tool raises, whatever its arguments, and no result is longer than `cap` characters when rendered. `telling` gives
    what is said of a section that cannot be read.
    """

    def __init__(
        self,
        library: Library,
        *,
        search: Finder | None = None,
        scope: Scope | None = None,
        cap: int = CAP,
        outline_tokens: int = BUDGET,
        telling: Callable[[LibraryError], str] = str,
    ) -> None:
        if cap < SMALLEST_CAP:
            raise UsageError(f"a result needs at least {SMALLEST_CAP} characters, not {cap}")
        self.library = library
        self.search = search or Search(library)
        self.scope = scope or Scope()
        self.places = library.kept(("places", self.scope), lambda: scoped(library, self.scope))
        self.cap = cap
        self._outline_tokens = outline_tokens
        self._telling = telling
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
        return f"The documentation: {cut_at_word(' '.join(self.name.split()), 80)}." if self.name.split() else ""

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

    def anew(self, cap: int) -> Navigator:
        """Give a navigator of the same site that has opened nothing."""
        return Navigator(self.library, search=self.search, scope=self.scope, cap=cap, telling=self._telling)

    def outline(self) -> str:
        """Give the outline; it depends on the library and the scope alone."""
        budget = max(self._outline_tokens, SMALLEST)
        return self.library.kept(("outline", self.scope, budget), lambda: outline(self.places, budget=budget))

    def hints(self, question: str, page: str | None = None) -> str:
        """Give the inner outlines of the page that the reader is on and of those that search ranks first."""
        pages = self.search.pages(question, limit=_HINTED, within=self._within)
        place = self.places.address(page) or self.places.address(page.partition("#")[0]) if page else None
        if place is not None:
            pages = [place.page, *(other for other in pages if other is not place.page)]
        return page_outlines(pages)

    def call(self, name: str, arguments: object) -> Result:
        """Call a tool by its name, with what a model passes for arguments."""
        return called(self, name, arguments)

    def read_outline(self, id: str | None = None) -> Outlined | Misused:  # noqa: A002 -- the tool's parameter
        """Give the outline or a closed branch of it; `<id>+` gives the lines from that id on."""
        budget = max(min(self._outline_tokens, self.cap // 4), SMALLEST)
        if not id:  # everyone begins with this one, and it takes longest: it is made once
            key = ("outline as a tool", self.scope, budget)
            return Outlined(self.library.kept(key, lambda: outline(self.places, budget=budget)))
        rest = "+" if id.endswith("+") else ""
        bare = id.removesuffix("+").strip()
        place = self._place(bare)
        branch = place.id if place else bare.lower()
        try:
            return Outlined(outline(self.places, budget=budget, branch=branch + rest))
        except UsageError:
            missing = self._missing(bare)
            near = "".join(f"\n[{other.id}] {other.title}" for other in missing.nearest)
            return Misused(f"The outline has no {missing.id}." + (f" Nearest:{near}" if near else ""))

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> Expanded | Misused:
        """Open sections; they share the cap, and the rest of each is to be had by `part`."""
        wanted = given.ids_of(list(ids) if not isinstance(ids, str) else ids)
        if not wanted:
            return Misused("expand_sections needs `ids`: a list of ids as the outline shows them.")
        most = min(MOST_IDS, self.cap // SMALLEST_CAP)
        left = [_named(id_) for id_ in wanted[most:]]
        with self._lock:
            places, missing, standing = self._sorted_out(wanted[:most], part)
            expansions: list[Expansion] = []
            room = self.cap - len(render(Expanded((), tuple(missing), tuple(standing), tuple(left)))) - _FRAME
            for at, place in enumerate(places):
                share = self._share(place, part, room, len(places) - at)
                if share is None:
                    left.append(place.id)
                    continue
                try:
                    expansion = expand(self.places, place, self._reading(place), cap=share, part=part)
                except LibraryError as error:
                    missing.append(Missing(place.id, why=cut_at_word(self._telling(error), 200)))
                    continue
                room -= len(render_expansion(expansion)) + _BETWEEN
                self._note(place, expansion, share)
                expansions.append(expansion)
        return Expanded(tuple(expansions), tuple(missing), tuple(standing), tuple(left))

    def search_sections(self, query: str, limit: int = 5) -> Found | Misused:
        """Search the full text within the scope."""
        limit = given.number(limit, 5, 1, MOST_HITS)
        hits: list[FoundSection] = []
        left = self.cap
        for hit in self.search.find(query, limit=limit, within=self._within):
            entry = found_section(self.places, hit)
            left -= len(render(Found("", (entry,)))) + 1
            if left < 0:
                break
            hits.append(entry)
        words_only = isinstance(self.search, Hybrid) and self.search.words_only(query)
        return Found(query[:_QUERY], tuple(hits), words_only)

    def drop(self, ids: Iterable[str]) -> None:
        """Let sections go: they stand open no more, may be opened again, and may still be cited."""
        with self._lock:
            gone = {place.id for id_ in ids if (place := self.places.get(id_))}
            for id_ in gone:
                self._open.pop(id_, None)
            self._whole -= gone
            self._given = {key: shown for key, shown in self._given.items() if key[0] not in gone and not shown & gone}

    def mark_opened(self, ids: Iterable[str]) -> None:
        """Count sections as opened whose text was shown in another way: in an earlier turn, in the prompt."""
        self._trail.update((place.id, None) for id_ in ids if (place := self.places.get(id_)))

    # Who is meant

    def _within(self, place: Place) -> bool:
        return self.places.get(place.id) is not None

    def _place(self, id_: str) -> Place | None:
        found = self.places.get(id_) or self.places.get(id_.lower())
        if found is None and len(id_) < _ADDRESS:
            inner = _ID.search(id_)
            found = self.places.address(id_) or (self.places.get(inner[0].lower()) if inner else None)
        return found

    def _sorted_out(self, ids: Sequence[str], part: int) -> tuple[list[Place], list[Missing], list[Listed]]:
        places: dict[str, Place] = {}
        missing: list[Missing] = []
        standing: list[Listed] = []
        for id_ in ids:
            place = self._place(id_.removesuffix("+"))
            if place is None:
                missing.append(self._missing(id_))
            elif place.id in places:
                continue
            elif self._stands(place, part):
                standing.append(list_entry(self.places, place))
            else:
                places[place.id] = place
        return list(places.values()), missing, standing

    def _stands(self, place: Place, part: int) -> bool:
        if (place.id, part) in self._given:
            return True
        return part == 1 and all(
            other.id in self._whole or other.section.start == other.section.end
            for other in (place, *self.places.below(place))
        )

    def _missing(self, id_: str) -> Missing:
        bare = id_.removesuffix("+").strip().lower()
        group = self.places.group(bare)
        if group is not None:
            inside = [self._listed_page(entry) for entry in _pages_of(group)]
            return Missing(
                bare, tuple(filter(None, inside[:_NEAREST])), f"a group of pages: read_outline({bare}) shows it"
            )
        if re.fullmatch(r"(?:[a-z0-9._-]{1,100}:)?[0-9a-f]{4,12}", bare):
            near = get_close_matches(bare, [place.id for place in self.places], _NEAREST, 0.6)
            found = [self.places.get(close) for close in near]
        else:
            found = [hit.place for hit in self.search.find(id_, limit=_NEAREST, within=self._within)]
        return Missing(_named(id_), tuple(list_entry(self.places, place) for place in found if place))

    def _listed_page(self, entry: NavEntry) -> Listed | None:
        page = self.places.page(entry.page or "")
        return list_entry(self.places, Place(page, 0)) if page else None

    # What stands open

    def _share(self, place: Place, part: int, room: int, waiting: int) -> int | None:
        """Give how many characters a section may take. Its later parts are cut as its first one was."""
        if part > 1 and place.id in self._caps:
            return self._caps[place.id] if self._caps[place.id] <= room else None
        share = room // waiting - _BETWEEN
        return share if share >= _SMALLEST_SHARE else None

    def _reading(self, asked: Place) -> Callable[[Place], str]:
        def read(place: Place) -> str:
            try:
                return self.library.text(place)
            except LibraryError:
                if place.id == asked.id:
                    raise
                return ""  # a subsection that cannot be read is not shown; asked for itself, it says why

        return read

    def _note(self, place: Place, expansion: Expansion, share: int) -> None:
        self._caps[place.id] = share
        for shown in expansion.shown:
            self._trail[shown.id] = None
            self._open[shown.id] = self._open.get(shown.id, 0) + len(shown.text)
            other = self.places.get(shown.id)
            if other is not None and shown.text == self._reading(other)(other):
                self._whole.add(shown.id)
        self._given[place.id, expansion.part] = frozenset(shown.id for shown in expansion.shown)


def found_section(places: Places, hit: Hit, score: float | None = None) -> FoundSection:
    """Give a hit as the tools tell it: titles on one line, and none of them endless."""
    place = hit.place
    crumbs = tuple(cut_at_word(" ".join(title.split()), 80) for title in places.breadcrumb(place)[-6:])
    title = cut_at_word(" ".join(place.section.title.split()), 120)
    counted = hit.score if score is None else score
    return FoundSection(place.id, title, crumbs, hit.snippet, round(counted, 4), places.url(place))


def _pages_of(entry: NavEntry) -> Iterator[NavEntry]:
    for child in entry.children:
        if child.page is not None:
            yield child
        yield from _pages_of(child)


def _named(id_: str) -> str:
    return cut_at_word(" ".join(id_.split()), 60)


_HINTED = 10
_NEAREST = 3
_FRAME = 64
_BETWEEN = 8  # what parts one expansion from the next
_SMALLEST_SHARE = 1_200
_ADDRESS = 2_000
_QUERY = 1_000
_ID = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?![0-9A-Za-z])")
