"""What a store knows of one site: a small file, `.fleet/sites/<key>.json`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from mkdocs_roaming.manifest.models import Manifest, NavEntry
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import parse_words
from roaming_fleet.buckets.base import BlobNotFoundError, Bucket

FLEET_DIR = ".fleet"
RECORDS_DIR = f"{FLEET_DIR}/sites"
HEAD_PATH = f"{FLEET_DIR}/catalogue/head.json"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A site as its last good copy is. `crawled` is when that was last known to be up to date.

    `terms` are the words that it is found by, and what each counts; `names` those of its name.
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
    terms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """What became of a site at last. `state` is `done` or `failed`; `entry` stays where a later crawl fails.

    `config` is the digest of what was asked for, `run` the crawl of many sites that this was a part of, `at` its time.
    `result` is what that brought: `new`, `changed`, `same` or `failed`; `published` is the run of the last good copy,
    `home` the address that `url` led to then.
    `kept` pages stand as they were, since they failed, for the reason `error`, or a limit left them out.
    A site that failed `tries` times in a row, in whole or in part, is not asked again before `next_try`.
    """

    key: str
    url: str
    state: str
    config: str
    run: str
    at: float
    result: str = ""
    published: str = ""
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

    @property
    def pages_changed(self) -> int:
        """How many pages are not what they were."""
        return self.new + self.changed + self.gone


def read_record(bucket: Bucket, key: str) -> SiteRecord | None:
    """Give what a store knows of a site; None where that is nothing."""
    try:
        return replace(parse_record(json.loads(bucket.get(_path(key)))), key=key)  # its file may have been renamed
    except (BlobNotFoundError, ValueError):
        return None  # a broken one is made anew


def write_record(bucket: Bucket, record: SiteRecord) -> None:
    """Write what is known of a site now."""
    bucket.put(_path(record.key), json.dumps(asdict(record), ensure_ascii=False).encode("utf-8", "surrogatepass"))


def parse_record(data: dict[str, Any]) -> SiteRecord:
    """Read a record; what is not known of it is ignored. Raises ValueError where it is none."""
    try:
        own = {name: value for name, value in data.items() if name in _RECORD}
        if own.get("entry") is not None:
            entry = {name: value for name, value in own["entry"].items() if name in _ENTRY}
            own["entry"] = CatalogEntry(**{**entry, "names": tuple(entry.get("names", ()))})
        return SiteRecord(**own)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"no record of a site: {error}") from None


def make_catalog_entry(key: str, manifest: Manifest, crawled: float) -> CatalogEntry:
    """Give what a site is found by: its name and address, its summary, the titles of its nav, pages and sections.

    Its manifest may be somebody else's: of every text so much is taken as an honest one has.
    """
    site = manifest.site
    title, summary, url = _said(site.name, 200), _said(site.description, 400), _said(site.url, 2_000)
    language = site.language if re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}", site.language) else "en"
    name = list(dict.fromkeys(_terms(title, language)))
    counted: Counter[str] = Counter()
    host, _, path = url.partition("://")[2].partition("/")
    said: list[tuple[float, Iterable[str]]] = [
        (_TITLE, [title]),
        (_ADDRESS, [f"{host.partition(':')[0]} {path}".replace("/", " ").replace(".", " "), key]),
        (_SUMMARY, [site.description]),
        (_NAV, _nav_titles(manifest.nav)),
        (_PAGE, (text for page in manifest.pages for text in (page.title, page.description))),
        (_SECTION, (section.title for section in manifest.sections())),
        (_KEYWORD, (" / ".join(section.keywords[:_MOST_KEYWORDS]) for section in manifest.sections())),
    ]
    left = _MOST_TEXT
    for weight, texts in said:
        for text in texts:
            taken = text[: min(left, _LONGEST)]
            left -= len(taken)
            for term in _terms(taken, language):
                counted[term] += weight  # type: ignore[assignment]  # a Counter counts in fractions, too
    terms = dict(sorted(counted.most_common(_MOST_TERMS), key=lambda pair: pair[0]))
    return CatalogEntry(
        title,
        summary,
        url,
        language,
        len(manifest.pages),
        sum(1 for _ in manifest.sections()),
        _said(manifest.digest, 100),
        crawled,
        tuple(term for term in name if term not in _GENERIC) or tuple(name),
        {term: round(min(weight, _MOST_WEIGHT), 1) for term, weight in terms.items()},
    )


def _said(text: str, longest: int) -> str:
    """Give a text as it may stand on a line, cut where it is long."""
    return truncate_at_word(to_single_line(text[: 2 * longest]), longest)


def _terms(text: str, language: str) -> list[str]:
    words = (word for word in parse_words(text, language) if not word.stop)
    return [term for word in words for term in word.terms if len(term) <= _LONGEST_TERM]


def _nav_titles(nav: Iterable[NavEntry]) -> Iterator[str]:
    for entry in nav:
        yield entry.title
        yield from _nav_titles(entry.children)


def _path(key: str) -> str:
    return f"{RECORDS_DIR}/{key}.json"


_RECORD = {each.name for each in fields(SiteRecord)}
_ENTRY = {each.name for each in fields(CatalogEntry)}
_TITLE, _ADDRESS, _SUMMARY, _NAV, _PAGE, _SECTION, _KEYWORD = 8.0, 5.0, 4.0, 2.0, 1.0, 1.0, 1.0
_MOST_TERMS = 1_000
_MOST_WEIGHT = 100_000.0
_MOST_TEXT = 20_000_000
_MOST_KEYWORDS = 32
_LONGEST = 2_000
_LONGEST_TERM = 64
_GENERIC = frozenset(_terms("docs documentation doc guide handbook manual", "en"))
