"""Which site of a store an id or an address is about, however it is spelt, and what of that site."""

from __future__ import annotations

import re
import time
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.library import tools as given
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import to_search_result
from mkdocs_roaming.library.tools import (
    MAX_HITS,
    MAX_IDS,
    ExpandResult,
    OutlineResult,
    SearchResult,
    SearchResults,
    ToolError,
    ToolOutput,
    UnknownSection,
    call_tool,
    expand_separately,
    render,
)
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from mkdocs_roaming.manifest.outline import OUTLINE_BUDGET
from mkdocs_roaming.text.markdown import truncate_at_word
from roaming_fleet.collection import Collection, OpenSite, RankedSite
from roaming_fleet.errors import SiteNotFoundError
from roaming_fleet.namespaces import NAMESPACED_ID, SITE_KEY
from roaming_fleet.records import SiteRecord


def resolve_site(collection: Collection, id_: str) -> tuple[str | None, str]:
    """Give the site that an id or an address is about, and what of it; None where it is about none.

    What of it is a namespaced id, an address as the site spells it, a path, or nothing.
    """
    if "://" in id_:
        return _by_address(collection, id_)
    keys = collection.keys
    match = _SECTION.match(id_.lower())
    if match and match[1] in keys:
        return match[1], f"{match[1]}:{match[2]}"
    site, _, rest = id_.partition(":")
    key = site.strip().lower()
    return (key, rest.strip()) if key in keys else (None, "")


def _by_address(collection: Collection, address: str) -> tuple[str | None, str]:
    """Give the site that an address lies on, and the address as it spells it: the deepest that has the page."""
    found = collection.lying_at(address)[:_NESTED]
    if len(found) == 1:
        return found[0]
    for key, own in found:
        with suppress(RoamingError):  # one that cannot be opened, or is just gone, may not be the one
            if collection.open(key).library.sections.resolve(own) is not None:
                return key, own
    return found[0] if found else (None, "")


_SECTION = re.compile(rf"({SITE_KEY})(?:\s*[:/#]\s*|\s+)([0-9a-f]{{4,12}}\+?)(?![0-9a-z]|/|[._-]\w)")


"""A section as a model may write it: `Ruff / 07F3277D`, `ruff:07f3277d] Rules`. `ruff:2026/08/` is a path."""


_NESTED = 3


# MERGED mkdocs_roaming.roam.sites:
# The three tools over the sites of a store: ids name their site, and what is given tells when it was crawled.


class StoreNavigator:
    """Walks the sites of a store as a navigator walks one; one for each conversation.

    `read_outline()` lists the sites, `read_outline("ruff")` gives the outline of one. No tool raises, and no result is
    longer than `cap` characters when rendered. `format_error` gives what is said of what cannot be read.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        cap: int = MAX_EXPANSION_CHARS,
        format_error: Callable[[RoamingError], str] = str,
    ) -> None:
        self.collection = collection
        self.cap = cap
        self._format_error = format_error
        self._walked: dict[str, tuple[OpenSite, Navigator]] = {}

    @property
    def name(self) -> str:
        """What is walked, in a few words."""
        count = self.collection.crawled
        return f"{count} site{'' if count == 1 else 's'}"

    @property
    def about(self) -> str:
        """What the tools say of it: their clients may not show more."""
        return (
            f"The documentation of {self.name}: ids name their site (NAME:07f3277d), read_outline(NAME) shows what is "
            "in one, “NAME: words” searches that one alone."
        )

    @property
    def digest(self) -> str:
        """What tells these sites from what they were before."""
        return self.collection.generation

    def fork(self, cap: int) -> StoreNavigator:
        """Give a navigator of the same sites that has opened nothing."""
        return StoreNavigator(self.collection, cap=cap, format_error=self._format_error)

    def call(self, name: str, arguments: object) -> ToolOutput:
        """Call a tool by its name, with what a model passes for arguments."""
        return call_tool(self, name, arguments)

    def read_outline(self, id: str | None = None) -> OutlineResult | ToolError:  # noqa: A002 -- the tool's parameter
        """Give the list of sites, the outline of one, or a closed branch of that; `<id>+` gives what follows."""
        try:
            return self.outlined(id)
        except RoamingError as error:
            return self._misused(error)

    def outlined(self, id: str | None = None) -> OutlineResult | ToolError:  # noqa: A002 -- as above
        """Give the same as `read_outline`; raises LibraryError where that cannot be read."""
        wanted = (id or "").strip()
        bare = wanted.removesuffix("+").strip()
        if not bare or (wanted.endswith("+") and re.fullmatch(SITE_KEY, bare.lower())):
            return self._listing(bare.lower())  # from a site on, be it there no longer
        try:
            site, rest = resolve_site(self.collection, wanted)
            if site is None:
                return ToolError(f"{truncate_at_word(bare, _NAME)}: {self._no_site(bare)}.")
            navigator = self._navigator(site)
        except SiteNotFoundError as error:  # dropped a moment ago
            return self._misused(error)
        found = navigator.read_outline(rest or None)
        if isinstance(found, ToolError):
            return found
        return OutlineResult(f"{self._crumb(site)}\n{found.text}")

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> ExpandResult | ToolError:
        """Open sections of whatever sites; they share the cap, and the rest of each is to be had by `part`."""
        wanted = [each for id_ in given.parse_ids(list(ids) if not isinstance(ids, str) else ids) for each in _ids(id_)]
        if not wanted:
            return ToolError("expand_sections needs `ids`: a list of ids as the outline shows them.")
        return expand_separately(lambda id_: self._expanded(id_, part), wanted[: 2 * MAX_IDS], self.drop, cap=self.cap)

    def search_sections(self, query: str, limit: int = 5) -> SearchResults | ToolError:
        """Search the sites that a query is about, or the one that it names: `ruff: how are rules chosen?`."""
        limit = given.parse_int(limit, 5, 1, MAX_HITS)
        hits: list[SearchResult] = []
        left = self.cap
        try:
            found = self.collection.find(query, limit=limit)
            if not found and (named := self.collection.named(query)) and not self.collection.asks(query):
                return ToolError(_NO_WORDS.format(named))
        except RoamingError as error:
            return self._misused(error)
        for one in found:
            entry = to_search_result(one.library.sections, one.hit, one.score)
            entry = replace(entry, breadcrumb=(site_label(one.site), *entry.breadcrumb))
            left -= len(render(SearchResults("", (entry,)))) + 1
            if left < 0:
                break
            hits.append(entry)
        return SearchResults(query[:_QUERY], tuple(hits))

    def drop(self, ids: Iterable[str]) -> None:
        """Let sections go: they stand open no more, and may be opened again."""
        gone = list(ids)
        for _, navigator in self._walked.values():
            navigator.drop(gone)

    # The sites

    def _listing(self, since: str) -> OutlineResult:
        """List the sites, from one on, as many as find room."""
        records = [record for record in self.collection.records() if record.entry and record.key >= since]
        lines = [_SITES.format(len(records))] if not since else []
        room = min(self.cap, OUTLINE_BUDGET * 4) - sum(map(len, lines)) - _MORE
        for at, record in enumerate(records):
            line = _site_line(record)
            if len(line) > room:
                lines.append(f"[{record.key}+] {len(records) - at} more: {record.key} …\n")
                break
            lines.append(line)
            room -= len(line)
        return OutlineResult("".join(lines))

    def _navigator(self, site: str) -> Navigator:
        """Give what walks a site. Raises RoamingError where it cannot be opened."""
        if site not in self._walked:
            opened = self.collection.open(site)
            cap = self.cap - len(site_label(opened)) - 3 - MAX_IDS * (_NAME + 2)
            self._walked[site] = (
                opened,
                Navigator(opened.library, search=opened.search, cap=cap, format_error=self._format_error),
            )
        return self._walked[site][1]

    def _crumb(self, site: str) -> str:
        return site_label(self._walked[site][0])

    def _no_site(self, id_: str) -> str:
        site = id_.partition(":")[0].strip().lower()
        if re.fullmatch(r"[0-9a-f]{8}", site):
            return f"of which site? Ids look like {self._example()}:{site}; search_sections gives them whole"
        if "://" in id_:
            return "no site here has this address; search_sections finds what there is"
        keys = self.collection.keys
        at = bisect(keys, site)
        around = [key for key in keys[max(0, at - _COMPARED) : at + _COMPARED] if key != site]
        near = get_close_matches(site, around, 3, 0.5)
        nearest = f" nearest: {', '.join(near)};" if near else ""
        named = truncate_at_word(site, 60)
        return f"there is no site {named!r};{nearest} read_outline lists them, search_sections finds them"

    def _example(self) -> str:
        return next(iter(self.collection.keys), "site")

    def _misused(self, error: RoamingError) -> ToolError:
        said = self._why(error)
        return ToolError(
            truncate_at_word(f"{error.key}: {said}." if isinstance(error, SiteNotFoundError) else said, 500)
        )

    def _why(self, error: RoamingError) -> str:
        """Give what is said of what cannot be opened."""
        return self._no_site(error.key) if isinstance(error, SiteNotFoundError) else self._format_error(error)

    # Sections

    def _expanded(self, id_: str, part: int) -> ExpandResult:
        try:
            site, rest = resolve_site(self.collection, id_)
            if site is None:
                return ExpandResult((), (UnknownSection(truncate_at_word(id_, _NAME), why=self._no_site(id_)),))
            navigator = self._navigator(site)
        except RoamingError as error:
            return ExpandResult(
                (), (UnknownSection(truncate_at_word(id_, _NAME), why=truncate_at_word(self._why(error), 500)),)
            )
        if not rest:
            return ExpandResult((), (UnknownSection(site, why=f"a site: read_outline({site}) shows what is in it"),))
        found = navigator.expand_sections([rest], part)
        if isinstance(found, ToolError):
            return ExpandResult((), (UnknownSection(truncate_at_word(id_, _NAME), why=found.message),))
        crumb = self._crumb(site)
        sections = tuple(replace(one, breadcrumb=(crumb, *one.breadcrumb)) for one in found.sections)
        return replace(found, sections=sections)


def site_label(site: RankedSite | OpenSite) -> str:
    """Give a site's name and the day of its crawl, as both stand before what is told of it."""
    return f"{site.key} (crawled {_day(site.entry.crawled)})"


def _ids(text: str) -> list[str]:
    """Part ids that only blanks part."""
    pieces = text.split()
    return (
        pieces
        if len(pieces) > 1 and all(re.fullmatch(rf"{NAMESPACED_ID}\+?", piece.lower()) for piece in pieces)
        else [text]
    )


def _site_line(record: SiteRecord) -> str:
    entry = record.entry
    assert entry is not None
    title = truncate_at_word(" ".join(entry.title.split()), 80)
    summary = truncate_at_word(" ".join(entry.summary.split()), 160)
    about = f" — {summary}" if summary else ""
    count = f"{entry.sections} section{'' if entry.sections == 1 else 's'}"
    failed = "; could not be crawled since" if record.state == "failed" else ""
    return f"[{record.key}] {title}{about} · {count}, crawled {_day(entry.crawled)}{failed}\n"


def _day(then: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(then))


_SITES = (
    "{} sites. search_sections finds the right ones, and “NAME: words” searches that one alone. read_outline(NAME) "
    "shows what is in one. Ids name their site: NAME:07f3277d.\n"
)


_NO_WORDS = "{0}: no words to search for; read_outline({0}) shows what is in it, “{0}: words” searches it."


_COMPARED = 5_000  # keys on either side: with all of many sites it would take seconds


_MORE = 160


_NAME = 120


_QUERY = 1_000
