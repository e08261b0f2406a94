"""What rules name on a site: their sections and pages resolved to ids, their phrases checked.

Whatever could never fire or open nothing is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from urllib.parse import unquote

from msgspec.structs import replace

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import (
    Manifest,
    PageEntry,
    RuleCondition,
    RuleEntry,
    short_markdown_path,
    url_to_path,
)
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.publish.rules import ParsedRule, RuleSet, make_rules_error, quote
from mkdocs_roaming.text.tokenizer import parse_words

MAX_OPENED = 64
"""The most sections that one rule may open: an answer has room for a few of them."""


def resolve_rules(
    manifest: Manifest, book: RuleSet, warn: Callable[[str], None], note: Callable[[str], None]
) -> Manifest:
    """Give the manifest with its rules. Raises PublishError with all faults of all rules.

    An old id that lives on as an alias is told to `warn`; what a lenient book has to leave out to `note`.
    """
    targets = _Targets(manifest)
    rules: list[RuleEntry] = []
    faults: list[str] = []
    for written in book.rules:
        rule = _resolved(written, targets, warn)
        if isinstance(rule, RuleEntry):
            rules.append(rule)
        else:
            faults += [f"{written.where}: {fault}" for fault in rule]
    if faults and not book.lenient:
        raise make_rules_error(faults)
    for fault in faults:
        note(f"{fault}; the rule is left out")
    return replace(manifest, rules=tuple(rules), rules_mode="pool" if rules and book.mode == "pool" else "each")


# What a rule names


class _Targets:
    """What can be named: sections by address, pages by their source, path, URL or published Markdown."""

    def __init__(self, manifest: Manifest) -> None:
        self.sections = SectionIndex(manifest)
        self.language = manifest.site.language
        self._site = manifest.site.url
        self._names = {page.path: _names(page) for page in manifest.pages}
        self._by_name: dict[str, PageEntry] = {}
        for page in manifest.pages:
            for name in self._names[page.path]:
                self._by_name.setdefault(name, page)

    def section(self, address: str) -> SectionRef | None:
        """Give the section of an address; a page may be named by its published Markdown too."""
        if found := self.sections.resolve(address):
            return found
        page = self.page(address)
        return self.sections.find_anchor(page, unquote(address.partition("#")[2])) if page else None

    def page(self, address: str) -> PageEntry | None:
        """Give the page of an address, whatever its anchor."""
        where = address.partition("#")[0]
        found = url_to_path(self._site, where) if "://" in where else unquote(where)
        return None if found is None else self._by_name.get(found.lstrip("/")) or self.sections.get_page(found)

    def pages(self, glob: str) -> list[PageEntry]:
        """Give the pages that a glob or an address matches."""
        if page := self.page(glob):
            return [page]
        glob = glob.lstrip("/")
        return [
            page
            for page in self.sections.manifest.pages
            if any(fnmatchcase(name, glob) for name in self._names[page.path])
        ]

    def match_sections(self, glob: str) -> list[SectionRef]:
        """Give the pages' own sections that a glob matches; with a `#` in it, the sections whose address it matches."""
        where, mark, anchor = glob.partition("#")
        found = [SectionRef(page, 0) for page in self.pages(where)]
        if not mark:
            return found
        below = (place for page in found for place in (page, *self.sections.descendants(page)))
        return [place for place in below if fnmatchcase(_anchor(place), anchor)]

    def nearest(self, address: str) -> str:
        """Name what is spelt alike: anchors of the page where the page is right, else pages; nothing for a glob."""
        if _GLOB & set(address):
            return ""
        where, mark, anchor = address.partition("#")
        page = self.page(where)
        if mark and page:
            own = [_anchor(SectionRef(page, at)) for at in range(1, len(page.sections))]
            near = [f"{where}#{name}" for name in get_close_matches(anchor, own, 3, 0.4)]
        else:
            known = [page.source or page.path for page in self.sections.manifest.pages]
            near = get_close_matches(where.lstrip("/"), [*filter(None, known)], 3, 0.5)
        return f"; nearest: {', '.join(near)}" if near else ""


def _anchor(place: SectionRef) -> str:
    return place.section.anchor or github_slug(place.section.title)


def _names(page: PageEntry) -> tuple[str, ...]:
    names = (page.source, page.path, page.path.rstrip("/"), short_markdown_path(page.path), page.markdown)
    return tuple(dict.fromkeys(name for name in names if name))


# A rule, resolved


def _resolved(written: ParsedRule, targets: _Targets, warn: Callable[[str], None]) -> RuleEntry | list[str]:
    """Give a rule as it is published, or its faults."""
    if written.page is not None and targets.page(written.page) is None:
        return ["a rule on a page that is not published; publish the page, or move the rule to mkdocs.yml"]
    faults = [*_deaf(written, targets.language)]
    pages: dict[str, None] = {}
    for glob in written.pages:
        found = targets.pages(glob)
        pages |= {page.id: None for page in found}
        if not found:
            faults.append(f"`page` {quote(glob)} matches no published page{targets.nearest(glob)}")
    ids: dict[str, None] = {}
    for address in _addresses(written):
        places = _opened(written.where, address, targets, warn)
        ids |= {place.id: None for place in places}
        if not places:
            faults.append(_no_target(address, targets))
    if len(ids) > MAX_OPENED:
        faults.append(f"opens {len(ids)} sections, of which no answer has room for more than a few; narrow the glob")
    when = RuleCondition(written.any, written.all, tuple(pages), written.always)
    return faults or RuleEntry(when, tuple(ids), written.name)


def _deaf(written: ParsedRule, language: str) -> Iterator[str]:
    """Tell the phrases that nothing fires on: of words that stand in most questions, or of no words."""
    for phrase in (*written.any, *written.all):
        words = [word for word in parse_words(phrase, language) if any(word.runs)]
        if not words:
            yield f"{quote(phrase)} can never fire: it holds no word; write one"
        elif all(word.stop for word in words):
            yield f"{quote(phrase)} can never fire: such words stand in most questions; add one that tells something"


def _addresses(written: ParsedRule) -> list[str]:
    """Give what a rule opens; in a page's front matter `#anchor` is a section of that page."""
    own = written.page or ""
    return [own + address if address.startswith("#") else address for address in written.open]


def _opened(where: str, address: str, targets: _Targets, warn: Callable[[str], None]) -> Sequence[SectionRef]:
    place = targets.section(address)
    if place is None:
        return targets.match_sections(address) if _GLOB & set(address) else []
    if _ID.fullmatch(address) and place.id != address:
        crumbs = " › ".join(targets.sections.breadcrumb(place))
        warn(f"{where}: opens {address}, an old id that lives on as {place.id} ({crumbs}); write that one")
    return [place]


def _no_target(address: str, targets: _Targets) -> str:
    near = targets.nearest(address)
    if _GLOB & set(address):
        return f"opens {quote(address)}, a glob that matches nothing"
    if targets.page(address):
        return f"opens {quote(address)}, but the page has no section with that anchor{near}"
    if targets.sections.get_group(address):
        return f"opens {quote(address)}, a group of the nav; name its pages"
    return f"opens {quote(address)}, which is no section that is published{near}"


_GLOB = frozenset("*?[")
_ID = re.compile(r"[0-9a-f]{8}")
