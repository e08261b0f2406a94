"""The record of a site in a store, `.fleet/sites/<key>.json`, and ids with the key, such as `ruff:07f3277d`."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import structs

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.targets import PackageInfo, SiteInfo
from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import parse_words
from roaming_fleet.folder import FLEET_DIR, StoreFileNotFoundError, StoreFolder

RECORDS_DIR = f"{FLEET_DIR}/sites"
STORE_MARKER = f"{FLEET_DIR}/store.json"
HEAD_PATH = f"{FLEET_DIR}/catalogue/head.json"


class CatalogEntry(msgspec.Struct, frozen=True):
    """What the catalog knows of a site's last good copy.

    Attributes:
        crawled: Unix time at which the copy was last known to be current.
        names: Terms of the site's name.
        terms: Weights of the terms by which the site is found.
        package: The package that the site documents.
    """

    title: str
    summary: str
    url: str
    language: str
    pages: int
    sections: int
    digest: str
    crawled: float
    names: tuple[str, ...] = ()
    terms: dict[str, float] = {}
    package: PackageInfo | None = None


class SiteRecord(msgspec.Struct, frozen=True):
    """Result of the last crawl of a site.

    Attributes:
        key: Key of the site in the store.
        url: Listed URL.
        state: `done` or `failed`.
        config: Digest of the configuration.
        run: Id of the run.
        at: Unix time of the crawl.
        result: `new`, `changed`, `same` or `failed`.
        home: URL to which `url` led then.
        kept: Number of pages that could not be fetched, because of `error` or a limit; their last copies stay.
        tries: Number of successive crawls that failed in whole or in part.
        next_try: Unix time before which the site is not crawled again after a failure.
        entry: Catalog entry of the last good copy.
    """

    key: str
    url: str
    state: str
    config: str
    run: str
    at: float
    result: str = ""
    home: str = ""
    seconds: float = 0.0
    new: int = 0
    changed: int = 0
    same: int = 0
    gone: int = 0
    kept: int = 0
    requests: int = 0
    bytes: int = 0
    stopped: str = ""
    error: str = ""
    tries: int = 0
    next_try: float = 0.0
    entry: CatalogEntry | None = None


def read_record(store: StoreFolder, key: str) -> SiteRecord | None:
    """Return the record of a site, or None if there is none or it is damaged."""
    try:
        record = decode_json(store.get(record_path(key)), SiteRecord)
    except (StoreFileNotFoundError, ValueError):
        return None
    return structs.replace(record, key=key)  # the file may have been renamed


def write_record(store: StoreFolder, record: SiteRecord) -> None:
    """Write the record of a site."""
    store.put(record_path(record.key), msgspec.json.encode(record))


def record_as_json(record: SiteRecord) -> dict[str, Any]:
    """Return a record with the fields of its entry, without search terms."""
    data = msgspec.to_builtins(record)
    entry = data.pop("entry") or {}
    return {**data, **{name: value for name, value in entry.items() if name not in ("names", "terms")}}


def site_info(key: str, entry: CatalogEntry) -> SiteInfo:
    """Return what results say of a site."""
    return SiteInfo(key, entry.title, entry.crawled, entry.package)


def without_terms(record: SiteRecord) -> SiteRecord:
    """Return a record without the search terms in its entry."""
    entry = record.entry and structs.replace(record.entry, terms={}, names=())
    return structs.replace(record, entry=entry)


def record_path(key: str) -> str:
    """Return the path of a site's record."""
    return f"{RECORDS_DIR}/{key}.json"


def make_catalog_entry(key: str, manifest: Manifest, crawled: float) -> CatalogEntry:
    """Return the catalog entry for a manifest.

    The terms come from name, URL and summary, the titles of the navigation and the pages, the titles and openings of
    the sections, and what a model wrote about them. The manifest may be from an untrusted site: all texts are truncated
    to plausible lengths.
    """
    site = manifest.site
    title = shorten(site.name, 200)
    summary = shorten(site.description, 400)
    url = shorten(site.url, 2_000)
    language = site.language if _LANGUAGE.fullmatch(site.language) else "en"
    name = list(dict.fromkeys(_extract_terms(title, language)))
    host, _, path = url.partition("://")[2].partition("/")
    address = f"{host.partition(':')[0]} {path}".replace("/", " ").replace(".", " ")
    weighted_texts: list[tuple[float, Iterable[str]]] = [
        (_TITLE_WEIGHT, [title]),
        (_URL_WEIGHT, [address, key]),
        (_SUMMARY_WEIGHT, [site.description]),
        (_NAV_WEIGHT, _nav_titles(manifest.nav)),
        (_PAGE_WEIGHT, (text for page in manifest.pages for text in (page.title, page.description, page.summary))),
        (_SECTION_WEIGHT, (section.title for section in manifest.sections())),
        (_OPENING_WEIGHT, (section.opening for section in manifest.sections())),
        (_OPENING_WEIGHT, (text for section in manifest.sections() for text in (section.about, *section.asks))),
    ]
    weights = _weigh_terms(weighted_texts, language)
    terms = dict(sorted(weights.most_common(_MAX_TERMS), key=lambda pair: pair[0]))
    return CatalogEntry(
        title,
        summary,
        url,
        language,
        len(manifest.pages),
        sum(1 for _ in manifest.sections()),
        shorten(manifest.digest, 100),
        crawled,
        tuple(term for term in name if term not in _GENERIC_TERMS) or tuple(name),
        {term: round(min(weight, _MAX_WEIGHT), 1) for term, weight in terms.items()},
    )


def _weigh_terms(weighted_texts: Iterable[tuple[float, Iterable[str]]], language: str) -> Counter[str]:
    weights: Counter[str] = Counter()
    remaining = _MAX_TOTAL_CHARS
    for weight, texts in weighted_texts:
        for text in texts:
            text = text[: min(remaining, _MAX_TEXT_CHARS)]
            remaining -= len(text)
            for term in _extract_terms(text, language):
                weights[term] += weight  # type: ignore[assignment]  # a Counter accepts fractions
    return weights


def shorten(text: str, max_chars: int) -> str:
    """Return text as a single line without control characters and lone surrogates."""
    return truncate_at_word(to_single_line(text[: 2 * max_chars]), max_chars)


def _extract_terms(text: str, language: str) -> list[str]:
    words = (word for word in parse_words(text, language) if not word.stop)
    return [term for word in words for term in word.terms if len(term) <= _MAX_TERM_CHARS]


def _nav_titles(nav: Iterable[NavEntry]) -> Iterator[str]:
    for entry in nav:
        yield entry.title
        yield from _nav_titles(entry.children)


_TITLE_WEIGHT = 8.0
_URL_WEIGHT = 5.0
_SUMMARY_WEIGHT = 4.0
_NAV_WEIGHT = 2.0
_PAGE_WEIGHT = _SECTION_WEIGHT = 1.0
_OPENING_WEIGHT = 0.3
_MAX_TERMS = 1_000
_MAX_WEIGHT = 100_000.0
_MAX_TOTAL_CHARS = 20_000_000
_MAX_TEXT_CHARS = 2_000
_MAX_TERM_CHARS = 64
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}")
"""The tag of a language: `de`, `zh-Hant-TW`."""
_GENERIC_TERMS = frozenset(_extract_terms("docs documentation doc guide handbook manual", "en"))


SITE_KEY = r"[a-z0-9][a-z0-9._-]{0,99}"
"""Pattern of a site's key."""
_SITE_KEY = re.compile(SITE_KEY)


def is_site_key(text: str) -> bool:
    """Return whether a text can be the key of a site."""
    return _SITE_KEY.fullmatch(text) is not None


def add_namespace(manifest: Manifest, site: str) -> Manifest:
    """Return a manifest with namespaced ids, without rules. Its digest stays, because the texts are the same."""

    def rename(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{site}:{id_}" for id_ in ids)

    def section(entry: SectionEntry) -> SectionEntry:
        return structs.replace(entry, id=f"{site}:{entry.id}", links=rename(entry.links), aliases=rename(entry.aliases))

    def page(entry: PageEntry) -> PageEntry:
        return structs.replace(entry, id=f"{site}:{entry.id}", sections=tuple(map(section, entry.sections)))

    def nav(entry: NavEntry) -> NavEntry:
        own = f"{site}:{entry.id}" if entry.id else entry.id
        return structs.replace(entry, id=own, children=tuple(map(nav, entry.children)))

    pages = tuple(map(page, manifest.pages))
    return structs.replace(manifest, pages=pages, nav=tuple(map(nav, manifest.nav)), rules=())


class SiteNotFoundError(UsageError):
    """A store has no site with this key."""

    def __init__(self, where: str, key: str) -> None:
        """Create the error."""
        super().__init__(f"{where}: no site {key}; `roaming sites {where}` lists them")
        self.key = key


class SiteNotCrawledError(UsageError):
    """A site of a store has never been crawled successfully.

    Attributes:
        public_message: Message for clients, without the store's location and the reason.
    """

    def __init__(self, where: str, record: SiteRecord) -> None:
        """Create the error."""
        failure = f"{record.key} could not be crawled yet"
        reason = shorten(record.error, _MAX_REASON_CHARS) or "no reason is known"
        next_try = format_next_try(record.next_try)
        super().__init__(f"{where}: {failure}: {reason}; {next_try}")
        self.public_message = f"{failure}; {next_try}"


def format_next_try(at: float) -> str:
    """Return when a site is tried again."""
    when = time.strftime("after %Y-%m-%d %H:%M UTC", time.gmtime(at)) if at > time.time() else "by the next crawl"
    return f"tried again {when}"


_MAX_REASON_CHARS = 200
