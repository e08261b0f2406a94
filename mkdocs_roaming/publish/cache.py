"""What was converted before: one JSON file a page, safe to delete.

A page is taken from here only if its article, its source, the converter's version and every link in it come out the
same; so a page added elsewhere costs nothing but the pages that link to it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from mkdocs_roaming import __version__
from mkdocs_roaming.manifest.models import Page
from mkdocs_roaming.manifest.sections import Section
from mkdocs_roaming.publish.files import write_atomically

CONVERTER_VERSION = "4"
"""Changes whenever the same HTML gives other Markdown: what was converted before is converted again then."""

KEYWORDS_VERSION = "3"
"""Changes whenever the same sections give other keywords."""

_FORMAT = "1"
_KEYWORDS = "keywords.json"


@dataclass(frozen=True, slots=True)
class ConvertedPage:
    """A page's Markdown file, its sections, and what each of its links became."""

    markdown: str
    sections: tuple[Section, ...]
    links: dict[str, str]
    images: dict[str, str]


class ConversionCache:
    """Conversions of earlier builds, in a folder; None keeps nothing.

    With `write_through` a conversion is written as soon as it is made, not held in memory until it is sure that its page is
    published: for pages that nobody hides.
    """

    def __init__(self, folder: Path | None, *, write_through: bool = False) -> None:
        self._folder, self._write_through = folder, write_through
        self._new: dict[str, tuple[str, ConvertedPage]] = {}
        self.reused = 0

    def get(
        self, page: Page, pointer: str, link: Callable[[str], str], image: Callable[[str], str]
    ) -> ConvertedPage | None:
        """Give what the page was converted to, if it would come out the same now."""
        if self._folder is None:
            return None
        try:
            data = json.loads((self._folder / _name(page.path)).read_bytes())
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

    def put(self, page: Page, pointer: str, converted: ConvertedPage) -> None:
        """Remember a conversion; it is written by `keep`, when it is sure that the page is published."""
        if self._folder is None:
            return
        self._new[page.path] = (_key(page, pointer), converted)
        if self._write_through:
            with suppress(OSError):
                self._write(page.path)

    def file(self, name: str) -> Path | None:
        """Give where something else may be kept from build to build; None where nothing is."""
        return self._folder / name if self._folder else None

    def keywords(self, texts: Iterable[str], language: str, *, shown: Iterable[str]) -> list[tuple[str, ...]]:
        """Give the sections' keywords: as found last time where all texts are the same.

        Both are gone through more than once.
        """
        if self._folder is None:
            return _keywords(texts, language, shown=shown)
        digest = hashlib.sha256("\0".join((_FORMAT, __version__, KEYWORDS_VERSION, language)).encode())
        for text in chain(texts, shown):
            digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
        key = digest.hexdigest()
        file = self._folder / _KEYWORDS
        try:
            data = json.loads(file.read_bytes())
            if data["key"] == key:
                return [tuple(row) for row in data["keywords"]]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        found = _keywords(texts, language, shown=shown, aside=self._folder if self._write_through else None)
        text = json.dumps({"key": key, "keywords": found}, ensure_ascii=False)
        with suppress(OSError):
            write_atomically(file, text.encode("utf-8", "surrogatepass"))
        return found

    def commit(self, paths: Collection[str]) -> None:
        """Write the conversions of the pages that are published, by their paths, and remove all others.

        A page that was left out late, since it is encrypted for one, must not stay here in the clear. A folder that
        cannot be written to keeps nothing.
        """
        if self._folder is None:
            return
        kept = {_KEYWORDS, *map(_name, paths)} if paths else set()
        try:
            for path in paths:
                if path in self._new:
                    self._write(path)
            for file in self._folder.glob("*.json"):
                if file.name not in kept:
                    file.unlink(missing_ok=True)
        except OSError:
            return

    def _write(self, path: str) -> None:
        assert self._folder is not None
        text = _written(*self._new.pop(path))
        write_atomically(self._folder / _name(path), text.encode("utf-8", "surrogatepass"))


def _keywords(
    texts: Iterable[str], language: str, *, shown: Iterable[str], aside: Path | None = None
) -> list[tuple[str, ...]]:
    from mkdocs_roaming.text.keywords import extract_keywords  # needless where nothing changed

    return extract_keywords(texts, language, shown=shown, aside=aside)


def _name(path: str) -> str:
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:20] + ".json"


def _key(page: Page, pointer: str) -> str:
    parts = [_FORMAT, __version__, CONVERTER_VERSION, pointer, page.title, page.article, page.source_text or ""]
    if page.markdown is not None:
        parts += [page.markdown, repr(page.headings)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


_FIELDS = tuple(field.name for field in dataclasses.fields(Section))


def _written(key: str, converted: ConvertedPage) -> str:
    data = {
        "key": key,
        "markdown": converted.markdown,
        "sections": [[getattr(section, name) for name in _FIELDS] for section in converted.sections],
        "links": converted.links,
        "images": converted.images,
    }
    return json.dumps(data, ensure_ascii=False)


def _read(data: Any, key: str) -> ConvertedPage | None:
    try:
        if data["key"] != key:
            return None
        sections = [Section(**dict(zip(_FIELDS, section, strict=True))) for section in data["sections"]]
        sections = [replace(section, targets=tuple(section.targets)) for section in sections]
        return ConvertedPage(data["markdown"], tuple(sections), data["links"], data["images"])
    except (KeyError, TypeError, ValueError):
        return None


def project_cache_folder(beside: Path) -> Path:
    """Give the folder that a project's conversions are kept in."""
    return beside.absolute() / ".cache" / "roaming"
