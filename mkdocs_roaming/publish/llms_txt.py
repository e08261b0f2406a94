"""llms.txt.

llms.txt follows llmstxt.org. Clients cut files after 20,000 to 100,000 characters, and follow links to pages more often
than links to lists. So the root lists every page if it can: descriptions are shortened and dropped before groups become
nested lists. A long list begins with a map: its groups, with the pages that others link to most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush, nlargest
from itertools import count, takewhile
from typing import TypeVar
from urllib.parse import urljoin

from msgspec import Struct, field
from msgspec.structs import replace

from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.lookup import count_incoming_links, iter_nav
from mkdocs_roaming.manifest.models import (
    LLMS_FULL,
    LLMS_TXT,
    MORE_GROUP,
    Manifest,
    NavEntry,
    PageEntry,
    path_to_url,
    url_to_path,
)
from mkdocs_roaming.manifest.page_kinds import PageKind, classify_pages, find_listing_pages
from mkdocs_roaming.text.markdown import pluralize, shorten, to_italics, to_single_line, truncate_at_word

MAX_CHARS = 50_000
"""Maximum length of a file. Clients truncate longer ones."""

MAX_UNMAPPED_CHARS = 20_000
"""Maximum length of a list without a map; the map of a longer list is within as many characters."""

_DESCRIPTIONS = ((200, 200), (120, 120), (80, 80), (120, 0), (80, 0), (0, 0))  # lengths: in guides, elsewhere
_MAX_MAP_CHARS = 12_000
_MAPPED_PAGES = (3, 2, 1, 0)  # pages of each group on the map
_MAPPED_PAGES_OF_NESTED = (20, 12, 8, 5, *_MAPPED_PAGES)
# Limits of a group: its file stays below MAX_CHARS even if all groups in it become nested lists.
_MAX_GROUPS = 40
_MAX_GROUP_CHARS = 15_000
_SMALL_GROUP_CHARS = 500  # of groups that are not worth a nested list
_MAX_TITLE_CHARS = 150
_MAX_SHARED = 2  # pages whose titles are equal without naming their group

_UNGROUPED = "Pages"
_ALL_PAGES = "All pages"  # heading below the text of an author
_OPTIONAL = "Optional"  # llmstxt.org: links that can be skipped if a shorter context is needed
_OPTIONAL_RANK = 3
_OTHER_FILE = "not Markdown"  # note on a link to a file of the site

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
    url = _base_url(manifest)
    about = "Links to pages lead to their Markdown.\n"
    if size := full_size(manifest):
        about += f"The text of all pages is in [{LLMS_FULL}]({url}{LLMS_FULL}) ({size}).\n"
    about += f"A collapsed outline of all sections is at {url}roaming/outline.md"
    about += f" ({format_size(len(outline.encode()))})" if outline else ""
    about += f", each section at {url}roaming/sections/<id>.md.\n" if section_files else ".\n"
    about += f"{BY_A_MODEL}\n" if any(page.summary for page in manifest.pages) else ""
    about += f"How agents find and read sections is described at {url}{skill}\n" if skill else ""
    about += f"Tools to search and read all sections are at {mcp} (MCP, streamable HTTP).\n" if mcp else ""
    lists = ((one.language, urljoin(site.url + MANIFEST_PATH, one.manifest)) for one in site.alternates if one.language)
    if others := ", ".join(f"[{name}]({place.removesuffix(MANIFEST_PATH)}{LLMS_TXT})" for name, place in lists):
        about += f"The site in other languages: {others}.\n"
    files = _Files(manifest)
    head = f"# {name}\n\n> {summary}\n\n{about}"
    if above:
        files.taken = [_OPTIONAL, *re.findall(r"^##[ \t]+(.+?)[ \t#]*$", above, re.MULTILINE)]
        title = _find_unused(_ALL_PAGES, " ({})", files.taken)
        head = f"{above}\n\n" + (f"## {title}\n\n" if len(files.taken) > 1 else "") + about
    files.add(LLMS_TXT, head, _make_root(manifest))
    return files.texts


def _base_url(manifest: Manifest) -> str:
    """Return the URL of the published files. Those of a copy have relative ones: they are not on the original site."""
    return "" if manifest.crawled_from else manifest.site.url


def is_page_list(text: str) -> bool:
    """Return whether a text has the form of llms.txt or of a nested list: no line is of another kind."""
    return any(map(_OWN_SENTENCE.match, text.split("\n"))) and all(map(_OWN_LINE.match, text.split("\n")))


BY_A_MODEL = "Descriptions in *italics* were written by a model."
_OWN_SENTENCE = re.compile(r"A collapsed outline of all sections is at |> .* All pages are listed in \[llms\.txt\]\(")
_OWN_LINE = re.compile(
    r"$|##? |> |- \[|- .* \(\d+ pages?\)|(?:Every link below leads to a page as|Links to pages lead to their) "
    r"Markdown\.$|The text of all pages is in \["
    r"|A collapsed outline of all sections is at |Tools to search and read all sections are at "
    r"|How agents find and read sections is described at "
    r"|Descriptions in \*italics\* were written by a model\.$"
    r"|The groups of this list, with pages that many others link to:$"
)


def full_size(manifest: Manifest) -> str:
    """Return the size of llms-full.txt for people; an empty string if the site has none."""
    size = sum(page.bytes for page in manifest.pages if page.full is not None)
    return format_size(size) if size else ""


def format_size(size: int) -> str:
    """Return a number of bytes for people."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{-(-size // 1000)} KB"


# Groups


class _Item(Struct, frozen=True):
    """A line of a list: a page, or a link with a note."""

    title: str
    url: str
    note: str = ""
    page: PageEntry | None = None
    kind: PageKind = PageKind.GUIDE

    @property
    def link(self) -> str:
        return f"[{escape_link_text(self.title)}]({self.url})"

    def render(self, limits: tuple[int, int] = (0, 0)) -> str:
        """Return the line with a description that is within the limit for the kind of page."""
        note, limit = self.note, limits[min(self.kind, 1)]
        if self.page is not None and limit:
            page = self.page
            note = shorten(to_single_line(page.description or page.summary or page.sections[0].opening), limit)
            if page.summary and not page.description:
                note = to_italics(note)
        return f"- {self.link}: {note}\n" if note else f"- {self.link}\n"


class _Group(Struct, eq=False):
    """A group of a list.

    Attributes:
        titles: The titles of the groups that contain it, and its own.
        id: Its id in the nav, or that of its first page: the name of its folder if it becomes a nested list.
        items: Its own items.
        groups: The groups in it.
        rank: Place among other groups: guides come before reference.
        chars: Length of its items, and of the items of all groups in it, without descriptions.
        pages: Number of pages in it.
    """

    titles: tuple[str, ...]
    id: str
    items: Sequence[_Item]
    groups: Sequence[_Group] = ()
    rank: int = 0
    chars: int = 0
    pages: int = 0

    def __post_init__(self) -> None:
        self.chars = self.own_chars + sum(group.chars for group in self.groups)
        self.pages = sum(item.page is not None for item in self.items) + sum(group.pages for group in self.groups)

    @property
    def own_chars(self) -> int:
        """Length of its items, with their heading."""
        return len(self.title()) + 6 + sum(len(item.render()) for item in self.items) if self.items else 0

    def title(self, base: Sequence[str] = ()) -> str:
        """Return the title below those groups that it has in common with `base`."""
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self.titles, base, strict=False)))
        title = " › ".join(filter(None, self.titles[common:]))
        return truncate_at_word(title, _MAX_TITLE_CHARS) or _UNGROUPED

    def move(self, prefix: str) -> _Group:
        """Return the group with a prefix before the URLs of its pages."""
        items = [replace(item, url=prefix + item.url) if item.page else item for item in self.items]
        return _Group(self.titles, self.id, items, [group.move(prefix) for group in self.groups], self.rank)

    def is_reference(self) -> bool:
        """Return whether most of its pages are reference."""
        kinds = Counter(item.kind for group in self.walk() for item in group.items)
        return kinds[PageKind.REFERENCE] > kinds[PageKind.GUIDE]

    def raise_rank(self, rank: int) -> None:
        """Raise the rank of the group and of all groups in it to a minimum."""
        for group in self.walk():
            group.rank = max(group.rank, rank)

    def walk(self) -> Iterator[_Group]:
        """Yield the group and all groups in it."""
        yield self
        for group in self.groups:
            yield from group.walk()


def _make_root(manifest: Manifest) -> _Group:
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
    root = _Tree(manifest, pages, kinds, listed - archives, shared).make_group(whole)
    skipped = _Tree(manifest, pages, kinds, archives, shared, links=False).make_group(whole)
    groups = sorted(root.groups, key=lambda group: group.rank)
    if skipped.pages:
        groups.append(_Group((_OPTIONAL,), _OPTIONAL.lower(), skipped.items, skipped.groups, _OPTIONAL_RANK))
    return _Group((), "", root.items, groups)


class _Tree(Struct, frozen=True):
    """The nav entries of a site as groups of the listed pages, and of external links."""

    manifest: Manifest
    pages: Mapping[str, PageEntry]
    kinds: Mapping[str, PageKind]
    listed: Set[str]
    shared: Set[str]
    """Titles that many pages have: theirs begin with the title of their group."""
    links: bool = True

    def make_group(self, entry: NavEntry, above: tuple[str, ...] = ()) -> _Group:
        """Return an entry with its children, without empty groups."""
        titles = (*above, to_single_line(entry.title)) if entry.id else above
        leaves = [entry, *(child for child in entry.children if not child.children)]
        items = [item for leaf in leaves if (item := self._make_item(leaf, titles))]
        groups = [self.make_group(child, titles) for child in entry.children if child.children]
        group = _Group(titles, entry.id or "", items, [group for group in groups if group.chars])
        if titles:
            group.raise_rank(2 if titles == (MORE_GROUP,) else int(group.is_reference()))
        return group

    def _make_item(self, entry: NavEntry, titles: tuple[str, ...]) -> _Item | None:
        own = to_single_line(entry.title)
        above = titles[-1] if own in self.shared and titles else own
        title = truncate_at_word(own if above == own else f"{above}: {own}", _MAX_TITLE_CHARS)
        if entry.page is not None and entry.page in self.listed:
            page = self.pages[entry.page]
            return _Item(
                title, path_to_url(_base_url(self.manifest), page.markdown), page=page, kind=self.kinds[page.path]
            )
        path = url_to_path(self.manifest.site.url, entry.url) if entry.url else ""
        note = "" if path is None else _OTHER_FILE
        return _Item(title, entry.url, note) if self.links and entry.url and path not in self.pages else None


def _split(group: _Group) -> _Group:
    """Return a group with few items and few groups: the rest is in groups of neighbours."""
    items, groups = group.items, group.groups
    sizes = [len(item.render()) for item in items]
    if sum(sizes) > _MAX_GROUP_CHARS and len(items) > 1:
        runs = _make_runs(items, sizes, _MAX_GROUP_CHARS)
        titles = [(*group.titles, f"{run[0].title} – {run[-1].title}") for run in runs]
        ids = [next((item.page.id for item in run if item.page), "links") for run in runs]
        parts = [_Group(*part, group.rank) for part in zip(titles, ids, runs, [()] * len(runs), strict=True)]
        items, groups = (), (*parts, *groups)
    while len(groups) > _MAX_GROUPS:
        groups = [_bundle(run, group.titles) for run in _make_runs(groups, [1] * len(groups), _MAX_GROUPS)]
    return _Group(group.titles, group.id, items, groups, group.rank)


def _bundle(groups: Sequence[_Group], above: tuple[str, ...]) -> _Group:
    title = f"{groups[0].title(above)} – {groups[-1].title(above)}"
    return groups[0] if len(groups) == 1 else _Group((*above, title), groups[0].id, (), groups, groups[0].rank)


def _make_runs(values: Sequence[_T], sizes: Sequence[int], limit: int) -> list[list[_T]]:
    """Split values into runs of about the same size, each of which is within the limit."""
    target = sum(sizes) / (sum(sizes) // limit + 1)
    runs: list[list[_T]] = []
    room = 0.0
    for value, size in zip(values, sizes, strict=True):
        if not runs or size / 2 > room:
            runs.append([])
            room += target
        runs[-1].append(value)
        room -= size
    return runs


# Files


class _Block(Struct, frozen=True):
    """A heading of a file with its lines; `pages` are all pages that these stand for."""

    title: str
    rank: int
    items: list[_Item] = field(default_factory=list)
    pages: list[_Item] = field(default_factory=list)

    def render(self, limits: tuple[int, int] = (0, 0)) -> str:
        return f"\n## {self.title}\n\n" + "".join(item.render(limits) for item in self.items)


class _Files:
    """The files of a site."""

    def __init__(self, manifest: Manifest) -> None:
        self.texts: dict[str, str] = {}
        self.taken: Sequence[str] = (_OPTIONAL,)
        """Headings that groups cannot have: those of an author, and one with a meaning."""
        self._manifest = manifest
        self._site = manifest.site
        self._folders: set[str] = set()
        self._incoming_links = count_incoming_links(manifest)

    def add(self, path: str, head: str, group: _Group) -> None:
        """Add the list of a group: with all groups in it, or with nested lists of those that it has no room for."""
        text, nested, base = None, dict[str, _Group](), self._base_of(path)
        if group.chars < MAX_CHARS:
            text = self._render(head, self._make_blocks(group, {id(part): part for part in group.walk()}, nested, base))
        if text is None:
            opened = _open_groups(group, MAX_CHARS - _MAX_MAP_CHARS - len(head), len(self._site.url))
            blocks = self._make_blocks(group, opened, nested, base)
            text = self._render(head, blocks, _MAPPED_PAGES_OF_NESTED) or head + "".join(map(_Block.render, blocks))
        self.texts[path] = text
        name = to_single_line(self._site.name)
        for further, part in nested.items():
            root = self._base_of(further)
            summary = (
                f"{pluralize(part.pages, 'page')} of {name}. All pages are listed in [{LLMS_TXT}]({root}{LLMS_TXT})."
            )
            head = f"# {name}: {part.title()}\n\n> {summary}\n"
            self.add(further, head, part if root == base else part.move(root))

    def _base_of(self, path: str) -> str:
        """Return what precedes the paths of files in the list at a path."""
        return _base_url(self._manifest) or "../" * path.count("/")

    def _make_blocks(
        self, root: _Group, opened: Mapping[int, _Group], nested: dict[str, _Group], base: str
    ) -> list[_Block]:
        """Return the blocks of a file in order, and add the groups that are not open to the nested lists."""
        blocks: dict[str, _Block] = {}

        def add_group(group: _Group, block: _Block | None) -> None:
            if block is None and group.rank == _OPTIONAL_RANK and group is not root:
                block = blocks[_OPTIONAL] = _Block(_OPTIONAL, group.rank)
            part = opened.get(id(group))
            items = [self._make_link(group, root, nested, base)] if part is None else part.items
            pages = [item for inner in group.walk() for item in inner.items] if part is None else items
            if items:
                title = _find_unused(group.title(root.titles), " ({})", (*self.taken, *blocks))
                target = block or blocks.setdefault(title, _Block(title, group.rank))
                target.items.extend(items)
                target.pages.extend(item for item in pages if item.page)
            for child in part.groups if part else ():
                add_group(child, block)

        add_group(root, None)
        return sorted(blocks.values(), key=lambda block: block.rank)

    def _make_link(self, group: _Group, root: _Group, nested: dict[str, _Group], base: str) -> _Item:
        folder = _find_unused(f"roaming/nav/{group.id}", "-{}", self._folders)
        self._folders.add(folder)
        path = f"{folder}/{LLMS_TXT}"
        nested[path] = group
        return _Item(group.title(root.titles), path_to_url(base, path), pluralize(group.pages, "page"))

    def _render(self, head: str, blocks: Sequence[_Block], mapped: Sequence[int] = ()) -> str | None:
        """Return a file with descriptions as long as it has room for; None if it has no room without descriptions.

        Args:
            head: Its beginning.
            blocks: Its headings and lines.
            mapped: Numbers of pages of each group on the map, of which the first that fits is used. A file without
                nested lists has a map only if clients may cut it.
        """
        text = head + "".join(block.render(_DESCRIPTIONS[0]) for block in blocks)
        if len(text) <= MAX_UNMAPPED_CHARS and not mapped:
            return text
        for site_map in self._iter_maps(blocks, mapped or _MAPPED_PAGES):
            for limits in _DESCRIPTIONS:
                text = head + site_map + "".join(block.render(limits) for block in blocks)
                if len(text) < MAX_CHARS:
                    return text
        return None

    # The map

    def _iter_maps(self, blocks: Sequence[_Block], mapped: Sequence[int]) -> Iterator[str]:
        """Yield the groups of a file with the pages of each that most other pages link to, from many pages to none."""
        top: dict[str, _Block] = {}
        for block in blocks:
            title = block.title.partition(" › ")[0]
            top.setdefault(title, _Block(title, block.rank)).pages.extend(block.pages)
        for groups in (blocks, list(top.values())):
            for number in mapped:
                text = "".join(self._map_line(group, number) for group in groups if group.pages)
                if len(text) <= _MAX_MAP_CHARS and (number or groups is not blocks):
                    yield f"\nThe groups of this list, with pages that many others link to:\n\n{text}"

    def _map_line(self, block: _Block, number: int) -> str:
        pages = block.pages if block.rank < _OPTIONAL_RANK else []
        chosen = [*pages[:1], *nlargest(max(0, number - 1), pages[1:], key=self._importance)][:number]
        links = ", ".join(item.link for item in chosen)
        return f"- {escape_link_text(block.title)} ({pluralize(len(block.pages), 'page')})" + (
            f": {links}\n" if links else "\n"
        )

    def _importance(self, item: _Item) -> int:
        return self._incoming_links[item.page.path] if item.page else 0


def _open_groups(root: _Group, room: int, url_chars: int) -> dict[int, _Group]:
    """Return the groups that a file has room for, split into small ones; guides first, and the largest last.

    Args:
        root: The group that the file is about, which is always open.
        room: Number of characters.
        url_chars: Length of the URL of the site.
    """

    def closed_chars(group: _Group) -> int:
        return group.chars if group.chars <= _SMALL_GROUP_CHARS else 2 * len(group.title()) + url_chars + 80

    opened: dict[int, _Group] = {}
    order = count()
    waiting = [(root.rank, root.chars, next(order), root)]
    while waiting:
        group = heappop(waiting)[-1]
        part = _split(group)
        chars = part.own_chars + sum(map(closed_chars, part.groups)) - closed_chars(group)
        if opened and chars > room:
            continue
        room -= chars
        opened[id(group)] = part
        for child in part.groups:
            if child.chars <= _SMALL_GROUP_CHARS:
                opened.update((id(inner), inner) for inner in child.walk())
            else:
                heappush(waiting, (child.rank, child.chars, next(order), child))
    return opened


def _find_unused(name: str, suffix: str, taken: Collection[str]) -> str:
    """Return a name, with a number if it is taken."""
    names = (name if number == 1 else name + suffix.format(number) for number in count(1))
    return next(found for found in names if found not in taken)


def escape_link_text(text: str) -> str:
    """Escape the characters that would end the text of a link."""
    return re.sub(r"([\\\[\]])", r"\\\1", text)
