"""The tools over one library, with a memory of the sections that a conversation has open."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial

from msgspec.structs import replace as replace_struct

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library.grep import GrepResult, grep, limit_grep
from mkdocs_roaming.library.library import MAX_LABEL_CHARS, Library, Origin
from mkdocs_roaming.library.search import Hit, Search, to_search_result
from mkdocs_roaming.library.texts import (
    MAX_REFERENCE,
    MIN_BODY_CHARS,
    PREFETCH_TOKENS,
    OpenSections,
    Prefetch,
    SectionTexts,
    read_beginning,
)
from mkdocs_roaming.library.tools import (
    MAX_IDS,
    ExpandResult,
    OutlineResult,
    SearchResults,
    ToolError,
    Toolset,
    UnknownSection,
    limit_results,
    parse_ids,
    render,
)
from mkdocs_roaming.manifest.expand import (
    MAX_EXPANSION_CHARS,
    Expansion,
    ListedSection,
    list_section,
    render_expansion,
)
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import OUTLINE_BUDGET, iter_nav
from mkdocs_roaming.manifest.outline import render_outline, render_page_outline
from mkdocs_roaming.manifest.page_kinds import PageKind, classify_page
from mkdocs_roaming.search.ranking import MAX_QUERY_CHARS
from mkdocs_roaming.search.relevance import NO_ANSWER
from mkdocs_roaming.text.markdown import remove_invisible, to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens

PREFETCH_CALL_ID = "prefetch"
"""The id of the tool call that opens the sections that search ranks first."""

PROMPT_OUTLINE_BUDGET = 3_500
"""Size of the outline in a model's prompt, in estimated tokens. Every request of an answer contains it."""

MIN_CAP = 2_000
"""Minimum number of characters of a tool's result."""

_MIN_SECTION_CHARS = 1_200
_MAX_SHARE = 0.48
"""Maximum share of a result for one section: a second one does not change what is shown of the first."""

_SEPARATOR_CHARS = 8
_CHARS_PER_TOKEN = 4
_FRAME_CHARS = 64
_MAX_NEAREST = 3
_MIN_SIMILARITY = 0.6
"""Minimum similarity of ids that are named for an unknown one."""

_ID_DIGITS = set("0123456789abcdef")
_MIN_ID_CHARS = 4
_MAX_ID_CHARS = 12
"""An unknown id of this length is compared with others; other texts are searched for."""

_MAX_SHOWN_ID_CHARS = 60
_MAX_WHOLE_TOKENS = 150
"""A search opens shorter sections."""

_MAX_RANKED = 40
_MAX_REOPENED_TOKENS = 800
_MAX_LINES = 8
_DEFAULT_HITS = 5
_MAX_INSIDE = 5
_MAX_ADDRESS_CHARS = 2_000
_MAX_NAME_CHARS = 80
_MAX_REASON_CHARS = 200
_IDENTIFIER = re.compile(r"[a-z][A-Z]|\w_\w|(?<!\S)--?\w|\w\.[a-z]\w|\w\(|`")
"""A name of code in a question: `maxSize`, `max_size`, `--port`, `os.path`, `open()`, or a backtick."""

_ID = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?![0-9A-Za-z])")
"""An id within other text, such as `[07f3277d] Drain`."""


class Navigator(Toolset):
    """The tools over one library, for one conversation.

    Tools return errors instead of raising them, whatever their arguments. It may be used from several threads.

    Args:
        library: The site.
        search: Its search; `Search(library)` by default.
        cap: Maximum number of characters of a rendered result.
        format_error: Returns the message for a section that cannot be read.

    Attributes:
        texts: The texts of its sections.
        search_tokens: Maximum size of the texts that `search_sections` opens, in estimated tokens, as `prefetch` does;
            with 0 it opens only short sections, whole.

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
        self.texts = SectionTexts(library)
        self.search_tokens = 0
        self._format_error = format_error
        self._lock = threading.RLock()
        self._open = OpenSections(self.sections, self.texts.read)

    @property
    def name(self) -> str:
        """The name of the site in texts that a model takes as ours, such as the descriptions of the tools.

        A third-party site is named by its host: its own name may be an instruction, which no pattern recognizes for
        sure.
        """
        for host in self.library.origin().hosts:
            return "" if "?" in host else host
        return truncate_at_word(to_single_line(remove_invisible(self.library.manifest.site.name)), _MAX_NAME_CHARS)

    @property
    def about(self) -> str:
        """A sentence on the site for the descriptions of the tools; empty for a site without a name."""
        return f"The documentation: {self.name}." if self.name else ""

    @property
    def digest(self) -> str:
        """The digest of the site's manifest."""
        return self.library.manifest.digest

    @property
    def opened(self) -> tuple[str, ...]:
        """The ids of all sections whose text was shown, in the order of opening: those that may be cited."""
        return tuple(self._open.steps)

    def open_chars(self) -> int:
        """Return the number of characters of text that are open."""
        return sum(self._open.chars.values())

    def fork(self, cap: int) -> Navigator:
        """Return a navigator of the same site with nothing opened, whose results have at most `cap` characters."""
        return Navigator(self.library, search=self.search, cap=cap, format_error=self._format_error)

    def outline(self, max_tokens: int = PROMPT_OUTLINE_BUDGET) -> str:
        """Return the outline of the whole site, rendered once: every conversation begins with it."""
        return self.library.memoize(("outline", max_tokens), lambda: render_outline(self.sections, budget=max_tokens))

    def page_outline(self, page: str) -> str:
        """Return the inner outline of the page at an address; empty if there is no such page."""
        section = self.sections.find_page(page)
        return render_page_outline(self.sections, section.page) if section else ""

    def prefetch(
        self, question: str, earlier: str = "", *, max_tokens: int = PREFETCH_TOKENS, is_query: bool = False
    ) -> SearchResults:
        """Open the sections that search ranks first for a question, and list the next hits; see `Prefetch`.

        Of a question in another language than the site's, only names are searched.

        Args:
            question: The question.
            earlier: The question before it, which a follow-up may refer to.
            max_tokens: Maximum size of the opened texts, in estimated tokens.
            is_query: Whether a model chose the words: it is told if probably no section answers them.
        """
        search = self.search
        query = f"{question}\n{earlier}" if earlier else question
        note = search.judge(question)
        if note not in ("", NO_ANSWER):  # the question is in another language
            hits = search.find(search.find_names(query), limit=_MAX_RANKED)
        else:
            note = note if is_query else ""
            hits = search.find(query, limit=_MAX_RANKED)
        opened: list[Expansion] = []
        prefetch = Prefetch(
            self.texts,
            self._is_reference,
            lambda section, size, room: self._open_part(section, query, size, room, opened),
            max_tokens,
            max_reference=None if _IDENTIFIER.search(question) else MAX_REFERENCE,
        )
        with self._lock:
            prefetch.open([hit.section for hit in hits if hit.section.id not in self._open.chars])
        return self._make_results(question, hits, opened, _MAX_LINES, note, search.find_unknown_words(question))

    def reopen(self, ids: Iterable[str], query: str) -> ExpandResult:
        """Open the own texts of sections again, of long ones the part that matches a query best."""
        opened: list[Expansion] = []
        with self._lock:
            for section in map(self.sections.get, ids):
                if section and section.id not in self._open.chars:
                    self._open_part(section, query, _MAX_REOPENED_TOKENS, self.cap, opened)
        return ExpandResult(tuple(map(self._list_inside, opened)), origin=self._origin(opened))

    def read_outline(self, id: str | None = None) -> OutlineResult | ToolError:
        """Return the outline or a closed branch of it; `<id>+` is the lines from that id on."""
        origin = self.library.origin()
        budget = min(OUTLINE_BUDGET, (self.cap - len(origin.render())) // _CHARS_PER_TOKEN)
        if not id:
            return OutlineResult(self.outline(budget), origin)
        suffix = "+" if id.endswith("+") else ""
        bare_id = id.removesuffix("+").strip()
        section = self._resolve(bare_id)
        branch = section.id if section else bare_id.lower()
        try:
            return OutlineResult(render_outline(self.sections, budget=budget, branch=branch + suffix), origin)
        except UsageError:
            unknown = self._unknown_section(bare_id)
        nearest = "".join(f"\n[{section.id}] {section.title}" for section in unknown.nearest)
        hint = f" Nearest:{nearest}" if nearest else ""
        return ToolError(f"The outline has no {unknown.id}.{hint}")

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> ExpandResult | ToolError:
        """Open sections. They share the cap; `part` selects a later part of sections that are longer."""
        wanted = parse_ids(ids)
        if not wanted:
            return ToolError("expand_sections needs `ids`: a list of ids as the outline shows them.")
        limit = min(MAX_IDS, self.cap // MIN_CAP)
        skipped = [_shorten_id(id_) for id_ in wanted[limit:]]
        with self._lock:
            sections, unknown, already_open = self._classify(wanted[:limit], part)
            notes = ExpandResult((), tuple(unknown), tuple(already_open), tuple(skipped))
            room = self.cap - len(render(notes)) - _FRAME_CHARS
            if self.library.origin().hosts:
                room -= MAX_LABEL_CHARS
            expansions: dict[str, Expansion] = {}
            # Small sections leave room for large ones, and a subsection is shown with the section that contains it.
            for at, section in enumerate(sorted(sections, key=partial(self._expansion_order, sections))):
                if at and self._open.has_part(section, part):
                    already_open.append(list_section(self.sections, section))
                    continue
                size = self._section_size(section, part, room, len(sections) - at)
                if size is None:
                    skipped.append(section.id)
                    continue
                try:
                    expansion = self._open.expand(section, part, size)
                except LibraryError as error:
                    reason = truncate_at_word(self._format_error(error), _MAX_REASON_CHARS)
                    unknown.append(UnknownSection(section.id, why=reason))
                    continue
                room -= len(render_expansion(expansion)) + _SEPARATOR_CHARS
                expansions[section.id] = self.texts.hide_url(expansion)
        opened: list[Expansion] = []
        for section in sections:
            if section.id in expansions:
                expansion = expansions[section.id]
                opened.append(replace(expansion, listed=tuple(filter(self._is_closed, expansion.listed))))
        return ExpandResult(tuple(opened), tuple(unknown), tuple(already_open), tuple(skipped), self._origin(opened))

    def search_sections(self, query: str, limit: int = _DEFAULT_HITS) -> SearchResults | ToolError:
        """Search the full text, and open short sections, or the best hits if `search_tokens` is set."""
        if self.search_tokens:
            return self.prefetch(query, max_tokens=self.search_tokens, is_query=True)
        hits = self.search.find(query, limit=limit)
        cap = self.cap // 2  # the other half is for the lines
        opened: list[Expansion] = []
        with self._lock:
            for section in (hit.section for hit in hits):
                if section.section.tokens > _MAX_WHOLE_TOKENS or section.id in self._open.chars:
                    continue
                expansion, part = self.texts.cut(section, query, _MAX_WHOLE_TOKENS)
                cap -= len(render_expansion(expansion)) + _SEPARATOR_CHARS
                if expansion.shown and cap >= 0:
                    opened.append(expansion)
                    self._open.add_part(section, part)
        note = self.search.judge(query) if hits else ""
        return self._make_results(query, hits, opened, limit, note, self.search.find_unknown_words(query))

    def grep(self, pattern: str) -> GrepResult | ToolError:
        """Find lines that contain a string; see `library.grep`."""
        try:
            return limit_grep(grep(self.library, pattern), self.cap)
        except UsageError as error:
            return ToolError(f"{error}.")
        except LibraryError as error:
            return ToolError(self._format_error(error))

    def drop(self, ids: Iterable[str]) -> None:
        """Forget that sections are open: they may be opened again, and may still be cited."""
        with self._lock:
            self._open.close(ids)

    def mark_opened(self, ids: Iterable[str]) -> None:
        """Add sections to the steps whose text was shown in another way: in an earlier turn, in the prompt."""
        for section in map(self.sections.get, ids):
            if section:
                self._open.steps[section.id] = None

    # Ids

    def _resolve(self, id_: str) -> SectionRef | None:
        """Return the section that an id or an address means; it may contain other text besides an id."""
        section = self.sections.get(id_) or self.sections.get(id_.lower())
        if section or len(id_) >= _MAX_ADDRESS_CHARS:
            return section
        section = self.sections.find(id_)
        inner = _ID.search(id_)
        if section or not inner:
            return section
        return self.sections.get(inner[0].lower())

    def _classify(
        self, ids: Sequence[str], part: int
    ) -> tuple[list[SectionRef], list[UnknownSection], list[ListedSection]]:
        """Return the sections to open, whose pages are loaded, the unknown ids, and the sections that are open."""
        sections: dict[str, SectionRef] = {}
        unknown: list[UnknownSection] = []
        already_open: list[ListedSection] = []
        for id_ in ids:
            section = self._resolve(id_.removesuffix("+"))
            if section is None:
                unknown.append(self._unknown_section(id_))
            elif section.id in sections:
                continue
            elif self._open.has_part(section, part):
                already_open.append(list_section(self.sections, section))
            else:
                sections[section.id] = section
        pages = {section.page.path: section.page for section in sections.values()}
        if len(pages) > 1:
            self.library.prefetch(list(pages.values()))
        return list(sections.values()), unknown, already_open

    def _unknown_section(self, id_: str) -> UnknownSection:
        sections = self.sections
        bare_id = id_.removesuffix("+").strip().lower()
        group = sections.get_group(bare_id)
        if group is not None:
            pages = [sections.get(entry.id) for entry in iter_nav(group.children) if entry.page and entry.id]
            reason = f"a group of pages: read_outline({bare_id}) shows it"
            return UnknownSection(bare_id, self._list_sections(pages[:_MAX_NEAREST]), reason)
        digits = bare_id.rpartition(":")[2]
        if _ID_DIGITS.issuperset(digits) and _MIN_ID_CHARS <= len(digits) <= _MAX_ID_CHARS:
            ids = [section.id for section in sections]
            similar = get_close_matches(bare_id, ids, _MAX_NEAREST, _MIN_SIMILARITY)
            nearest = self._list_sections(map(sections.get, similar))
        else:
            hits = self.search.find(id_, limit=_MAX_NEAREST)
            nearest = self._list_sections(hit.section for hit in hits)
        return UnknownSection(_shorten_id(id_), nearest)

    def _list_sections(self, sections: Iterable[SectionRef | None]) -> tuple[ListedSection, ...]:
        return tuple(list_section(self.sections, section) for section in sections if section)

    # Open sections

    def _open_part(self, section: SectionRef, query: str, max_tokens: int, room: int, opened: list[Expansion]) -> int:
        """Open a section's text, or the part that matches a query best, if it fits; return its size in tokens, or 0."""
        expansion, part = self.texts.cut(section, query, max_tokens)
        tokens = estimate_tokens(render_expansion(expansion))
        if tokens > room or len(read_beginning(part)) < MIN_BODY_CHARS:
            return 0
        opened.append(expansion)
        self._open.add_part(section, part)
        return tokens

    def _section_size(self, section: SectionRef, part: int, room: int, remaining: int) -> int | None:
        """Return how many characters the next of the remaining sections may have, or None for no room.

        Later parts of a section are cut as its first part was.
        """
        first = self._open.first_size(section) if part > 1 else None
        if first is not None:
            return first if first <= room else None
        largest = max(int(self.cap * _MAX_SHARE), _MIN_SECTION_CHARS)
        size = min(room // remaining - _SEPARATOR_CHARS, largest)
        return size if size >= _MIN_SECTION_CHARS else None

    def _is_closed(self, entry: ListedSection) -> bool:
        """Return whether a listed subsection was not opened after it was listed."""
        section = self.sections.get(entry.id)
        return section is None or not self._open.has_part(section, 1)

    def _expansion_order(self, sections: Sequence[SectionRef], section: SectionRef) -> tuple[int, int]:
        """Return the depth of a section within the wanted ones, and its size with subsections."""
        ancestors = {ancestor.id for ancestor in self.sections.ancestors(section)}
        depth = sum(wanted.id in ancestors for wanted in sections)
        inside = (section, *self.sections.descendants(section))
        size = sum(inner.section.tokens for inner in inside if inner.id not in self._open.whole)
        return depth, size

    def _is_reference(self, section: SectionRef) -> bool:
        page = section.page
        return self.library.memoize(
            ("reference", page.path),
            lambda: classify_page(page, (*self.sections.nav_titles(page), page.title), self.name) is PageKind.REFERENCE,
        )

    def _origin(self, expansions: Iterable[Expansion]) -> Origin:
        return self.library.origin(section.id for expansion in expansions for section in expansion.shown)

    def _make_results(
        self,
        query: str,
        hits: Sequence[Hit],
        opened: Sequence[Expansion],
        max_lines: int,
        note: str,
        unknown: tuple[str, ...],
    ) -> SearchResults:
        """Return the opened sections, and the hits as far as they fit: with a snippet unless they are open."""
        ids = {expansion.id for expansion in opened}
        before = [hit.section for hit in hits if hit.section.id in self._open.chars and hit.section.id not in ids]
        lines = (note, self.library.find_left_out(query))
        results = SearchResults(
            query[:MAX_QUERY_CHARS],
            (),
            self.search.words_only(query),
            tuple(map(self._list_inside, opened)),
            self._list_sections(before),
            unknown,
            self.search.confidence(query),
            "\n".join(filter(None, lines)),
            self._origin(opened),
        )
        ids.update(section.id for section in before)
        closed = [hit for hit in hits if hit.section.id not in ids]
        closed_results = (to_search_result(self.sections, hit) for hit in closed[:max_lines])
        shown = {result.id: result for result in limit_results(closed_results, self.cap - len(render(results)))}
        for hit in hits:
            if hit.section.id in ids:
                shown[hit.section.id] = to_search_result(self.sections, hit, has_snippet=False)
        in_order = [shown[hit.section.id] for hit in hits if hit.section.id in shown]
        return replace(results, hits=tuple(in_order))

    def _list_inside(self, expansion: Expansion) -> Expansion:
        """Return the expansion of a section's own text with its subsections that are not open."""
        section = self.sections.get(expansion.id)
        if section is None:
            return expansion
        closed = [inner for inner in self.sections.descendants(section) if inner.id not in self._open.chars]
        if not closed:
            return expansion
        first = self._list_sections(closed[:_MAX_INSIDE])
        entry = list_section(self.sections, section)
        return replace(expansion, listed=(replace_struct(entry, tokens=0, inside=len(closed), named=first),))


def _shorten_id(id_: str) -> str:
    return truncate_at_word(" ".join(id_.split()), _MAX_SHOWN_ID_CHARS)
