"""Whether a published site keeps the contract: schema, digests, slices, ids, and every link within it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from markdown_it import MarkdownIt

from mkdocs_roaming.embeddings.store import VectorsError, decode_vectors
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.io import MANIFEST_PATH, validate_manifest
from mkdocs_roaming.manifest.io import VECTORS_PATH as VECTORS
from mkdocs_roaming.manifest.models import NavEntry, PageEntry, short_markdown_path, url_to_path
from mkdocs_roaming.manifest.sections import slice_digest, split_sections

MAX_LISTING_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What was found. `faults` break the contract; `notes` are links that the site itself has broken."""

    pages: int
    sections: int
    links: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        faults = f"{len(self.faults)} fault{'' if len(self.faults) == 1 else 's'}" if self.faults else "no faults"
        links = "1 link that leads" if len(self.notes) == 1 else f"{len(self.notes)} links that lead"
        broken = f", {links} nowhere on the site itself" if self.notes else ""
        return f"{self.pages} pages, {self.sections} sections, {self.links} links checked: {faults}{broken}"


def validate_site(
    library: Library, steps: Callable[[int], Callable[[], None]] = lambda count: lambda: None
) -> ValidationReport:
    """Check a published site; `steps` is told how many pages there are and gives what is called after each."""
    state = _State(library)
    state.faults += [f"{MANIFEST_PATH}: {fault}" for fault in validate_manifest(library.file(MANIFEST_PATH))]
    step = steps(len(library.manifest.pages))
    _ids(state)
    for page in library.manifest.pages:
        _page(state, page)
        step()
    _full(state)
    _vectors(state)
    _lists(state)
    return ValidationReport(
        len(library.manifest.pages), len(library.sections), state.links, tuple(state.faults), tuple(state.notes)
    )


@dataclass(slots=True)
class _State:
    library: Library
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    links: int = 0
    anchors: dict[str, frozenset[str]] = field(default_factory=dict)
    by_file: dict[str, PageEntry] = field(default_factory=dict)
    markdown: MarkdownIt = field(default_factory=lambda: MarkdownIt("commonmark").enable("table"))

    def read(self, path: str) -> bytes | None:
        try:
            return self.library.file(path)
        except LibraryError:
            return None


# Ids and nav


def _ids(state: _State) -> None:
    manifest = state.library.manifest
    living = Counter(section.id for section in manifest.sections())
    groups = [entry.id for entry in _entries(manifest.nav) if entry.page is None and entry.id]
    living.update(groups)
    state.faults += [f"id {id_}: given {times} times" for id_, times in living.items() if times > 1]
    for section in manifest.sections():
        state.faults += [
            f"section {section.id}: alias {old} is a living id" for old in section.aliases if old in living
        ]
        state.faults += [f"section {section.id}: links to {to}, no section" for to in section.links if to not in living]
    for at, rule in enumerate(manifest.rules, 1):
        name = rule.name or str(at)
        state.faults += [f"rule {name}: opens {id_}, no section" for id_ in rule.open if id_ not in living]
    paths = {page.path: page.id for page in manifest.pages}
    for entry in _entries(manifest.nav):
        if entry.page is not None and paths.get(entry.page) != entry.id:
            state.faults.append(f"nav “{entry.title}”: no page {entry.page!r} with id {entry.id}")


def _entries(nav: tuple[NavEntry, ...]) -> Iterator[NavEntry]:
    for entry in nav:
        yield entry
        yield from _entries(entry.children)


# Pages


def _page(state: _State, page: PageEntry) -> None:
    data = state.read(page.markdown)
    if data is None:
        state.faults.append(f"{page.markdown}: cannot be read")
        return
    if "sha256:" + hashlib.sha256(data).hexdigest() != page.digest or len(data) != page.bytes:
        state.faults.append(f"{page.markdown}: does not fit its digest")
    twin = short_markdown_path(page.path)
    if twin and state.read(twin) != data:
        state.faults.append(f"{twin}: is not the same as {page.markdown}")
    _slices(state, page, data)
    if page.origin == "html":
        _links(state, page, data)


def _slices(state: _State, page: PageEntry, data: bytes) -> None:
    at = page.sections[0].start
    if page.sections[0].id != page.id:
        state.faults.append(f"{page.markdown}: page and title have two ids")
    for section in page.sections:
        if section.start != at:
            state.faults.append(f"{page.markdown}: section {section.id} begins at byte {section.start}, not at {at}")
        at = section.end
        if slice_digest(data[section.start : section.end]) != section.digest:
            state.faults.append(f"{page.markdown}: section {section.id} does not fit its digest")
    if at != len(data):
        state.faults.append(f"{page.markdown}: the sections end at byte {at}, the file at {len(data)}")
    read = split_sections(data.decode("utf-8", "replace"), title=page.title)
    if [section.level for section in read] != [section.level for section in page.sections]:
        state.faults.append(f"{page.markdown}: its headings are not its sections")


def _links(state: _State, page: PageEntry, data: bytes) -> None:
    # CommonMark knows no footnotes and takes `[^1]: Word.` for the address of a link.
    text = re.sub(r"^(\s*)\[\^", r"\1\\[^", data.decode("utf-8", "replace"), flags=re.MULTILINE)
    for token in state.markdown.parse(text):
        for child in token.children or ():
            if child.type == "link_open":
                state.links += 1
                _link(state, page, str(child.attrs.get("href", "")))
            elif child.type == "image" and not re.match(r"https?:", str(child.attrs.get("src", ""))):
                state.faults.append(f"{page.markdown}: image {child.attrs.get('src')} is not absolute")


def _link(state: _State, page: PageEntry, href: str) -> None:
    if not re.match(r"[a-z][a-z0-9+.-]*:", href, re.IGNORECASE):
        state.faults.append(f"{page.markdown}: link {href!r} is not absolute")
        return
    address, _, fragment = href.partition("#")
    path = url_to_path(state.library.manifest.site.url, address) if "?" not in address else None
    if path is None:
        return
    target = _target(state, path)
    if isinstance(target, PageEntry):
        if fragment and unquote(fragment) not in _anchors(state, target):
            state.notes.append(f"{page.markdown}: {href} names no anchor of its page")
    elif target:
        state.faults.append(f"{page.markdown}: {href} leads to HTML, though the page has Markdown")
    elif state.read(path or "index.html") is None and state.read(path.rstrip("/") + "/index.html") is None:
        state.notes.append(f"{page.markdown}: {href} leads nowhere")


def _target(state: _State, path: str) -> PageEntry | bool:
    """Give the page whose Markdown is at a path, True where the path is a page's HTML, else False."""
    if not state.by_file:
        for page in state.library.manifest.pages:
            state.by_file[page.markdown] = page
            state.by_file.setdefault(short_markdown_path(page.path) or page.markdown, page)
    # `path_of` takes `index.html` away, so the home page's Markdown is told by its own name
    return state.by_file.get(path) or state.library.sections.get_page(path) is not None


def _anchors(state: _State, page: PageEntry) -> frozenset[str]:
    """Give the anchors of a page: its sections', and whatever else has an id in its HTML."""
    if page.path not in state.anchors:
        found = {section.anchor for section in page.sections if section.anchor}
        html = state.read(page.path or "index.html") or state.read(page.path.rstrip("/") + "/index.html") or b""
        found |= {
            unquote(one or two or three)
            for one, two, three in _ID.findall(html.decode("utf-8", "replace").replace("&amp;", "&"))
        }
        state.anchors[page.path] = frozenset(found)
    return state.anchors[page.path]


_ID = re.compile(r"""\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")


# Lists


def _full(state: _State) -> None:
    pages = [page for page in state.library.manifest.pages if page.full is not None]
    if not pages:
        return
    data = state.read("llms-full.txt") or b""
    for page in pages:
        start = page.full or 0
        if "sha256:" + hashlib.sha256(data[start : start + page.bytes]).hexdigest() != page.digest:
            state.faults.append(f"llms-full.txt: byte {start} does not begin {page.markdown}")


def _vectors(state: _State) -> None:
    entry = state.library.manifest.vectors
    if entry is None:
        return
    data = state.read(VECTORS) or b""
    if "sha256:" + hashlib.sha256(data).hexdigest() != entry.digest:
        state.faults.append(f"{VECTORS}: missing, or does not fit its digest")
        return
    try:
        found = decode_vectors(data)
    except VectorsError as error:
        state.faults.append(str(error))
        return
    if (found.model, found.dimensions, len(found.scales)) != (entry.model, entry.dimensions, entry.windows):
        state.faults.append(f"{VECTORS}: is not what the manifest says of it")
    ids = {section.id for section in state.library.manifest.sections()}
    if {id_ for id_, _ in found.sections} != ids:
        state.faults.append(f"{VECTORS}: is of other sections than the manifest")


def _lists(state: _State) -> None:
    listed: set[str] = set()
    waiting, seen = ["llms.txt"], {"llms.txt"}
    while waiting:
        path = waiting.pop()
        text = (state.read(path) or b"").decode("utf-8", "replace")
        if not text:
            state.faults.append(f"{path}: cannot be read")
        if len(text) >= MAX_LISTING_CHARS:
            state.faults.append(f"{path}: {len(text)} characters, not below {MAX_LISTING_CHARS}")
        for url in re.findall(r"^- \[.*?\]\((\S+?)\)(?::|$)", text, re.MULTILINE):
            target = url_to_path(state.library.manifest.site.url, url)
            if target is None:
                continue
            listed.add(target)
            if target.endswith(".txt") and target not in seen:
                seen.add(target)
                waiting.append(target)
    state.faults += [
        f"llms.txt: {page.markdown} is not listed"
        for page in state.library.manifest.pages
        if page.markdown not in listed
    ]
    outline = state.read("roaming/outline.md")
    if outline is None or len(outline.decode("utf-8", "replace")) >= MAX_LISTING_CHARS:
        state.faults.append(f"roaming/outline.md: missing, or not below {MAX_LISTING_CHARS} characters")
    if state.read(f"roaming/sections/{state.library.manifest.pages[0].id}.md") is not None:
        state.faults += [
            f"roaming/sections/{id_}.md: missing"
            for section in state.library.manifest.sections()
            for id_ in (section.id, *section.aliases)
            if state.read(f"roaming/sections/{id_}.md") is None
        ]
