"""What was converted before: one JSON file a page, safe to delete.

A page is taken from here only if its article, its source, the converter's version and every link in it come out the
same; so a page added elsewhere costs nothing but the pages that link to it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mkdocs_roaming import __version__
from mkdocs_roaming.page import Page
from mkdocs_roaming.publish.files import write_atomically
from mkdocs_roaming.section import Section

CONVERTER_VERSION = "3"
"""Changes whenever the same HTML gives other Markdown: what was converted before is converted again then."""

KEYWORDS_VERSION = "2"
"""Changes whenever the same sections give other keywords."""

_FORMAT = "1"
_KEYWORDS = "keywords.json"


@dataclass(frozen=True, slots=True)
class Converted:
    """A page's Markdown file, its sections, and what each of its links became."""

    markdown: str
    sections: tuple[Section, ...]
    links: dict[str, str]
    images: dict[str, str]


class Cache:
    """Conversions of earlier builds, in a folder; None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._new: dict[str, tuple[str, Converted]] = {}
        self.reused = 0

    def get(
        self, page: Page, pointer: str, link: Callable[[str], str], image: Callable[[str], str]
    ) -> Converted | None:
        """Give what the page was converted to, if it would come out the same now."""
        if self._folder is None:
            return None
        try:
            data = json.loads((self._folder / _name(page)).read_bytes())
        except (OSError, ValueError):
            return None
        found = _read(data, _key(page, pointer))
        if found is None:
            return None
        if any(link(href) != url for href, url in found.links.items()):
            return None
        if any(image(src) != url for src, url in found.images.items()):
            return None
        self.reused += 1
        self._new.pop(page.path, None)  # what came before, and may be hidden now, is not kept
        return found

    def put(self, page: Page, pointer: str, converted: Converted) -> None:
        """Remember a conversion; it is written by `keep`, when it is sure that the page is published."""
        if self._folder is not None:
            self._new[page.path] = (_key(page, pointer), converted)

    def keywords(self, texts: Sequence[str], language: str, *, shown: Sequence[str]) -> list[tuple[str, ...]]:
        """Give the sections' keywords: as found last time where all texts are the same."""
        if self._folder is None:
            return _keywords(texts, language, shown=shown)
        parts = (_FORMAT, __version__, KEYWORDS_VERSION, language, *texts, *shown)
        key = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
        file = self._folder / _KEYWORDS
        try:
            data = json.loads(file.read_bytes())
            if data["key"] == key:
                return [tuple(row) for row in data["keywords"]]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        found = _keywords(texts, language, shown=shown)
        text = json.dumps({"key": key, "keywords": found}, ensure_ascii=False)
        with suppress(OSError):
            write_atomically(file, text.encode("utf-8", "surrogatepass"))
        return found

    def keep(self, pages: Collection[Page]) -> None:
        """Write the conversions of the pages that are published, and remove all others.

        A page that was left out late, since it is encrypted for one, must not stay here in the clear. A folder that
        cannot be written to keeps nothing.
        """
        if self._folder is None:
            return
        kept = {_KEYWORDS, *(_name(page) for page in pages)} if pages else set()
        try:
            for page in pages:
                if page.path in self._new:
                    text = _written(*self._new[page.path])
                    write_atomically(self._folder / _name(page), text.encode("utf-8", "surrogatepass"))
            for file in self._folder.glob("*.json"):
                if file.name not in kept:
                    file.unlink(missing_ok=True)
        except OSError:
            return


def _keywords(texts: Sequence[str], language: str, *, shown: Sequence[str]) -> list[tuple[str, ...]]:
    from mkdocs_roaming.keywords import keywords  # needless where nothing changed

    return keywords(texts, language, shown=shown)


def _name(page: Page) -> str:
    return hashlib.sha256(page.path.encode("utf-8", "surrogatepass")).hexdigest()[:20] + ".json"


def _key(page: Page, pointer: str) -> str:
    parts = [_FORMAT, __version__, CONVERTER_VERSION, pointer, page.title, page.article, page.source_text or ""]
    if page.markdown is not None:
        parts += [page.markdown, repr(page.headings)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


_FIELDS = tuple(field.name for field in dataclasses.fields(Section))


def _written(key: str, converted: Converted) -> str:
    data = {
        "key": key,
        "markdown": converted.markdown,
        "sections": [[getattr(section, name) for name in _FIELDS] for section in converted.sections],
        "links": converted.links,
        "images": converted.images,
    }
    return json.dumps(data, ensure_ascii=False)


def _read(data: Any, key: str) -> Converted | None:
    try:
        if data["key"] != key:
            return None
        sections = [Section(**dict(zip(_FIELDS, section, strict=True))) for section in data["sections"]]
        sections = [replace(section, targets=tuple(section.targets)) for section in sections]
        return Converted(data["markdown"], tuple(sections), data["links"], data["images"])
    except (KeyError, TypeError, ValueError):
        return None


def cache_folder(beside: Path) -> Path:
    """Give the folder that a project's conversions are kept in."""
    return beside.absolute() / ".cache" / "roaming"
