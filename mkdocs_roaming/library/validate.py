"""Validate a published site: manifest, digests, slices, ids, listings, and every link within the site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from itertools import product
from urllib.parse import unquote, urljoin

from markdown_it.token import Token

from mkdocs_roaming.embeddings.store import VectorsError, decode_vectors
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.io import MANIFEST_PATH, VECTORS_PATH, validate_manifest
from mkdocs_roaming.manifest.models import (
    PageEntry,
    iter_nav,
    join_url,
    path_to_url,
    root_path,
    short_markdown_path,
    url_to_path,
)
from mkdocs_roaming.manifest.page_kinds import find_listing_pages
from mkdocs_roaming.manifest.sections import file_digest, slice_digest, split_sections
from mkdocs_roaming.text.blocks import load_parser
from mkdocs_roaming.text.meta_tags import has_absolute_assets

_MAX_LISTING_CHARS = 50_000
_TAG = re.compile(r"<(?:link|script|template)\b[^<>]*>")
_URL = re.compile(r'\s(?:href|src|data-manifest)="([^"]*)"')
_HTML_ID = re.compile(r"""\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")


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
        faults = f"{len(self.faults)} fault{'' if len(self.faults) == 1 else 's'}" if self.faults else "no faults"
        count = len(self.notes)
        notes = f", {count} broken link{'' if count == 1 else 's'} within the site" if count else ""
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
    faults += [*validator.check_llms_full(), *validator.check_vectors(), *validator.check_llms_txt()]
    faults += validator.check_section_files()
    notes = tuple(dict.fromkeys(validator.notes))
    return ValidationReport(len(pages), len(library.sections), validator.links, tuple(faults), notes)


def _parse_markdown(text: str) -> list[Token]:
    """Return the tokens of a page's Markdown."""
    # CommonMark has no footnotes and would parse `[^1]: Word.` as a link definition.
    return load_parser(inline=True).parse(re.sub(r"^(\s*)\[\^", r"\1\\[^", text, flags=re.MULTILINE))


def _find_html_ids(html: bytes) -> set[str]:
    """Return the anchors of a page's HTML."""
    text = html.decode("utf-8", "replace").replace("&amp;", "&")
    return {unquote("".join(groups)) for groups in _HTML_ID.findall(text)}


class _Validator:
    """Finds the faults of a site, with one method per kind of file, and notes links that lead nowhere."""

    def __init__(self, library: Library) -> None:
        self.notes: list[str] = []
        self.links = 0
        self._library = library
        self._manifest = library.manifest
        self._anchors: dict[str, frozenset[str]] = {}
        self._pages_by_file: dict[str, PageEntry] = {}
        for page in self._manifest.pages:
            self._pages_by_file[page.markdown] = page
            self._pages_by_file.setdefault(short_markdown_path(page.path) or page.markdown, page)

    def _read(self, path: str) -> bytes:
        """Return a file; nothing if there is none."""
        with suppress(LibraryError):
            return self._library.file(path)
        return b""

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
        yield from (f"id {id_}: used {count} times" for id_, count in ids.items() if count > 1)
        for section in manifest.sections():
            where = f"section {section.id}"
            yield from (f"{where}: alias {alias} is the id of a section" for alias in section.aliases if alias in ids)
            yield from (f"{where}: links to {link}, which is no section" for link in section.links if link not in ids)
        for number, rule in enumerate(manifest.rules, 1):
            wrong = (id_ for id_ in rule.open if id_ not in ids)
            yield from (f"rule {rule.name or number}: opens {id_}, which is no section" for id_ in wrong)

    # Pages

    def check_page(self, page: PageEntry) -> Iterator[str]:
        """Yield what is wrong with the Markdown of a page, its slices and links, and with what its HTML loads."""
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
            yield from self._check_links(page, data)
        if not self._manifest.crawled_from:
            yield from self._check_elements(page)

    def _check_slices(self, page: PageEntry, data: bytes) -> Iterator[str]:
        end = page.sections[0].start
        if page.sections[0].id != page.id:
            yield f"{page.markdown}: the page and its first section have different ids"
        for section in page.sections:
            where = f"{page.markdown}: section {section.id}"
            if section.start != end:
                yield f"{where} starts at byte {section.start}, not at {end}"
            end = section.end
            if slice_digest(data[section.start : section.end]) != section.digest:
                yield f"{where} does not match its digest"
        if end != len(data):
            yield f"{page.markdown}: the sections end at byte {end}, the file at {len(data)}"
        sections = split_sections(data.decode("utf-8", "replace"), title=page.title)
        if [section.level for section in sections] != [section.level for section in page.sections]:
            yield f"{page.markdown}: its headings do not match its sections"

    def _check_links(self, page: PageEntry, data: bytes) -> Iterator[str]:
        """Yield links within the site that should lead to Markdown; note those that lead to no page or section."""
        for token in _parse_markdown(data.decode("utf-8", "replace")):
            for href in (
                str(child.attrs.get("href", "")) for child in token.children or () if child.type == "link_open"
            ):
                self.links += 1
                base = path_to_url(self._manifest.site.url or "/", page.markdown)
                url, _, fragment = join_url(base, href).partition("#")
                path = url_to_path(self._manifest.site.url, url) if "?" not in url else None
                if path is not None:
                    yield from self._check_target(page, href, path, unquote(fragment))

    def _check_target(self, page: PageEntry, href: str, path: str, anchor: str) -> Iterator[str]:
        # The file first: `url_to_path` removes `index.html`, so the home page's Markdown is known by its file only.
        target = self._pages_by_file.get(path)
        if target is None and (target := self._library.sections.get_page(path)) and not self._manifest.crawled_from:
            yield f"{page.markdown}: {href} is a link to HTML, but the page has Markdown"
        elif target is None and not self._read_html(path):
            self.notes.append(f"{page.markdown}: {href} does not exist")
        elif target and anchor and anchor not in self._find_anchors(target):
            self.notes.append(f"{page.markdown}: {href}: the page has no such anchor")

    def _check_elements(self, page: PageEntry) -> Iterator[str]:
        """Yield addresses in the elements which a build has added to a page that lead to no file."""
        html = self._read_html(page.path).decode("utf-8", "replace")
        tags = [tag for tag in _TAG.findall(html) if "data-roaming" in tag] if "data-roaming" in html else []
        site_url = self._manifest.site.url
        addresses = {page.path}
        if has_absolute_assets(html, root_path(site_url)):  # the page itself works at all of them
            stem = re.sub(r"(\.html|/)$", "", page.path)
            addresses |= {stem, f"{stem}/"} if stem else set()
        for address, url in product(
            sorted(addresses), sorted({unescape(url) for tag in tags for url in _URL.findall(tag)})
        ):
            path = url_to_path(site_url, urljoin(path_to_url(site_url, address), url))
            if path is None or not self._read(path):
                yield f"{address or 'index.html'}: {url} leads to no file of the site"

    def _read_html(self, path: str) -> bytes:
        return self._read(path or "index.html") or self._read(path.rstrip("/") + "/index.html")

    def _find_anchors(self, page: PageEntry) -> frozenset[str]:
        """Return the anchors of a page: of its sections, and all other ids in its HTML."""
        if page.path not in self._anchors:
            anchors = {section.anchor for section in page.sections if section.anchor}
            self._anchors[page.path] = frozenset(anchors | _find_html_ids(self._read_html(page.path)))
        return self._anchors[page.path]

    # Other files

    def check_llms_full(self) -> Iterator[str]:
        """Yield the pages that are not in llms-full.txt where the manifest says so."""
        pages = [(page, page.full) for page in self._manifest.pages if page.full is not None]
        data = self._read("llms-full.txt") if pages else b""
        for page, start in pages:
            if file_digest(data[start : start + page.bytes]) != page.digest:
                yield f"llms-full.txt: {page.markdown} is not at byte {start}"

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
        outline = self._read("roaming/outline.md").decode("utf-8", "replace")
        if not 0 < len(outline) < _MAX_LISTING_CHARS:
            yield f"roaming/outline.md: missing, or not below {_MAX_LISTING_CHARS} characters"
        entry = self._manifest.llms_txt
        site_url = self._manifest.site.url
        if entry and not entry.bytes:
            return
        own = self._read("llms.txt")[-entry.bytes :] if entry else b""  # below the text of an author
        if entry and file_digest(own) != entry.digest:
            yield "llms.txt: its list of pages does not match its digest"
        listed = {"llms.txt"}
        pending = ["llms.txt"]
        for path in pending:  # grows
            text = self._read(path).decode("utf-8", "replace")
            if not 0 < len(text) < _MAX_LISTING_CHARS:
                yield f"{path}: {len(text)} characters; expected less than {_MAX_LISTING_CHARS}, and some"
            urls = re.findall(r"^- \[.*?\]\((\S+?)\)(?::|$)", text, re.MULTILINE)
            targets = {url_to_path(site_url, urljoin(path_to_url(site_url, path), url)) or "" for url in urls} - listed
            pending += sorted(target for target in targets if target.endswith(".txt"))
            listed |= targets
        unlisted = find_listing_pages(page.path for page in self._manifest.pages)
        for page in self._manifest.pages:
            if page.markdown not in listed and page.path not in unlisted:
                yield f"llms.txt: {page.markdown} is not listed"

    def check_section_files(self) -> Iterator[str]:
        """Yield the files of sections and aliases that are missing, if the site publishes section files."""
        if self._read(f"roaming/sections/{self._manifest.pages[0].id}.md"):
            ids = (id_ for section in self._manifest.sections() for id_ in (section.id, *section.aliases))
            files = (f"roaming/sections/{id_}.md" for id_ in ids)
            yield from (f"{file}: missing" for file in files if not self._read(file))
