"""The index of the widget's finder: what a browser needs of the manifest to find and open sections.

It is a file of the widget, not an interface: its format may change with each version. Clients read the manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import count
from typing import Any

import msgspec

from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry
from mkdocs_roaming.text.languages import NOT_LATIN, base_language
from mkdocs_roaming.text.tokenizer import extract_terms

INDEX_PATH = "roaming/finder.json"
MAX_SECTIONS = 10_000
"""Maximum number of sections that a browser searches; of larger sites the index has only the number."""

_VERSION = 1
_VERSION_WITH_ASKS = 2  # a script of an earlier build in a browser's cache does not know the field
_DIGEST_CHARS = len("sha256:") + 16  # notices changed files; it is no protection against forged ones


def render_finder_index(manifest: Manifest) -> bytes:
    """Return the index as JSON: pages with their sections, and the places of each term.

    A place is `4 * section + field` with the fields title (0), titles above (1), opening (2), and the texts of a file
    of descriptions (3), which are not in the index themselves. The places of a term are in order, and each but the
    first is stored as the difference from the one before.
    """
    site = manifest.site
    found = sum(len(page.sections) for page in manifest.pages)
    has_asks = any(section.asks or section.about for section in manifest.sections())
    version = _VERSION_WITH_ASKS if has_asks else _VERSION
    index: dict[str, Any] = {"version": version, "digest": manifest.digest, "count": found}
    index["site"] = {"name": site.name, "url": site.url, "language": site.language}
    if found <= MAX_SECTIONS:
        above = dict(_iter_titles_above(manifest.nav, ()))
        index["pages"] = [_describe_page(page, above.get(page.path, ())) for page in manifest.pages]
        index["terms"] = _find_places(manifest, above)
    return msgspec.json.encode(index) + b"\n"


def _iter_titles_above(items: Iterable[NavEntry], titles: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for item in items:
        if item.page is not None:
            yield item.page, titles
        yield from _iter_titles_above(item.children, (*titles, item.title))


def _describe_page(page: PageEntry, above: tuple[str, ...]) -> dict[str, Any]:
    values = {
        "path": page.path,
        "markdown": page.markdown,
        "digest": page.digest[:_DIGEST_CHARS],
        "bytes": page.bytes,
        "end": page.sections[-1].end,
        "above": above,
        "source": page.source,
        "tags": page.tags,
        "url": page.url,
        "sections": [_describe_section(section) for section in page.sections],
    }
    return {name: value for name, value in values.items() if value not in (None, ())}


def _describe_section(section: SectionEntry) -> tuple[object, ...]:
    """Return the values of a section in the order that `roaming-finder.js` expects."""
    one = section
    return one.id, one.level, one.title, one.start, one.anchor or "", one.opening, one.digest, one.tokens


def _find_places(manifest: Manifest, above: dict[str, tuple[str, ...]]) -> dict[str, list[int]]:
    find_terms = lru_cache(2_000)(partial(_find_terms, manifest.site.language))  # titles above are repeated
    places: dict[str, list[int]] = {}
    last: dict[str, int] = {}
    numbers = count()
    for page in manifest.pages:
        opened: list[SectionEntry] = []
        for section in page.sections:
            while len(opened) > 1 and opened[-1].level >= section.level:
                opened.pop()
            titles = "\n".join((*above.get(page.path, ()), *(one.title for one in opened)))
            opened.append(section)
            number = next(numbers) * 4
            asks = "\n".join((*section.asks, section.about))
            for field, text in enumerate((section.title, titles, section.opening, asks)):
                for term in find_terms(text):
                    places.setdefault(term, []).append(number + field - last.get(term, 0))
                    last[term] = number + field
    return dict(sorted(places.items()))


def _find_terms(language: str, text: str) -> frozenset[str]:
    """Return the terms of a text as the browser reads it: it stems only English."""
    code = base_language(language)
    if code == "fr":
        text = _ELISION.sub("", text)
    return frozenset(extract_terms(text, "en" if code == "en" else "th" if code in NOT_LATIN else "xx"))


_ELISION = re.compile(r"(?<!\w)(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’](?=\w)", re.IGNORECASE)
