"""The texts of sections as models read them: with ids for addresses, long ones cut to what a query asks for."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.snippets import cut_best_part, describe_rest
from mkdocs_roaming.manifest.expand import Expansion, make_text_expansion, split_source_code
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import join_url
from mkdocs_roaming.search.ranking import parse_query
from mkdocs_roaming.text.blocks import sub_outside_code
from mkdocs_roaming.text.tokenizer import estimate_tokens

LINK = re.compile(
    r"\]\((?P<url>(?:(?:https?|file)://|(?![a-zA-Z][a-zA-Z0-9+.-]*:|[#/]))[^()\s]+)(?:\s+\"[^\"\n]*\")?\)"
)
LONG_ADDRESS = re.compile(r"(?<=\]\()https?://[^()\s]{300,}")
"""An address of a link that is shortened in what models read: it may contain a whole program."""
_SHORT_ADDRESS_CHARS = 80


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
        text = source = self.read(section) if self.read_published(section) else ""
        if estimate_tokens(text) > max_tokens:
            text, listing = split_source_code(text)
            source = text
            if (size := estimate_tokens(text)) > max_tokens:
                language = self._library.manifest.site.language
                max_chars = len(text) * max_tokens // size
                text, source = cut_best_part(text, parse_query(query, language), language, max_chars)
            text += f"\n{describe_rest(listing)}" if listing else ""
        return self.hide_url(make_text_expansion(self._library.sections, section, text)), source

    def find_links(self, section: SectionRef) -> set[str]:
        """Return the ids of the sections that a section links to."""
        found = LINK.finditer(self.read_published(section))
        return {target.id for match in found if (target := resolve_link(self._library.sections, section, match))}

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
