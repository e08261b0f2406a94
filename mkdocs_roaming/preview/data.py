"""What the preview shows, as data: pages and their sections, lists, findings, search results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from threading import Lock

import msgspec

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.lint.context import Finding
from mkdocs_roaming.lint.rules import load_rules
from mkdocs_roaming.lint.runner import LintReport
from mkdocs_roaming.manifest.models import LLMS_TXT, OUTLINE_PATH, NavEntry, PageEntry, path_to_url, url_to_path
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.text.markdown import LINE_END
from mkdocs_roaming.text.tokenizer import estimate_tokens

_MAX_RESULTS = 30
_MAX_LISTS = 300
_LINK = re.compile(r"\]\(([^\s()\[\]]{1,2000})\)")
_NESTED_LIST = re.compile(r"(.*/)?llms(-\d+)?\.txt")


class LeftOutData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page that is not published, with the reason; `html` is its file, if there is one."""

    path: str
    reason: str
    source: str = ""
    html: str = ""


class PageSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page in the tree of pages. `html` is its file below the site's folder, empty if there is none."""

    id: str
    path: str
    title: str
    markdown: str
    tokens: int
    sections: int
    html: str = ""
    url: str = ""


class SiteData(msgspec.Struct, frozen=True, omit_defaults=True):
    """The site as a whole. `base` is the URL of the site's HTML, relative to the preview."""

    name: str
    url: str
    language: str
    digest: str
    generator: str
    tokens: int
    outline_tokens: int
    sections: int
    pages: tuple[PageSummary, ...]
    nav: tuple[NavEntry, ...]
    left_out: tuple[LeftOutData, ...]
    base: str = ""
    note: str = ""


class SectionData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A section of a page with its own text; `line` is the number of its first line, counted from 1."""

    id: str
    level: int
    title: str
    tokens: int
    line: int
    text: str
    anchor: str = ""
    opening: str = ""
    aliases: tuple[str, ...] = ()


class PageData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page with its text. `head` is the text above the first section."""

    id: str
    sections: tuple[SectionData, ...]
    head: str = ""
    source: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    fault: str = ""


class FileData(msgspec.Struct, frozen=True):
    """A list that models read."""

    path: str
    text: str
    tokens: int


class LintData(msgspec.Struct, frozen=True):
    """The findings of a site, and why each of the rules that found something matters."""

    score: int
    summary: str
    rules: dict[str, str]
    findings: tuple[Finding, ...]


class SearchHit(msgspec.Struct, frozen=True):
    """A search result."""

    id: str
    page: str
    breadcrumb: tuple[str, ...]
    text: str


class Preview:
    """The data of a published site.

    Args:
        library: The site.
        lint: Returns the findings; it is called when they are shown first.
        html: Returns the HTML file of a page's path, below the site's folder; empty if there is none.
        left_out: The pages that are not published.
        base: URL of the site's HTML, relative to the preview; empty if there is none.
        note: How the site was made, in a sentence.
    """

    def __init__(
        self,
        library: Library,
        *,
        lint: Callable[[], LintReport],
        html: Callable[[str], str] = lambda path: "",
        left_out: Iterable[LeftOut] = (),
        base: str = "",
        note: str = "",
    ) -> None:
        self.library = library
        self._lint, self._html, self._left_out = lint, html, tuple(left_out)
        self._base, self._note = base, note
        self._lock = Lock()

    # Pages

    def site(self) -> SiteData:
        """Return the site."""
        manifest = self.library.manifest
        return SiteData(
            name=manifest.site.name,
            url=manifest.site.url,
            language=manifest.site.language,
            digest=manifest.digest,
            generator=manifest.generator,
            tokens=manifest.tokens,
            outline_tokens=estimate_tokens(self._outline),
            sections=len(self.library.sections),
            pages=tuple(map(self._summarize, manifest.pages)),
            nav=manifest.nav,
            left_out=tuple(
                LeftOutData(page.path, page.reason, page.source or "", self._html(page.path)) for page in self._left_out
            ),
            base=self._base,
            note=self._note,
        )

    def _summarize(self, page: PageEntry) -> PageSummary:
        url = page.url or path_to_url(self.library.manifest.site.url, page.path)
        html = self._html(page.path)
        return PageSummary(
            page.id, page.path, page.title, page.markdown, page.tokens, len(page.sections), html, "" if html else url
        )

    def page(self, id_: str) -> PageData | None:
        """Return a page by its id, None if there is none. A file that cannot be read is a fault of the page."""
        found = self.library.sections.get(id_)
        if found is None or found.page.id != id_:
            return None
        page, data, fault = found.page, b"", ""
        try:
            data = self.library.file(page.markdown)
        except LibraryError as error:
            fault = str(error)
        return PageData(
            page.id,
            tuple(_iter_sections(page, data)),
            head=_decode(data[: page.sections[0].start]),
            source=page.source or "",
            description=page.description,
            tags=page.tags,
            fault=fault,
        )

    # Lists

    @cached_property
    def _outline(self) -> str:
        try:
            return _decode(self.library.file(OUTLINE_PATH))
        except LibraryError:
            return self.library.outline()

    def files(self) -> list[FileData]:
        """Return the outline, llms.txt and the lists that it links to."""
        texts = {OUTLINE_PATH: self._outline}
        waiting = [LLMS_TXT]
        while waiting and len(texts) < _MAX_LISTS:
            path = waiting.pop(0)
            try:
                texts[path] = _decode(self.library.file(path))
            except LibraryError:
                continue
            for url in dict.fromkeys(_LINK.findall(texts[path])):
                target = url_to_path(self.library.manifest.site.url, url) or ""
                if _NESTED_LIST.fullmatch(target) and target not in texts and target not in waiting:
                    waiting.append(target)
        return [FileData(path, text, estimate_tokens(text)) for path, text in texts.items()]

    # Findings

    def lint(self) -> LintData:
        """Return the findings of the linter."""
        with self._lock:
            report = self._report
        rules = load_rules()
        why = {rule: rules[rule].summary for rule in {finding.rule for finding in report.findings}}
        return LintData(report.score, str(report), why, report.findings)

    @cached_property
    def _report(self) -> LintReport:
        return self._lint()

    # Search

    def search(self, query: str) -> list[SearchHit]:
        """Return what `roaming search` finds, best first."""
        sections = self.library.sections
        hits = self.library.search(query, limit=_MAX_RESULTS) if query.strip() else []
        return [
            SearchHit(hit.id, ref.page.id, hit.breadcrumb, hit.snippet)
            for hit in hits
            if (ref := sections.get(hit.id)) is not None
        ]

    def sections(self) -> dict[str, object]:
        """Return the ids of all pages, and the ids and sizes of their sections."""
        pages = [
            {"id": page.id, "sections": [{"id": one.id, "tokens": one.tokens} for one in page.sections]}
            for page in self.library.manifest.pages
        ]
        return {"pages": pages}


def _iter_sections(page: PageEntry, data: bytes) -> Iterator[SectionData]:
    line, offset = 1, 0
    for section in page.sections:
        line += len(LINE_END.findall(_decode(data[offset : section.start])))
        offset = section.start
        yield SectionData(
            section.id,
            section.level,
            section.title,
            section.tokens,
            line,
            _decode(data[section.start : section.end]),
            section.anchor or "",
            section.opening,
            section.aliases,
        )


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
