"""The texts of sections as models read them: with ids for addresses, long ones cut, and which of them are open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.snippets import HEADING, cut_best_part, describe_rest, find_open_fence, strip_markdown
from mkdocs_roaming.manifest.expand import Expansion, expand_section, make_text_expansion, split_source_code
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import join_url
from mkdocs_roaming.search.ranking import parse_query
from mkdocs_roaming.text.blocks import sub_outside_code
from mkdocs_roaming.text.tokenizer import estimate_tokens

PREFETCH_TOKENS = 2_200
"""Default size of the sections that search opens before the first call of a model, in estimated tokens."""

MAX_REFERENCE = 3
"""Maximum number of sections of reference pages that search opens for a question without names of code."""

MIN_BODY_CHARS = 25
"""A shorter text without its heading says nothing."""

LINK = re.compile(
    r"\]\((?P<url>(?:(?:https?|file)://|(?![a-zA-Z][a-zA-Z0-9+.-]*:|[#/]))[^()\s]+)(?:\s+\"[^\"\n]*\")?\)"
)
"""The end of a link, `](guide/harbour.md "Harbour")`, whose address is a URL or a path from the page."""

LONG_ADDRESS = re.compile(r"(?<=\]\()https?://[^()\s]{300,}")
"""An address of a link that is shortened in what models read: it may contain a whole program."""

_SHORT_ADDRESS_CHARS = 80
_OPEN_PART = "[This part is open already.]\n\n"

_PART_TOKENS = (1_600, 600, 300)
"""Maximum size of the first, the second and each further section of a prefetch; whole sections are mostly shorter."""

_MAX_PREFETCHED = 12
_MIN_PART_TOKENS = 80
"""A shorter part of a section says too little, and finding it takes as long."""

_COMPARED_CHARS = 300
_STRIPPED_CHARS = 4 * _COMPARED_CHARS
"""Length of the text with its markup from which `_COMPARED_CHARS` without are taken."""


class SectionTexts:
    """The texts of a library's sections.

    Args:
        library: The site.

    Attributes:
        link_ids: Whether links to sections lead to their ids instead of their URLs, as `[words](07f3277d)`, and
            sections are shown without their URLs.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self.link_ids = False
        self._linked: tuple[tuple[str, str], str] = (("", ""), "")  # the last text, and that with links to ids

    def read(self, section: SectionRef) -> str:
        """Return a section's own text; with `link_ids` links to sections lead to their ids, and long ones are cut.

        Raises:
            LibraryError: It cannot be read.
        """
        text = self._library.text(section)
        if not self.link_ids or "](" not in text:
            return text
        key = section.id, text
        if key != self._linked[0]:
            linked = sub_outside_code(LINK, partial(self._link_to_id, section), text)
            self._linked = key, sub_outside_code(LONG_ADDRESS, shorten_address, linked)
        return self._linked[1]

    def read_published(self, section: SectionRef) -> str:
        """Return a section's own text as it is published; empty if it cannot be read."""
        try:
            return self._library.text(section)
        except LibraryError:
            return ""

    def cut(self, section: SectionRef, query: str, max_tokens: int) -> tuple[Expansion, str]:
        """Return a section's own text, or the part of a long one that matches a query best, and that part alone."""
        library = self._library
        text = self.read(section) if self.read_published(section) else ""
        source = text
        if estimate_tokens(text) > max_tokens:
            text, listing = split_source_code(text)
            source = text
            size = estimate_tokens(text)
            if size > max_tokens:
                language = library.manifest.site.language
                max_chars = len(text) * max_tokens // size
                text, source = cut_best_part(text, parse_query(query, language), language, max_chars)
            if listing:
                text += f"\n{describe_rest(listing)}"
        return self.hide_url(make_text_expansion(library.sections, section, text)), source

    def hide_url(self, expansion: Expansion) -> Expansion:
        """Return an expansion without its URL if links lead to ids: models then need none."""
        return replace(expansion, url="") if self.link_ids else expansion

    def _link_to_id(self, section: SectionRef, match: re.Match[str]) -> str:
        target = resolve_link(self._library.sections, section, match)
        return f"]({target.id})" if target and len(target.id) <= len(match["url"]) else match[0]


def resolve_link(sections: SectionIndex, section: SectionRef, match: re.Match[str]) -> SectionRef | None:
    """Return the section that a `LINK` in the text of another one leads to."""
    return sections.resolve(join_url(f"/{section.page.markdown}", match["url"]))


def shorten_address(match: re.Match[str]) -> str:
    """Return the form of a `LONG_ADDRESS` that models read."""
    return f"{match[0][:_SHORT_ADDRESS_CHARS]}…"


def read_beginning(text: str) -> str:
    """Return the beginning of a section's text without its heading and markup."""
    body = HEADING.sub("", text, count=1)
    return strip_markdown(body[:_STRIPPED_CHARS])[:_COMPARED_CHARS]


class OpenSections:
    """The open sections of one conversation. Callers in several threads need a lock.

    Args:
        sections: The sections of the site.
        read: Returns a section's own text; may raise LibraryError.

    Attributes:
        steps: The ids of all sections whose text was shown, in the order of opening; closed ones stay in it.
        chars: The number of characters that are open of each section, by its id.
        whole: The ids of the sections whose whole own text is open.
    """

    def __init__(self, sections: SectionIndex, read: Callable[[SectionRef], str]) -> None:
        self.steps: dict[str, None] = {}
        self.chars: dict[str, int] = {}
        self.whole: set[str] = set()
        self._sections = sections
        self._read = read
        self._parts: dict[tuple[str, int], frozenset[str]] = {}  # the ids that an opened part contains
        self._first_parts: dict[str, tuple[int, frozenset[str]]] = {}  # their cap, and what was open before
        self._spans: dict[str, tuple[int, int]] = {}  # the part of a long section that a search has opened

    def has_part(self, section: SectionRef, part: int) -> bool:
        """Return whether a part of a section and its subsections is open."""
        if (section.id, part) in self._parts:
            return True
        if part > 1:
            return False
        nonempty = (
            inner
            for inner in (section, *self._sections.descendants(section))
            if inner.section.start < inner.section.end
        )
        return all(inner.id in self.whole for inner in nonempty)

    def first_size(self, section: SectionRef) -> int | None:
        """Return the maximum size of a section's first part, None if it was not opened."""
        return self._first_parts[section.id][0] if section.id in self._first_parts else None

    def expand(self, section: SectionRef, part: int, size: int) -> Expansion:
        """Open a section with its subsections.

        Later parts are those of the text that was closed when the first part was opened.

        Raises:
            LibraryError: The section cannot be read.
        """
        if part == 1 or section.id not in self._first_parts:
            self._first_parts[section.id] = size, frozenset(self.whole)
        _, opened = self._first_parts[section.id]
        read = partial(self._read_closed, section)
        expansion = expand_section(self._sections, section, read, cap=size, part=part, opened=opened)
        for shown in expansion.shown:
            inner = self._sections.get(shown.id)
            if inner is not None:
                self._add(inner, len(shown.text.replace(_OPEN_PART, "")))
        self._parts[section.id, expansion.part] = frozenset(shown.id for shown in expansion.shown)
        return expansion

    def add_part(self, section: SectionRef, part: str) -> None:
        """Add a part of a section that a search has opened, or its whole text."""
        self._add(section, len(part))
        start = self._read(section).find(part)
        if section.id not in self.whole and start >= 0:  # a text around listings of code has more than one part
            self._spans[section.id] = start, start + len(part)

    def close(self, ids: Iterable[str]) -> None:
        """Forget that sections are open."""
        sections = map(self._sections.get, ids)
        closed = {section.id for section in sections if section}
        for id_ in closed:
            self.chars.pop(id_, None)
            self._spans.pop(id_, None)
        self.whole -= closed
        self._parts = {key: shown for key, shown in self._parts.items() if not closed & {key[0], *shown}}

    def _add(self, section: SectionRef, chars: int) -> None:
        self.steps[section.id] = None
        self.chars[section.id] = self.chars.get(section.id, 0) + chars
        if self.chars[section.id] >= len(self._read(section)):
            self.whole.add(section.id)

    def _read_closed(self, target: SectionRef, section: SectionRef) -> str:
        """Return the own text of the target or of a subsection, without the part that a search has opened."""
        try:
            text = self._read(section)
        except LibraryError:
            if section.id == target.id:
                raise
            return ""  # a subsection that cannot be read is left out; opened by itself, it returns the error
        if section.id not in self._spans:
            return text
        start, end = self._spans[section.id]
        if not end:
            return text
        _, closing = find_open_fence(text[:start])
        opening, _ = find_open_fence(text[:end])
        if closing:
            closing += "\n\n"
        return f"{text[:start]}{closing}{_OPEN_PART}{opening}{text[end:]}"


@dataclass(slots=True)
class Prefetch:
    """The sections that search opens for one question: the first hits whole, of further ones the best parts.

    Left out are sections that only introduce their subsections, repeated texts, and most of reference pages.

    Attributes:
        texts: The texts of the sections.
        is_reference: Returns whether a section is on a reference page.
        open_part: Opens a section's text within a size if it fits into a room; returns its size, 0 if it is not opened.
        max_tokens: The room that is left, in estimated tokens.
        max_reference: Maximum number of sections of reference pages.
    """

    texts: SectionTexts
    is_reference: Callable[[SectionRef], bool]
    open_part: Callable[[SectionRef, int, int], int]
    max_tokens: int
    max_reference: int | None
    _beginnings: set[str] = field(default_factory=set)
    _references: int = 0

    def open(self, ranked: Sequence[SectionRef]) -> None:
        """Open the first useful ones of ranked sections."""
        share = max(1.0, self.max_tokens / PREFETCH_TOKENS)  # more room is for more and for longer texts
        opened = 0
        for section in ranked:
            if opened >= int(_MAX_PREFETCHED * share):
                break
            beginning = read_beginning(self.texts.read_published(section))
            if not self._is_useful(section, beginning):
                continue
            rank = min(opened, len(_PART_TOKENS) - 1)
            size = min(int(_PART_TOKENS[rank] * share), self.max_tokens)
            used = self.open_part(section, size, self.max_tokens)
            if not used:
                continue
            self.max_tokens -= used
            opened += 1
            self._beginnings.add(beginning)
            self._references += self.is_reference(section)

    def _is_useful(self, section: SectionRef, beginning: str) -> bool:
        if len(beginning) < MIN_BODY_CHARS or beginning in self._beginnings:
            return False
        if self.max_tokens < min(_MIN_PART_TOKENS, section.section.tokens):
            return False
        is_enough = self.max_reference is not None and self._references >= self.max_reference
        return not (is_enough and self.is_reference(section))
