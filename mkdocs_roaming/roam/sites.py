"""The three tools over the sites of a store: ids name their site, and what is given tells when it was crawled."""

from __future__ import annotations

import re
import time
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from mkdocs_roaming.catalogue import Record
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.expand import CAP
from mkdocs_roaming.headings import cut_at_word
from mkdocs_roaming.outline import BUDGET
from mkdocs_roaming.roam import arguments as given
from mkdocs_roaming.roam.absent import NoSite
from mkdocs_roaming.roam.calling import called, opened_apart
from mkdocs_roaming.roam.collection import Asked, Collection, Opened
from mkdocs_roaming.roam.namespaces import ID, KEY
from mkdocs_roaming.roam.navigator import Navigator, found_section
from mkdocs_roaming.roam.parting import parted
from mkdocs_roaming.roam.results import Expanded, Found, FoundSection, Missing, Misused, Outlined, Result, render
from mkdocs_roaming.roam.tools import MOST_HITS, MOST_IDS


class SitesNavigator:
    """Walks the sites of a store as a navigator walks one; one for each conversation.

    `read_outline()` lists the sites, `read_outline("ruff")` gives the outline of one. No tool raises, and no result is
    longer than `cap` characters when rendered. `telling` gives what is said of what cannot be read.
    """

    def __init__(self, collection: Collection, *, cap: int = CAP, telling: Callable[[RoamingError], str] = str) -> None:
        self.collection = collection
        self.cap = cap
        self._telling = telling
        self._walked: dict[str, tuple[Opened, Navigator]] = {}

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

    def anew(self, cap: int) -> SitesNavigator:
        """Give a navigator of the same sites that has opened nothing."""
        return SitesNavigator(self.collection, cap=cap, telling=self._telling)

    def call(self, name: str, arguments: object) -> Result:
        """Call a tool by its name, with what a model passes for arguments."""
        return called(self, name, arguments)

    def read_outline(self, id: str | None = None) -> Outlined | Misused:  # noqa: A002 -- the tool's parameter
        """Give the list of sites, the outline of one, or a closed branch of that; `<id>+` gives what follows."""
        try:
            return self.outlined(id)
        except RoamingError as error:
            return self._misused(error)

    def outlined(self, id: str | None = None) -> Outlined | Misused:  # noqa: A002 -- as above
        """Give the same as `read_outline`; raises LibraryError where that cannot be read."""
        wanted = (id or "").strip()
        bare = wanted.removesuffix("+").strip()
        if not bare or (wanted.endswith("+") and re.fullmatch(KEY, bare.lower())):
            return self._listing(bare.lower())  # from a site on, be it there no longer
        try:
            site, rest = parted(self.collection, wanted)
            if site is None:
                return Misused(f"{cut_at_word(bare, _NAME)}: {self._no_site(bare)}.")
            navigator = self._navigator(site)
        except NoSite as error:  # dropped a moment ago
            return self._misused(error)
        found = navigator.read_outline(rest or None)
        if isinstance(found, Misused):
            return found
        return Outlined(f"{self._crumb(site)}\n{found.text}")

    def expand_sections(self, ids: Sequence[str], part: int = 1) -> Expanded | Misused:
        """Open sections of whatever sites; they share the cap, and the rest of each is to be had by `part`."""
        wanted = [each for id_ in given.ids_of(list(ids) if not isinstance(ids, str) else ids) for each in _ids(id_)]
        if not wanted:
            return Misused("expand_sections needs `ids`: a list of ids as the outline shows them.")
        return opened_apart(lambda id_: self._expanded(id_, part), wanted[: 2 * MOST_IDS], self.drop, cap=self.cap)

    def search_sections(self, query: str, limit: int = 5) -> Found | Misused:
        """Search the sites that a query is about, or the one that it names: `ruff: how are rules chosen?`."""
        limit = given.number(limit, 5, 1, MOST_HITS)
        hits: list[FoundSection] = []
        left = self.cap
        try:
            found = self.collection.find(query, limit=limit)
            if not found and (named := self.collection.named(query)) and not self.collection.asks(query):
                return Misused(_NO_WORDS.format(named))
        except RoamingError as error:
            return self._misused(error)
        for one in found:
            entry = found_section(one.library.places, one.hit, one.score)
            entry = replace(entry, breadcrumb=(dated(one.site), *entry.breadcrumb))
            left -= len(render(Found("", (entry,)))) + 1
            if left < 0:
                break
            hits.append(entry)
        return Found(query[:_QUERY], tuple(hits))

    def drop(self, ids: Iterable[str]) -> None:
        """Let sections go: they stand open no more, and may be opened again."""
        gone = list(ids)
        for _, navigator in self._walked.values():
            navigator.drop(gone)

    # The sites

    def _listing(self, since: str) -> Outlined:
        """List the sites, from one on, as many as find room."""
        records = [record for record in self.collection.records() if record.entry and record.key >= since]
        lines = [_SITES.format(len(records))] if not since else []
        room = min(self.cap, BUDGET * 4) - sum(map(len, lines)) - _MORE
        for at, record in enumerate(records):
            line = _site_line(record)
            if len(line) > room:
                lines.append(f"[{record.key}+] {len(records) - at} more: {record.key} …\n")
                break
            lines.append(line)
            room -= len(line)
        return Outlined("".join(lines))

    def _navigator(self, site: str) -> Navigator:
        """Give what walks a site. Raises RoamingError where it cannot be opened."""
        if site not in self._walked:
            opened = self.collection.open(site)
            cap = self.cap - len(dated(opened)) - 3 - MOST_IDS * (_NAME + 2)
            self._walked[site] = (
                opened,
                Navigator(opened.library, search=opened.search, cap=cap, telling=self._telling),
            )
        return self._walked[site][1]

    def _crumb(self, site: str) -> str:
        return dated(self._walked[site][0])

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
        named = cut_at_word(site, 60)
        return f"there is no site {named!r};{nearest} read_outline lists them, search_sections finds them"

    def _example(self) -> str:
        return next(iter(self.collection.keys), "site")

    def _misused(self, error: RoamingError) -> Misused:
        said = self._why(error)
        return Misused(cut_at_word(f"{error.key}: {said}." if isinstance(error, NoSite) else said, 500))

    def _why(self, error: RoamingError) -> str:
        """Give what is said of what cannot be opened."""
        return self._no_site(error.key) if isinstance(error, NoSite) else self._telling(error)

    # Sections

    def _expanded(self, id_: str, part: int) -> Expanded:
        try:
            site, rest = parted(self.collection, id_)
            if site is None:
                return Expanded((), (Missing(cut_at_word(id_, _NAME), why=self._no_site(id_)),))
            navigator = self._navigator(site)
        except RoamingError as error:
            return Expanded((), (Missing(cut_at_word(id_, _NAME), why=cut_at_word(self._why(error), 500)),))
        if not rest:
            return Expanded((), (Missing(site, why=f"a site: read_outline({site}) shows what is in it"),))
        found = navigator.expand_sections([rest], part)
        if isinstance(found, Misused):
            return Expanded((), (Missing(cut_at_word(id_, _NAME), why=found.message),))
        crumb = self._crumb(site)
        sections = tuple(replace(one, breadcrumb=(crumb, *one.breadcrumb)) for one in found.sections)
        return replace(found, sections=sections)


def dated(site: Asked | Opened) -> str:
    """Give a site's name and the day of its crawl, as both stand before what is told of it."""
    return f"{site.key} (crawled {_day(site.entry.crawled)})"


def _ids(text: str) -> list[str]:
    """Part ids that only blanks part."""
    pieces = text.split()
    return pieces if len(pieces) > 1 and all(re.fullmatch(rf"{ID}\+?", piece.lower()) for piece in pieces) else [text]


def _site_line(record: Record) -> str:
    entry = record.entry
    assert entry is not None
    title = cut_at_word(" ".join(entry.title.split()), 80)
    summary = cut_at_word(" ".join(entry.summary.split()), 160)
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
