"""Validate a published site: manifest, digests, slices, ids, listings, and every link within the site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote, urljoin

from lxml import etree

from mkdocs_roaming.embeddings.store import VectorsError, decode_vectors
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.io import MANIFEST_PATH, VECTORS_PATH, validate_manifest
from mkdocs_roaming.manifest.models import (
    LLMS_FULL,
    LLMS_TXT,
    OUTLINE_PATH,
    PageEntry,
    iter_nav,
    join_url,
    path_to_url,
    short_markdown_path,
    url_to_path,
)
from mkdocs_roaming.manifest.page_kinds import find_listing_pages
from mkdocs_roaming.manifest.sections import file_digest, split_sections
from mkdocs_roaming.text.blocks import load_parser
from mkdocs_roaming.text.markdown import pluralize

_MAX_LISTING_CHARS = 50_000
"""Upper limit of llms.txt, of each list that it links to, and of the outline: what agents read at once."""

_FOOTNOTE = re.compile(r"^(\s*)\[\^", re.MULTILINE)
"""The beginning of a footnote, `[^1]: Word.`: CommonMark has none, and would parse it as a link definition."""


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Result of a validation.

    Attributes:
        faults: Violations of the format.
        notes: Links within the site that lead to no page or section. Those of a copy may lead to other files of the
            original site.
    """

    pages: int
    sections: int
    links: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """Return a summary in one line."""
        faults = pluralize(len(self.faults), "fault") if self.faults else "no faults"
        notes = f", {pluralize(len(self.notes), 'broken link')} within the site" if self.notes else ""
        return f"{self.pages} pages, {self.sections} sections, {self.links} links checked: {faults}{notes}"


def validate_site(
    library: Library, start_progress: Callable[[int], Callable[[], None]] = lambda count: lambda: None
) -> ValidationReport:
    """Validate a published site.

    Args:
        library: Site to validate.
        start_progress: Called with the number of pages; returns a function that is called after each page.
    """
    validator = _Validator(library)
    pages = library.manifest.pages
    advance = start_progress(len(pages))
    faults = [*validator.check_manifest()]
    for page in pages:
        faults += validator.check_page(page)
        advance()
    faults += validator.check_llms_full()
    faults += validator.check_vectors()
    faults += validator.check_llms_txt()
    faults += validator.check_section_files()
    notes = tuple(dict.fromkeys(validator.notes))
    return ValidationReport(len(pages), len(library.sections), validator.links, tuple(faults), notes)


class _Validator:
    """Finds the faults of a site, with one method per kind of file, and notes links that lead nowhere."""

    def __init__(self, library: Library) -> None:
        self.notes: list[str] = []
        self.links = 0
        self._library = library
        self._manifest = library.manifest
        self._site_url = library.manifest.site.url
        self._anchors: dict[str, set[str]] = {}
        self._pages_by_file: dict[str, PageEntry] = {}
        for page in self._manifest.pages:
            self._pages_by_file[page.markdown] = page
            self._pages_by_file.setdefault(short_markdown_path(page.path) or page.markdown, page)

    def _read(self, path: str) -> bytes:
        """Return a file; nothing if there is none."""
        with suppress(LibraryError):
            return self._library.file(path)
        return b""

    def _read_text(self, path: str) -> str:
        return self._read(path).decode("utf-8", "replace")

    def _read_html(self, path: str) -> str:
        return self._read_text(path or "index.html") or self._read_text(path.rstrip("/") + "/index.html")

    def check_manifest(self) -> Iterator[str]:
        """Yield violations of the schema, and ids that are used twice or lead nowhere."""
        manifest = self._manifest
        for fault in validate_manifest(self._library.file(MANIFEST_PATH)):
            yield f"{MANIFEST_PATH}: {fault}"
        ids = Counter(section.id for section in manifest.sections())
        page_ids = {page.path: page.id for page in manifest.pages}
        for entry in iter_nav(manifest.nav):
            if entry.page is None and entry.id:
                ids[entry.id] += 1
            elif entry.page is not None and page_ids.get(entry.page) != entry.id:
                yield f"nav “{entry.title}”: no page {entry.page!r} with id {entry.id}"
        for id_, count in ids.items():
            if count > 1:
                yield f"id {id_}: used {count} times"
        for section in manifest.sections():
            for alias in section.aliases:
                if alias in ids:
                    yield f"section {section.id}: alias {alias} is the id of a section"
            for link in (*section.links, *section.cites):
                if link not in ids:
                    yield f"section {section.id}: links to {link}, which is no section"
        for number, rule in enumerate(manifest.rules, 1):
            for id_ in rule.open:
                if id_ not in ids:
                    yield f"rule {rule.name or number}: opens {id_}, which is no section"

    # Pages

    def check_page(self, page: PageEntry) -> Iterator[str]:
        """Yield what is wrong with the Markdown of a page, its slices and links."""
        data = self._read(page.markdown)
        if not data:
            yield f"{page.markdown}: cannot be read"
            return
        if file_digest(data) != page.digest or len(data) != page.bytes:
            yield f"{page.markdown}: does not match its digest"
        copy = short_markdown_path(page.path)
        if copy and self._pages_by_file[copy] is page and self._read(copy) not in (data, b""):
            yield f"{copy}: differs from {page.markdown}"
        yield from self._check_slices(page, data)
        if page.origin == "html" or self._manifest.crawled_from:
            for href in _find_links(data.decode("utf-8", "replace")):
                yield from self._check_link(page, href)

    def _check_slices(self, page: PageEntry, data: bytes) -> Iterator[str]:
        end = page.sections[0].start
        if page.sections[0].id != page.id:
            yield f"{page.markdown}: the page and its first section have different ids"
        for section in page.sections:
            where = f"{page.markdown}: section {section.id}"
            if section.start != end:
                yield f"{where} starts at byte {section.start}, not at {end}"
            end = section.end
            if section.cut(data) is None:
                yield f"{where} does not match its digest"
        if end != len(data):
            yield f"{page.markdown}: the sections end at byte {end}, the file at {len(data)}"
        sections = split_sections(data.decode("utf-8", "replace"), title=page.title)
        if [section.level for section in sections] != [section.level for section in page.sections]:
            yield f"{page.markdown}: its headings do not match its sections"

    def _check_link(self, page: PageEntry, href: str) -> Iterator[str]:
        """Yield a link that should lead to Markdown; note one that leads to no page or section of the site."""
        self.links += 1
        base = path_to_url(self._site_url or "/", page.markdown)
        url, _, fragment = join_url(base, href).partition("#")
        path = url_to_path(self._site_url, url)
        if path is None or "?" in url:
            return
        # The file first: `url_to_path` removes `index.html`, so the home page's Markdown is known by its file only.
        target = self._pages_by_file.get(path)
        if target is None:
            target = self._library.sections.get_page(path)
            if target and not self._manifest.crawled_from:
                yield f"{page.markdown}: {href} is a link to HTML, but the page has Markdown"
                return
        anchor = unquote(fragment)
        if target is None:
            if not self._read_html(path):
                self.notes.append(f"{page.markdown}: {href} does not exist")
        elif anchor and anchor not in self._find_anchors(target):
            self.notes.append(f"{page.markdown}: {href}: the page has no such anchor")

    def _find_anchors(self, page: PageEntry) -> set[str]:
        """Return the anchors of a page: of its sections, and all other ids in its HTML."""
        if page.path not in self._anchors:
            anchors = {section.anchor for section in page.sections if section.anchor}
            for element in _parse_html(self._read_html(page.path)):
                anchors.add(unquote(element.get("id", "")))
                anchors.add(unquote(element.get("name", "")))
            self._anchors[page.path] = anchors
        return self._anchors[page.path]

    # Other files

    def check_llms_full(self) -> Iterator[str]:
        """Yield the pages that are not in llms-full.txt where the manifest says so."""
        pages = [(page, page.full) for page in self._manifest.pages if page.full is not None]
        data = self._read(LLMS_FULL) if pages else b""
        for page, start in pages:
            if file_digest(data[start : start + page.bytes]) != page.digest:
                yield f"{LLMS_FULL}: {page.markdown} is not at byte {start}"

    def check_vectors(self) -> Iterator[str]:
        """Yield how the vectors differ from the manifest."""
        entry = self._manifest.vectors
        if entry is None:
            return
        data = self._read(VECTORS_PATH)
        if file_digest(data) != entry.digest:
            yield f"{VECTORS_PATH}: missing, or does not match its digest"
            return
        try:
            vectors = decode_vectors(data)
        except VectorsError as error:
            yield str(error)
            return
        if {id_ for id_, _ in vectors.sections} != {section.id for section in self._manifest.sections()}:
            yield f"{VECTORS_PATH}: has other sections than the manifest"

    def check_llms_txt(self) -> Iterator[str]:
        """Yield faults of llms.txt, of the lists that it links to, and of the outline, unless none is published."""
        outline = self._read_text(OUTLINE_PATH)
        if not 0 < len(outline) < _MAX_LISTING_CHARS:
            yield f"{OUTLINE_PATH}: missing, or not below {_MAX_LISTING_CHARS} characters"
        published = self._manifest.llms_txt
        if published and not published.bytes:
            return
        if published and file_digest(self._read(LLMS_TXT)[-published.bytes :]) != published.digest:  # below other text
            yield f"{LLMS_TXT}: its list of pages does not match its digest"
        listed = {LLMS_TXT}
        pending = [LLMS_TXT]
        for path in pending:  # grows
            text = self._read_text(path)
            if not 0 < len(text) < _MAX_LISTING_CHARS:
                yield f"{path}: {len(text)} characters; expected less than {_MAX_LISTING_CHARS}, and some"
            base = path_to_url(self._site_url, path)
            entries = [line for line in text.splitlines() if line.startswith("- [")]
            urls = [entry.partition("](")[2].partition(")")[0] for entry in entries]
            targets = {url_to_path(self._site_url, urljoin(base, url)) or "" for url in urls} - listed
            pending += sorted(target for target in targets if target.endswith(".txt"))
            listed |= targets
        unlisted = find_listing_pages(page.path for page in self._manifest.pages)
        for page in self._manifest.pages:
            if page.markdown not in listed and page.path not in unlisted:
                yield f"{LLMS_TXT}: {page.markdown} is not listed"

    def check_section_files(self) -> Iterator[str]:
        """Yield the files of sections and aliases that are missing, if the site publishes section files."""
        if not self._read(f"roaming/sections/{self._manifest.pages[0].id}.md"):
            return
        for section in self._manifest.sections():
            for id_ in (section.id, *section.aliases):
                file = f"roaming/sections/{id_}.md"
                if not self._read(file):
                    yield f"{file}: missing"


def _find_links(markdown: str) -> Iterator[str]:
    """Yield the targets of the links of Markdown."""
    for block in load_parser(inline=True).parse(_FOOTNOTE.sub(r"\1\\[^", markdown)):
        for token in block.children or ():
            if token.type == "link_open":
                yield str(token.attrs.get("href", ""))


def _parse_html(html: str) -> Iterator[etree._Element]:
    """Yield the elements of a page."""
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
    root = etree.HTML(html.encode(), parser) if html.strip() else None
    if root is not None:
        yield from root.iter(etree.Element)
