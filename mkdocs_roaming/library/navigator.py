"""The three tools over one library, with a memory of the sections that a conversation has open."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search, to_search_result
from mkdocs_roaming.library.tools import (
    MAX_IDS,
    ExpandResult,
    OutlineResult,
    SearchResults,
    ToolError,
    ToolOutput,
    UnknownSection,
    call_tool,
    limit_results,
    parse_ids,
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
from mkdocs_roaming.manifest.lookup import SectionRef, iter_nav
from mkdocs_roaming.manifest.outline import OUTLINE_BUDGET, render_outline, render_page_outlines
from mkdocs_roaming.text.markdown import truncate_at_word

MIN_CAP = 2_000
"""Minimum number of characters of a tool's result."""

_MIN_SECTION_CHARS = 1_200
_SEPARATOR_CHARS = 8
_FRAME_CHARS = 64
_MAX_NEAREST = 3
_MAX_HINT_PAGES = 10
_MAX_ADDRESS_CHARS = 2_000
_ID = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?![0-9A-Za-z])")


class Navigator:
    """The three tools over one library, for one conversation.

    Tools return errors instead of raising them, whatever their arguments. It may be used from several threads.

    Args:
        library: The site.
        search: Its search; `Search(library)` by default.
        cap: Maximum number of characters of a rendered result.
        format_error: Returns the message for a section that cannot be read.

    Raises:
        UsageError: `cap` is too small.
    """

    def __init__(
        self,
        library: Library,
        *,
        search: Search | None = None,
        cap: int = MAX_EXPANSION_CHARS,
        format_error: Callable[[LibraryError], str] = str,
    ) -> None:
        if cap < MIN_CAP:
            raise UsageError(f"a result needs at least {MIN_CAP} characters, not {cap}")
        self.library = library
        self.search = search or Search(library)
        self.sections = library.sections
        self.cap = cap
        self._format_error = format_error
        self._lock = threading.RLock()
        self._trail: dict[str, None] = {}
        self._open_chars: dict[str, int] = {}  # by section id
        self._fully_open: set[str] = set()  # ids of sections whose whole own text is open
        self._shown_parts: dict[tuple[str, int], frozenset[str]] = {}  # the ids that an opened part contains
        self._part_sizes: dict[str, int] = {}  # the cap that a section's parts were made for

    @property
    def name(self) -> str:
        """The site's name."""
        return self.library.manifest.site.name

    @property
    def about(self) -> str:
        """A sentence on the site for the descriptions of the tools; empty for a site without a name."""
        return f"The documentation: {truncate_at_word(' '.join(self.name.split()), 80)}." if self.name.split() else ""

    @property
    def digest(self) -> str:
        """The digest of the site's manifest."""
        return self.library.manifest.digest

    @property
    def opened(self) -> tuple[str, ...]:
        """The ids of all sections whose text was shown, in the order of opening: those that may be cited."""
        return tuple(self._trail)

    def open_chars(self) -> int:
        """Return the number of characters of text that are open."""
        return sum(self._open_chars.values())

    def fork(self, cap: int) -> Navigator:
        """Return a navigator of the same site with nothing opened, whose results have at most `cap` characters."""
        return Navigator(self.library, search=self.search, cap=cap, format_error=self._format_error)

    def outline(self) -> str:
        """Return the outline for the prompt."""
        return self._render_outline(OUTLINE_BUDGET)

    def hints(self, question: str, page: str | None = None) -> str:
        """Return the inner outlines of the reader's page and of the pages that match a question best."""
        pages = self.search.pages(question, limit=_MAX_HINT_PAGES)
        section = self.sections.resolve(page) or self.sections.resolve(page.partition("#")[0]) if page else None
        if section is not None:
            pages = [section.page, *(other for other in pages if other is not section.page)]
        return render_page_outlines(pages)

    def call(self, name: str, arguments: object) -> ToolOutput:
        """Call a tool by its name with a model's arguments."""
        return call_tool(self, name, arguments)

    def read_outline(self, id: str | None = None) -> OutlineResult | ToolError:  # noqa: A002 -- the tool's parameter
        """Return the outline or a closed branch of it; `<id>+` is the lines from that id on."""
        budget = min(OUTLINE_BUDGET, self.cap // 4)
        if not id:
            return OutlineResult(self._render_outline(budget))
        suffix = "+" if id.endswith("+") else ""
        bare_id = id.removesuffix("+").strip()
        section = self._resolve(bare_id)
        branch = section.id if section else bare_id.lower()
        try:
            return OutlineResult(render_outline(self.sections, budget=budget, branch=branch + suffix))
        except UsageError:
            unknown = self._unknown_section(bare_id)
            nearest = "".join(f"\n[{other.id}] {other.title}" for other in unknown.nearest)
            return ToolError(f"The outline has no {unknown.id}." + (f" Nearest:{nearest}" if nearest else ""))

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> ExpandResult | ToolError:
        """Open sections. They share the cap; `part` selects a later part of sections that are longer."""
        wanted = parse_ids(list(ids) if not isinstance(ids, str) else ids)
        if not wanted:
            return ToolError("expand_sections needs `ids`: a list of ids as the outline shows them.")
        limit = min(MAX_IDS, self.cap // MIN_CAP)
        skipped = [_shorten_id(id_) for id_ in wanted[limit:]]
        with self._lock:
            sections, unknown, already_open = self._classify(wanted[:limit], part)
            expansions: list[Expansion] = []
            notes = ExpandResult((), tuple(unknown), tuple(already_open), tuple(skipped))
            room = self.cap - len(render(notes)) - _FRAME_CHARS
            for at, section in enumerate(sections):
                size = self._section_size(section, part, room, len(sections) - at)
                if size is None:
                    skipped.append(section.id)
                    continue
                try:
                    expansion = expand_section(self.sections, section, self._reader(section), cap=size, part=part)
                except LibraryError as error:
                    unknown.append(UnknownSection(section.id, why=truncate_at_word(self._format_error(error), 200)))
                    continue
                room -= len(render_expansion(expansion)) + _SEPARATOR_CHARS
                self._remember(section, expansion, size)
                expansions.append(expansion)
        return ExpandResult(tuple(expansions), tuple(unknown), tuple(already_open), tuple(skipped))

    def search_sections(self, query: str, limit: int = 5) -> SearchResults | ToolError:
        """Search the full text."""
        results = [to_search_result(self.sections, hit) for hit in self.search.find(query, limit=limit)]
        return limit_results(query, results, self.cap, words_only=self.search.words_only(query))

    def drop(self, ids: Iterable[str]) -> None:
        """Forget that sections are open: they may be opened again, and may still be cited."""
        with self._lock:
            dropped = {section.id for id_ in ids if (section := self.sections.get(id_))}
            for id_ in dropped:
                self._open_chars.pop(id_, None)
            self._fully_open -= dropped
            self._shown_parts = {
                key: shown for key, shown in self._shown_parts.items() if key[0] not in dropped and not shown & dropped
            }

    def mark_opened(self, ids: Iterable[str]) -> None:
        """Add sections to the trail whose text was shown in another way: in an earlier turn, in the prompt."""
        self._trail.update((section.id, None) for id_ in ids if (section := self.sections.get(id_)))

    def _render_outline(self, budget: int) -> str:
        """Return the outline of the whole site, rendered once: every conversation begins with it."""
        return self.library.memoize(("outline", budget), lambda: render_outline(self.sections, budget=budget))

    # Ids

    def _resolve(self, id_: str) -> SectionRef | None:
        """Return the section that an id or an address means; it may contain other text besides an id."""
        section = self.sections.get(id_) or self.sections.get(id_.lower())
        if section is None and len(id_) < _MAX_ADDRESS_CHARS:
            inner = _ID.search(id_)
            section = self.sections.resolve(id_) or (self.sections.get(inner[0].lower()) if inner else None)
        return section

    def _classify(
        self, ids: Sequence[str], part: int
    ) -> tuple[list[SectionRef], list[UnknownSection], list[ListedSection]]:
        """Return the sections to open, the unknown ids, and the sections that are open already."""
        sections: dict[str, SectionRef] = {}
        unknown: list[UnknownSection] = []
        already_open: list[ListedSection] = []
        for id_ in ids:
            section = self._resolve(id_.removesuffix("+"))
            if section is None:
                unknown.append(self._unknown_section(id_))
            elif section.id in sections:
                continue
            elif self._is_open(section, part):
                already_open.append(list_section(self.sections, section))
            else:
                sections[section.id] = section
        return list(sections.values()), unknown, already_open

    def _unknown_section(self, id_: str) -> UnknownSection:
        bare_id = id_.removesuffix("+").strip().lower()
        group = self.sections.get_group(bare_id)
        if group is not None:
            pages = [self.sections.get(entry.id) for entry in iter_nav(group.children) if entry.page and entry.id]
            reason = f"a group of pages: read_outline({bare_id}) shows it"
            return UnknownSection(bare_id, self._list_sections(pages[:_MAX_NEAREST]), reason)
        if re.fullmatch(r"(?:[a-z0-9._-]{1,100}:)?[0-9a-f]{4,12}", bare_id):
            similar = get_close_matches(bare_id, [section.id for section in self.sections], _MAX_NEAREST, 0.6)
            nearest = [self.sections.get(each) for each in similar]
        else:
            nearest = [hit.section for hit in self.search.find(id_, limit=_MAX_NEAREST)]
        return UnknownSection(_shorten_id(id_), self._list_sections(nearest))

    def _list_sections(self, sections: Iterable[SectionRef | None]) -> tuple[ListedSection, ...]:
        return tuple(list_section(self.sections, section) for section in sections if section)

    # Open sections

    def _is_open(self, section: SectionRef, part: int) -> bool:
        if (section.id, part) in self._shown_parts:
            return True
        return part == 1 and all(
            other.id in self._fully_open or other.section.start == other.section.end
            for other in (section, *self.sections.descendants(section))
        )

    def _section_size(self, section: SectionRef, part: int, room: int, remaining: int) -> int | None:
        """Return how many characters the next of the remaining sections may have, or None for no room.

        Later parts of a section are cut as its first part was.
        """
        if part > 1 and section.id in self._part_sizes:
            return self._part_sizes[section.id] if self._part_sizes[section.id] <= room else None
        size = room // remaining - _SEPARATOR_CHARS
        return size if size >= _MIN_SECTION_CHARS else None

    def _reader(self, target: SectionRef) -> Callable[[SectionRef], str]:
        def read(section: SectionRef) -> str:
            try:
                return self.library.text(section)
            except LibraryError:
                if section.id == target.id:
                    raise
                return ""  # a subsection that cannot be read is left out; opened by itself, it returns the error

        return read

    def _remember(self, section: SectionRef, expansion: Expansion, size: int) -> None:
        self._part_sizes[section.id] = size
        for shown in expansion.shown:
            self._trail[shown.id] = None
            self._open_chars[shown.id] = self._open_chars.get(shown.id, 0) + len(shown.text)
            other = self.sections.get(shown.id)
            if other is not None and shown.text == self._reader(other)(other):
                self._fully_open.add(shown.id)
        self._shown_parts[section.id, expansion.part] = frozenset(shown.id for shown in expansion.shown)


def _shorten_id(id_: str) -> str:
    return truncate_at_word(" ".join(id_.split()), 60)
