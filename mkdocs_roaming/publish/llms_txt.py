"""llms.txt.

llms.txt follows llmstxt.org. Clients cut files after 20,000 to 100,000 characters, and follow links to pages more often
than links to lists. So the root lists every page if it can: descriptions are shortened and dropped before groups become
nested lists. A long list begins with the names of its groups.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import count
from math import ceil
from typing import TypeVar
from urllib.parse import urljoin

from msgspec import Struct, field

from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import (
    LLMS_FULL,
    LLMS_TXT,
    MORE_GROUP,
    Manifest,
    NavEntry,
    PageEntry,
    iter_nav,
    path_to_url,
    url_to_path,
)
from mkdocs_roaming.manifest.page_kinds import PageKind, classify_pages, find_listing_pages
from mkdocs_roaming.text.markdown import pluralize, shorten, to_italics, to_single_line, truncate_at_word

MAX_CHARS = 50_000
"""Maximum length of a file. Clients truncate longer ones."""

MAX_UNMAPPED_CHARS = 20_000
"""Maximum length of a list that does not begin with the names of its groups."""

_DESCRIPTIONS = ((200, 200), (120, 120), (80, 80), (120, 0), (80, 0), (0, 0))
"""Lengths of descriptions, in guides and elsewhere, of which the first that fits is chosen."""
_MAX_HEAD_CHARS = 12_000
"""Length of the names of groups, at the top of a list."""
# Limits of a group: its file stays below MAX_CHARS even if all groups in it become nested lists.
_MAX_GROUPS = 40
_MAX_GROUP_CHARS = 15_000
_LINK_CHARS = 80
"""Length of a link to a nested list, besides its title and the URL of the site."""
_HEADING_CHARS = len("\n## \n\n")
_NESTED_BASE = "../../../"
"""The folder of the site from `roaming/nav/<id>/llms.txt`."""
_MAX_TITLE_CHARS = 150
_MAX_SHARED = 2
"""Number of pages whose titles are equal without naming their group."""

_UNGROUPED = "Pages"
_ALL_PAGES = "All pages"
"""The heading below the text of an author."""
_OPTIONAL = "Optional"
"""The heading of links that can be skipped if a shorter context is needed (llmstxt.org)."""
_MORE_RANK = 2
_OPTIONAL_RANK = 3
_OTHER_FILE = "not Markdown"
"""The note on a link to a file of the site."""

_KILOBYTE = 1000
_MEGABYTE = 1000 * _KILOBYTE

BY_A_MODEL = "Descriptions in *italics* were written by a model."

_HEADING = re.compile(r"^##[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
"""A heading in the text of an author: `## Guides ##`."""
_BRACKET = re.compile(r"([\\\[\]])")
_OWN_SENTENCE = re.compile(r"A collapsed outline of all sections is at |> .* All pages are listed in \[llms\.txt\]\(")
"""A sentence that no other program writes, and each list has."""
_OWN_LINE = re.compile(
    r"$|##? |> |- \[|- .* \(\d+ pages?\)|(?:Every link below leads to a page as|Links to pages lead to their) "
    r"Markdown\.$|The text of all pages is in \["
    r"|A collapsed outline of all sections is at |Tools to search and read all sections are at "
    r"|How agents find and read sections is described at "
    r"|Descriptions in \*italics\* were written by a model\.$"
    r"|The groups of this list"
)
"""The beginning of any line that this or an earlier version writes."""

_T = TypeVar("_T")


def build_llms_txt(
    manifest: Manifest,
    *,
    section_files: bool = True,
    outline: str = "",
    skill: str = "",
    mcp: str = "",
    above: str = "",
) -> dict[str, str]:
    """Return the llms.txt files by path: the root, and nested lists of groups that it has no room for.

    Args:
        manifest: The manifest of the site.
        section_files: Whether the site publishes a file for each section, which llms.txt then mentions.
        outline: The outline, whose size llms.txt names: agents choose what they read by it.
        skill: Path of the site's skill, if it has one.
        mcp: URL of the site's MCP server, if it has one.
        above: The text of an author at the top of the root, instead of name and summary.
    """
    site = manifest.site
    name = to_single_line(site.name)
    summary = to_single_line(site.description) or f"All pages of {name}, as Markdown."
    url = "" if manifest.crawled_from else site.url  # a copy is not on the original site
    about = "Links to pages lead to their Markdown.\n"
    if size := full_size(manifest):
        about += f"The text of all pages is in [{LLMS_FULL}]({url}{LLMS_FULL}) ({size}).\n"
    about += f"A collapsed outline of all sections is at {url}roaming/outline.md"
    if outline:
        about += f" ({format_size(len(outline.encode()))})"
    if section_files:
        about += f", each section at {url}roaming/sections/<id>.md"
    about += ".\n"
    if any(page.summary for page in manifest.pages):
        about += f"{BY_A_MODEL}\n"
    if skill:
        about += f"How agents find and read sections is described at {url}{skill}\n"
    if mcp:
        about += f"Tools to search and read all sections are at {mcp} (MCP, streamable HTTP).\n"
    translations = []
    for alternate in site.alternates:
        if alternate.language:
            root = urljoin(site.url + MANIFEST_PATH, alternate.manifest).removesuffix(MANIFEST_PATH)
            translations.append(f"[{alternate.language}]({root}{LLMS_TXT})")
    if translations:
        about += f"The site in other languages: {', '.join(translations)}.\n"
    files = _Files(name, url)
    head = f"# {name}\n\n> {summary}\n\n{about}"
    if above:
        headings = _HEADING.findall(above)
        files.taken = [_OPTIONAL, *headings]
        title = _find_unused(_ALL_PAGES, " ({})", files.taken)
        heading = f"## {title}\n\n" if headings else ""
        head = f"{above}\n\n{heading}{about}"
    files.add(LLMS_TXT, head, _make_root(manifest, url or _NESTED_BASE))
    return files.texts


def is_page_list(text: str) -> bool:
    """Return whether a text has the form of llms.txt or of a nested list: no line is of another kind."""
    lines = text.split("\n")
    return any(map(_OWN_SENTENCE.match, lines)) and all(map(_OWN_LINE.match, lines))


def full_size(manifest: Manifest) -> str:
    """Return the size of llms-full.txt for people; an empty string if the site has none."""
    size = sum(page.bytes for page in manifest.pages if page.full is not None)
    return format_size(size) if size else ""


def format_size(size: int) -> str:
    """Return a number of bytes for people."""
    if size >= _MEGABYTE:
        return f"{size / _MEGABYTE:.1f} MB"
    return f"{ceil(size / _KILOBYTE)} KB"


# Groups


class _Item(Struct, frozen=True):
    """A line of a list: a page, or a link with a note."""

    title: str
    url: str
    note: str = ""
    is_own: bool = False
    """Whether the URL is relative to that of the site."""
    page: PageEntry | None = None
    kind: PageKind = PageKind.GUIDE

    def render(self, base: str, limits: tuple[int, int] = (0, 0)) -> str:
        """Return the line with a description that is within the limit for the kind of page."""
        note = self.note
        limit = limits[min(self.kind, 1)]
        if self.page is not None and limit:
            page = self.page
            note = shorten(to_single_line(page.description or page.summary or page.sections[0].opening), limit)
            if page.summary and not page.description:
                note = to_italics(note)
        url = path_to_url(base, self.url) if self.is_own else self.url
        line = f"- [{escape_link_text(self.title)}]({url})"
        return f"{line}: {note}\n" if note else f"{line}\n"


class _Group(Struct, eq=False):
    """A group of a list.

    Attributes:
        titles: The titles of the groups that contain it, and its own.
        id: Its id in the nav, or that of its first page: the name of its folder if it becomes a nested list.
        items: Its own items.
        groups: The groups in it.
        base: The longest beginning of the URLs of its pages.
        rank: Place among other groups: guides come before reference.
        is_open: Whether its list is a part of the file; else the file links to it.
        own_chars: Length of its items without descriptions, with their heading.
        chars: The same with the items of all groups in it.
        pages: Number of pages in it.
    """

    titles: tuple[str, ...]
    id: str
    items: Sequence[_Item]
    groups: Sequence[_Group]
    base: str
    rank: int = 0
    is_open: bool = True
    own_chars: int = 0
    chars: int = 0
    pages: int = 0

    def __post_init__(self) -> None:
        self.own_chars = sum(len(item.render(self.base)) for item in self.items)
        if self.items:
            self.own_chars += len(self.title()) + _HEADING_CHARS
        self.pages = sum(item.page is not None for item in self.items)
        self.chars = self.own_chars
        for group in self.groups:
            self.chars += group.chars
            self.pages += group.pages

    def title(self, base: Sequence[str] = ()) -> str:
        """Return the title below those groups that it has in common with `base`."""
        common = 0
        for own, above in zip(self.titles, base, strict=False):
            if own != above:
                break
            common += 1
        title = " › ".join(filter(None, self.titles[common:]))
        return truncate_at_word(title, _MAX_TITLE_CHARS) or _UNGROUPED

    def walk(self) -> Iterator[_Group]:
        """Yield the group and all groups in it."""
        yield self
        for group in self.groups:
            yield from group.walk()


def _make_root(manifest: Manifest, base: str) -> _Group:
    """Return all pages: those outside of groups, then guides, reference, and last a group that can be skipped."""
    nav = manifest.nav or tuple(NavEntry(page.title, page.id, page.path) for page in manifest.pages)
    pages = {page.path: page for page in manifest.pages}
    listed = pages.keys() - find_listing_pages(pages)
    kinds = classify_pages(manifest)
    archives = {path for path in listed if kinds[path] is PageKind.ARCHIVE}
    if archives == listed:  # a blog
        archives = set()
    whole = NavEntry("", children=nav)
    titles = Counter(entry.title for entry in iter_nav(nav) if entry.page in listed)
    shared = {title for title, number in titles.items() if number > _MAX_SHARED}
    url = manifest.site.url
    root = _Tree(url, base, pages, kinds, listed - archives, shared).make_group(whole)
    skipped = _Tree(url, base, pages, kinds, archives, shared, links=False).make_group(whole)
    groups = sorted(root.groups, key=lambda group: group.rank)
    if skipped.pages:
        optional = _Group((_OPTIONAL,), _OPTIONAL.lower(), skipped.items, skipped.groups, root.base, _OPTIONAL_RANK)
        groups.append(optional)
    return _Group((), "", root.items, groups, root.base)


class _Tree(Struct, frozen=True):
    """The nav entries of a site as groups of the listed pages, and of external links."""

    site_url: str
    base: str
    """URL of the published files, or the path to them from a nested list."""
    pages: Mapping[str, PageEntry]
    kinds: Mapping[str, PageKind]
    listed: Set[str]
    shared: Set[str]
    """Titles that many pages have: theirs begin with the title of their group."""
    links: bool = True

    def make_group(self, entry: NavEntry, above: tuple[str, ...] = ()) -> _Group:
        """Return an entry with its children, without empty groups."""
        titles = (*above, to_single_line(entry.title)) if entry.id else above
        items = [self._make_item(entry, titles)]
        groups = []
        for child in entry.children:
            if not child.children:
                items.append(self._make_item(child, titles))
                continue
            inner = self.make_group(child, titles)
            if inner.items or inner.groups:
                groups.append(inner)
        group = _Group(titles, entry.id or "", list(filter(None, items)), groups, self.base)
        if not titles:
            return group
        kinds = Counter[PageKind]()
        for inner in group.walk():
            kinds.update(item.kind for item in inner.items)
        rank = int(kinds[PageKind.REFERENCE] > kinds[PageKind.GUIDE])
        if titles == (MORE_GROUP,):
            rank = _MORE_RANK
        for inner in group.walk():
            inner.rank = max(inner.rank, rank)
        return group

    def _make_item(self, entry: NavEntry, titles: tuple[str, ...]) -> _Item | None:
        title = to_single_line(entry.title)
        if title in self.shared and titles and titles[-1] != title:
            title = f"{titles[-1]}: {title}"
        title = truncate_at_word(title, _MAX_TITLE_CHARS)
        if entry.page is not None and entry.page in self.listed:
            page = self.pages[entry.page]
            return _Item(title, page.markdown, is_own=True, page=page, kind=self.kinds[page.path])
        if not (self.links and entry.url):
            return None
        path = url_to_path(self.site_url, entry.url)
        if path in self.pages:
            return None
        return _Item(title, entry.url, "" if path is None else _OTHER_FILE)


def _split(group: _Group) -> None:
    """Divide a group with many items or many groups in it into groups of neighbours."""
    longest = max((len(item.render(group.base)) for item in group.items), default=1)
    size = max(1, _MAX_GROUP_CHARS // longest)
    if group.own_chars > _MAX_GROUP_CHARS and len(group.items) > size:
        parts = []
        for items in _divide(group.items, size):
            id_ = next((item.page.id for item in items if item.page), "links")
            parts.append(_join(group, items[0].title, items[-1].title, id_, items=items))
        group.items = ()
        group.groups = [*parts, *group.groups]
    while len(group.groups) > _MAX_GROUPS:
        runs = _divide(group.groups, _MAX_GROUPS)
        group.groups = []
        for groups in runs:
            first = groups[0].title(group.titles)
            last = groups[-1].title(group.titles)
            group.groups.append(_join(group, first, last, groups[0].id, groups=groups))
    group.__post_init__()


def _join(
    above: _Group, first: str, last: str, id_: str, *, items: Sequence[_Item] = (), groups: Sequence[_Group] = ()
) -> _Group:
    return _Group((*above.titles, f"{first} – {last}"), id_, items, groups, above.base, above.rank)


def _divide(values: Sequence[_T], limit: int) -> list[Sequence[_T]]:
    """Return runs of about the same length, each of which is within the limit."""
    parts = ceil(len(values) / limit)
    size = ceil(len(values) / parts)
    return [values[start : start + size] for start in range(0, len(values), size)]


# Files


class _Block(Struct):
    """A heading of a file with its lines, and the number of pages that they stand for."""

    title: str
    rank: int
    items: list[_Item] = field(default_factory=list)
    pages: int = 0

    def render(self, base: str, limits: tuple[int, int] = (0, 0)) -> str:
        return f"\n## {self.title}\n\n" + "".join(item.render(base, limits) for item in self.items)


class _Files(Struct):
    """The files of a site."""

    name: str
    url: str
    taken: Sequence[str] = (_OPTIONAL,)
    """Headings that groups cannot have: those of an author, and one with a meaning."""
    texts: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def add(self, path: str, head: str, root: _Group) -> None:
        """Add the list of a group: with all groups in it, or with nested lists of those that it has no room for."""
        base = self.url or "../" * path.count("/")
        nested: dict[str, _Group] = {}
        text = None
        if root.chars < MAX_CHARS:
            text = _render(head, self._make_blocks(root, nested), base)
        if text is None:
            _open_groups(root, MAX_CHARS - _MAX_HEAD_CHARS - len(head))
            blocks = self._make_blocks(root, nested)
            text = _render(head, blocks, base)
            if text is None:  # it has no room for the titles alone
                text = head + "".join(block.render(base) for block in blocks)
        self.texts[path] = text
        home = self.url or _NESTED_BASE
        for further, group in nested.items():
            pages = pluralize(group.pages, "page")
            summary = f"{pages} of {self.name}. All pages are listed in [{LLMS_TXT}]({home}{LLMS_TXT})."
            for inner in group.walk():
                inner.is_open = True
            self.add(further, f"# {self.name}: {group.title()}\n\n> {summary}\n", group)

    def _make_blocks(self, root: _Group, nested: dict[str, _Group]) -> list[_Block]:
        """Return the blocks of a file in order, and add the groups that are not open to the nested lists."""
        blocks: dict[str, _Block] = {}

        def add_group(group: _Group, block: _Block | None) -> None:
            if block is None and group.rank == _OPTIONAL_RANK and group is not root:
                block = blocks[_OPTIONAL] = _Block(_OPTIONAL, group.rank)
            items = group.items
            pages = sum(item.page is not None for item in items)
            if not group.is_open:
                items = [self._make_link(group, root, nested)]
                pages = group.pages
            if items:
                title = _find_unused(group.title(root.titles), " ({})", (*self.taken, *blocks))
                target = block or blocks.setdefault(title, _Block(title, group.rank))
                target.items.extend(items)
                target.pages += pages
            if group.is_open:
                for child in group.groups:
                    add_group(child, block)

        add_group(root, None)
        return sorted(blocks.values(), key=lambda block: block.rank)

    def _make_link(self, group: _Group, root: _Group, nested: dict[str, _Group]) -> _Item:
        folder = _find_unused(f"roaming/nav/{group.id}", "-{}", self.folders)
        self.folders.add(folder)
        path = f"{folder}/{LLMS_TXT}"
        nested[path] = group
        return _Item(group.title(root.titles), path, pluralize(group.pages, "page"), is_own=True)


def _render(head: str, blocks: Sequence[_Block], base: str) -> str | None:
    """Return a file with descriptions as long as it has room for; None if it has no room without descriptions."""
    groups = Counter[str]()
    for block in blocks:
        groups[block.title.partition(" › ")[0]] += block.pages
    names = ""
    for title, pages in groups.items():
        if pages:
            names += f"- {escape_link_text(title)} ({pluralize(pages, 'page')})\n"
    for limits in _DESCRIPTIONS:
        body = "".join(block.render(base, limits) for block in blocks)
        if len(head) + len(body) <= MAX_UNMAPPED_CHARS:
            text = head + body
        else:
            text = f"{head}\nThe groups of this list:\n\n{names}{body}"
        if len(text) < MAX_CHARS:
            return text
    return None


def _open_groups(root: _Group, room: int) -> None:
    """Open the groups that a file has room for, divided into small ones; guides first, and the largest last."""

    def link_chars(group: _Group) -> int:
        return 2 * len(group.title()) + len(group.base) + _LINK_CHARS

    for group in root.walk():
        group.is_open = group is root
    order = count()
    waiting = [(root.rank, root.chars, next(order), root)]
    while waiting:
        group = heappop(waiting)[-1]
        _split(group)
        chars = group.own_chars + sum(map(link_chars, group.groups)) - link_chars(group)
        if group is not root and chars > room:
            continue
        room -= chars
        group.is_open = True
        for child in group.groups:
            child.is_open = False
            heappush(waiting, (child.rank, child.chars, next(order), child))


def _find_unused(name: str, suffix: str, taken: Collection[str]) -> str:
    """Return a name, with a number if it is taken."""
    unused = name
    number = 1
    while unused in taken:
        number += 1
        unused = name + suffix.format(number)
    return unused


def escape_link_text(text: str) -> str:
    """Escape the characters that would end the text of a link."""
    return _BRACKET.sub(r"\\\1", text)
