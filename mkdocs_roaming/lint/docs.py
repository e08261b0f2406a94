"""What the rules look at: a manifest, the text of each page, and a way to the published files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from urllib.parse import unquote

from mkdocs_roaming.languages import code, fold
from mkdocs_roaming.lint.text import PageText, read_page
from mkdocs_roaming.manifest import Manifest, NavEntry, PageEntry
from mkdocs_roaming.page import twin_path
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.section import github_slug

Files = Callable[[str], bytes | None]
"""Gives a published file by its path below the site's root, None where there is none."""


class Docs:
    """A published site as the rules see it.

    `files` is None where a link cannot be judged by what is there: over the network, of a crawl, of a Markdown file.
    """

    def __init__(self, places: Places, texts: Iterable[PageText], files: Files | None = None) -> None:
        self.places = places
        self.texts = tuple(texts)
        built = files is not None and any(files(path) is not None for path in _built(places.manifest.pages))
        self.files = files if built else None  # a crawl leaves no HTML, and not all that its pages link to
        self._anchors: dict[str, frozenset[str] | None] = {}

    @property
    def manifest(self) -> Manifest:
        """The site's manifest."""
        return self.places.manifest

    @cached_property
    def language(self) -> str:
        """The site's language without its region."""
        return code(self.manifest.site.language)

    @cached_property
    def written(self) -> tuple[PageText, ...]:
        """The pages that somebody wrote: not the lists of posts that a blog makes of other pages."""
        return tuple(text for text in self.texts if not _lists(text, self.manifest.site.url))

    @cached_property
    def manuals(self) -> tuple[PageText, ...]:
        """The written pages without change logs: those are long and alike by nature, and nobody writes them again."""
        return tuple(text for text in self.written if not _is_history(text.page))

    def sections(self, texts: Iterable[PageText]) -> Iterator[tuple[PageText, Place]]:
        """Give every section of pages, in their order."""
        for text in texts:
            for at in range(len(text.page.sections)):
                yield text, Place(text.page, at)

    @cached_property
    def by_file(self) -> Mapping[str, PageEntry]:
        """Pages by what a link to them may end in: their path, their Markdown file, its twin."""
        found: dict[str, PageEntry] = {}
        for page in self.manifest.pages:
            for path in (page.path, page.markdown, twin_path(page.path)):
                if path is not None:
                    found.setdefault(path, page)
        return found

    @cached_property
    def by_name(self) -> Mapping[str, list[PageEntry]]:
        """Pages by the last part of their path."""
        found: dict[str, list[PageEntry]] = {}
        for page in self.manifest.pages:
            found.setdefault(name_of(page.path), []).append(page)
        return found

    @cached_property
    def text_of(self) -> Mapping[str, PageText]:
        """The texts by the path of their page."""
        return {text.page.path: text for text in self.texts}

    @cached_property
    def groups(self) -> tuple[tuple[str, tuple[NavEntry, ...]], ...]:
        """The nav's groups with their entries, the nav itself first, by an empty title."""
        found: list[tuple[str, tuple[NavEntry, ...]]] = []

        def walk(title: str, entries: tuple[NavEntry, ...]) -> None:
            if entries:
                found.append((title, entries))
            for entry in entries:
                walk(entry.title, entry.children)

        walk("", self.manifest.nav)
        return tuple(found)

    def exists(self, path: str) -> bool:
        """Tell whether a file or a folder's page is published at a path; True where that cannot be told."""
        if self.files is None:
            return True
        tries = (path or "index.html", f"{path.rstrip('/')}/index.html", f"{path}.html")
        return any(self.files(one) is not None for one in tries)

    def anchors(self, page: PageEntry) -> frozenset[str] | None:
        """Give what a link to a page may name behind `#`, None where that cannot be told.

        Beside sections' anchors that is whatever else has an id in the built page; it is read once, and only for
        pages that a link points into.
        """
        if page.path not in self._anchors:
            self._anchors[page.path] = self._anchors_of(page)
        return self._anchors[page.path]

    def _anchors_of(self, page: PageEntry) -> frozenset[str] | None:
        if not self.manifest.anchors:  # Markdown alone, where anchors are spelt as GitHub spells them
            markdown = self.text_of[page.path].markdown
            return frozenset(github_slug(section.title) for section in page.sections) | _ids(markdown)
        html = self._html(page)
        if html is None:
            return None
        return _ids(html).union(section.anchor for section in page.sections if section.anchor)

    def _html(self, page: PageEntry) -> str | None:
        if self.files is None:
            return None
        data = next((data for path in _built([page]) if (data := self.files(path)) is not None), None)
        return data.decode("utf-8", "replace") if data is not None else None


def docs_of(places: Places, text: Callable[[PageEntry], str], files: Files | None = None) -> Docs:
    """Give a site as the rules see it; `text` gives a page's Markdown."""
    return Docs(places, (read_page(page, text(page)) for page in places.manifest.pages), files)


def _built(pages: Iterable[PageEntry]) -> Iterator[str]:
    """Give where the HTML of pages may be."""
    for page in pages:
        yield from (page.path or "index.html", f"{page.path.rstrip('/')}/index.html".lstrip("/"))


def name_of(path: str) -> str:
    """Give the last part of a page's path, or of its file's, as both have it."""
    return re.sub(r"(?:(?:^|/)index)?\.(?:md|html)$|/$", "", path).rpartition("/")[2]


def is_version(title: str) -> bool:
    """Tell whether a title is a version or a date, as those of change logs are."""
    return _VERSION.match(fold(title).strip()) is not None


def is_identifier(text: PageText, place: Place) -> bool:
    """Tell whether a title is a name of code, which nobody can choose: set or spelt so, or anchored like `a.b`."""
    title, line = place.section.title, text.lines[text.starts[place.at]]
    code = ("`" in line or "<code" in line) and not re.search(r"\w", _CODE_SPAN.sub("", line))
    return code or "." in (place.section.anchor or "") or _CODE_LIKE.search(title) is not None


def _is_history(page: PageEntry) -> bool:
    """Tell whether a page is a change log or release notes, by its title or path or by what its headings are."""
    names = (page.title.strip(), page.path.strip("/").rpartition("/")[2].removesuffix(".html"))
    if any(_HISTORY.fullmatch(fold(name)) for name in names):
        return True
    dated = sum(is_version(section.title) for section in page.sections[1:])
    return dated >= 3 and 2 * dated > len(page.sections) - 1


def _lists(text: PageText, site_url: str) -> bool:
    """Tell whether a page's headings are links to other pages: most of a blog's lists are made so."""
    heads = [text.lines[text.starts[at]] for at, section in enumerate(text.page.sections) if section.level == 2]
    linked = sum(line.startswith("## [") and f"]({site_url}" in line for line in heads)
    return bool(heads) and 2 * linked > len(heads)


def _ids(html: str) -> frozenset[str]:
    return frozenset(unquote((a or b or c).replace("&amp;", "&")) for a, b, c in _ID.findall(html))


_ID = re.compile(r"""\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
_CODE_SPAN = re.compile(r"`[^`]*`|<code.*?</code>")
_CODE_LIKE = re.compile(r"^[.$@_-]|_|\w\.\w|\(\)|^[a-z][a-z0-9]*$|^[A-Z]{3,}$|[a-z][A-Z]|[A-Z]{2}[a-z]")
_VERSION = re.compile(r"\W*(?:version |release |v)?\d+\.\d|\W*(?:19|20)\d\d\b|unreleased|\W*unreleased\W*$")
_HISTORY = re.compile(
    "(?:.* )?release[ _-]?notes?|releases?|(?:.* )?change[ _-]?logs?|changes|(?:version |release )?history|news"
    "|what[’']?s[ -]new"
    "|versionshinweise|anderungen|anderungsprotokoll|neuigkeiten"
    "|notes? de versions?|journal des modifications|nouveautes|notas de (?:la )?version|registro de cambios|novedades"
    "|更新日志|更新日誌|变更日志|发行说明|変更履歴|リリースノート"
)
