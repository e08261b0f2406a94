"""A page's Markdown line by line: which lines are prose, which are code, and to which section each belongs."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, short_markdown_path
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.text.languages import base_language, fold
from mkdocs_roaming.text.markdown import LINE_END


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's Markdown, read. `prose` has a line for each of `lines`: empty where code stands, code spans blanked."""

    page: PageEntry
    markdown: str
    lines: tuple[str, ...]
    prose: tuple[str, ...]
    starts: tuple[int, ...]
    """The line that each section begins with."""
    open_fence: int | None
    """The line of a fence that nothing ends."""
    silenced: frozenset[str]
    """The rules that a comment on the page switches off; `*` is all of them."""

    def section_at(self, line: int) -> int:
        """Give the position of the section that a line belongs to; the page's own for what stands above the title."""
        return max(0, bisect_right(self.starts, line) - 1)

    def own_lines(self, at: int) -> range:
        """Give the lines of a section's own text, below its heading."""
        end = self.starts[at + 1] if at + 1 < len(self.starts) else len(self.lines)
        return range(min(self.starts[at] + 1, end), end)


def parse_page_text(page: PageEntry, markdown: str) -> PageText:
    """Read a page's Markdown."""
    lines = tuple(LINE_END.split(markdown))
    prose, fence = _prose(lines)
    return PageText(page, markdown, lines, prose, _starts(page, markdown), fence, _silenced(prose))


def find_links(line: str) -> Iterator[str]:
    """Give the addresses that a line of prose links to."""
    for found in _LINK.finditer(line):
        yield next(filter(None, found.groups()), "")


def _starts(page: PageEntry, markdown: str) -> tuple[int, ...]:
    data = markdown.encode("utf-8", "surrogatepass")
    starts, line, at = [], 0, 0
    carriage = b"\r" in data
    for section in page.sections:
        piece = data[at : section.start]
        line += len(LINE_END.findall(piece.decode("utf-8", "replace"))) if carriage else piece.count(b"\n")
        starts.append(line)
        at = section.start
    return tuple(starts)


def _prose(lines: tuple[str, ...]) -> tuple[tuple[str, ...], int | None]:
    """Blank what is code; give the line of a fence that is still open at the end."""
    prose: list[str] = []
    fence, opened, quoted = "", 0, False
    blank, listed = True, False
    for number, line in enumerate(lines):
        if fence and quoted and not line.lstrip().startswith(">"):
            fence = ""  # the quote ended, and the fence with it
        if fence:
            bare = line.strip(" \t>") if quoted else line.strip(" \t")
            if len(bare) >= len(fence) and bare == fence[0] * len(bare):
                fence = ""
            prose.append("")
            continue
        if ("```" in line or "~~~" in line) and (found := _FENCE.match(line)):
            fence, opened, quoted = found[2], number, ">" in found[1]
            prose.append("")
            continue
        indented = line.startswith(("    ", "\t"))
        if line and not line.isspace():
            if indented and blank and not listed:
                prose.append("")
                continue
            listed = listed if indented or line[0] == " " else bool(_ITEM.match(line))
        blank = not line or line.isspace() or (blank and indented)
        prose.append(_SPAN.sub(_blanked, line) if "`" in line else line)
    return tuple(prose), opened if fence else None


def _blanked(found: re.Match[str]) -> str:
    return found[1] + " " * (len(found[0]) - 2 * len(found[1])) + found[1]


def _silenced(prose: tuple[str, ...]) -> frozenset[str]:
    """Read `<!-- roaming-lint: off rule, rule -->`; without a name it means all rules."""
    names: set[str] = set()
    for line in prose:
        if "roaming-lint" in line:
            for found in _SWITCH.findall(line):
                names.update(re.findall(r"[a-z][a-z-]*[a-z]", found) or "*")
    return frozenset(names)


_FENCE = re.compile(r"((?:[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`{3,}(?=[^`]*$)|~{3,})")


_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]|\[\^[^\]]+\]:")


_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(?:.+?)(?<!`)\1(?!`)")


_LINK = re.compile(
    r"(?<!!)\[(?:[^\[\]]|\[[^\[\]]*\])*+\]\(\s*(?:<([^<>\s]+)>|([^()<>\s]+(?:\([^()\s]*\)[^()\s]*)*))"
    r"""|<a\s[^<>]*?href=["']([^"'<>]+)["']|<(https?://[^>\s]+)>"""
)


_SWITCH = re.compile(r"<!--\s*roaming-lint:\s*off\b([^<>]*?)-->")


# MERGED mkdocs_roaming.lint.docs:
# What the rules look at: a manifest, the text of each page, and a way to the published files.


Files = Callable[[str], bytes | None]


"""Gives a published file by its path below the site's root, None where there is none."""


class Docs:
    """A published site as the rules see it.

    `files` is None where a link cannot be judged by what is there: over the network, of a crawl, of a Markdown file.
    """

    def __init__(self, places: SectionIndex, texts: Iterable[PageText], files: Files | None = None) -> None:
        self.sections = places
        self.texts = tuple(texts)
        built = files is not None and any(files(path) is not None for path in _built(places.manifest.pages))
        self.files = files if built else None  # a crawl leaves no HTML, and not all that its pages link to
        self._anchors: dict[str, frozenset[str] | None] = {}

    @property
    def manifest(self) -> Manifest:
        """The site's manifest."""
        return self.sections.manifest

    @cached_property
    def language(self) -> str:
        """The site's language without its region."""
        return base_language(self.manifest.site.language)

    @cached_property
    def written(self) -> tuple[PageText, ...]:
        """The pages that somebody wrote: not the lists of posts that a blog makes of other pages."""
        return tuple(text for text in self.texts if not _lists(text, self.manifest.site.url))

    @cached_property
    def manuals(self) -> tuple[PageText, ...]:
        """The written pages without change logs: those are long and alike by nature, and nobody writes them again."""
        return tuple(text for text in self.written if not _is_history(text.page))

    def iter_sections(self, texts: Iterable[PageText]) -> Iterator[tuple[PageText, SectionRef]]:
        """Give every section of pages, in their order."""
        for text in texts:
            for at in range(len(text.page.sections)):
                yield text, SectionRef(text.page, at)

    @cached_property
    def by_file(self) -> Mapping[str, PageEntry]:
        """Pages by what a link to them may end in: their path, their Markdown file, its twin."""
        found: dict[str, PageEntry] = {}
        for page in self.manifest.pages:
            for path in (page.path, page.markdown, short_markdown_path(page.path)):
                if path is not None:
                    found.setdefault(path, page)
        return found

    @cached_property
    def by_name(self) -> Mapping[str, list[PageEntry]]:
        """Pages by the last part of their path."""
        found: dict[str, list[PageEntry]] = {}
        for page in self.manifest.pages:
            found.setdefault(base_name(page.path), []).append(page)
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


def docs_of(places: SectionIndex, text: Callable[[PageEntry], str], files: Files | None = None) -> Docs:
    """Give a site as the rules see it; `text` gives a page's Markdown."""
    return Docs(places, (parse_page_text(page, text(page)) for page in places.manifest.pages), files)


def _built(pages: Iterable[PageEntry]) -> Iterator[str]:
    """Give where the HTML of pages may be."""
    for page in pages:
        yield from (page.path or "index.html", f"{page.path.rstrip('/')}/index.html".lstrip("/"))


def base_name(path: str) -> str:
    """Give the last part of a page's path, or of its file's, as both have it."""
    return re.sub(r"(?:(?:^|/)index)?\.(?:md|html)$|/$", "", path).rpartition("/")[2]


def is_version(title: str) -> bool:
    """Tell whether a title is a version or a date, as those of change logs are."""
    return _VERSION.match(fold(title).strip()) is not None


def is_identifier(text: PageText, place: SectionRef) -> bool:
    """Tell whether a title is a name of code, which nobody can choose: set or spelt so, or anchored like `a.b`."""
    title, line = place.section.title, text.lines[text.starts[place.position]]
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
