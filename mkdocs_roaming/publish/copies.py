"""One copy of each text: excerpts of pages, and pages with the text of another page.

The excerpts in the lists of a blog become items with a link, a date and the description of the post. A page with the
text of another one, for example because both include it, points to it. Anchors that go lead to the page's own section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from mkdocs_roaming.html.escape import escape_text
from mkdocs_roaming.manifest.models import (
    Heading,
    NavItem,
    Section,
    Site,
    iter_nav,
    join_url,
    markdown_path,
    path_to_url,
    relative_url,
    sort_paths_by_nav,
)
from mkdocs_roaming.manifest.page_kinds import find_blog
from mkdocs_roaming.manifest.sections import split_sections
from mkdocs_roaming.publish.cache import ConvertedPage
from mkdocs_roaming.publish.pipeline import Batch, format_pointer
from mkdocs_roaming.text.markdown import to_single_line

_LINKED_TITLE = re.compile(
    r"#{1,6}[ \t]+\[(?:[^\[\]\\\n]|\\.|\[[^\[\]\n]*\])+\]\(([^\s()#]+)(?:#\S*)?\)[ \t]*$", re.MULTILINE
)
_DATE = re.compile(r"[^\n]*\n\s*[-*][ \t]+([^\[\]\n]*\d[^\[\]\n]*)$", re.MULTILINE)
"""The first item of a list at the start of an excerpt."""
_LONG_LINE = 40
"""Characters of a line that is no date or author; those are also in lists."""
_MIN_TOKENS = 50
"""Shorter pages, such as “To be written”, do not repeat each other."""


def replace_copies(batch: Batch) -> Site:
    """Replace excerpts and repeated pages in a batch. Return the site with the posts of blogs in the nav."""
    excerpts = _Excerpts(batch)
    lists: dict[str, list[str]] = {}
    first_pages: dict[tuple[str, ...], str] = {}
    for path in sort_paths_by_nav(batch.site, batch.pages):
        converted = batch.converted[path]
        if batch.pages[path].markdown is not None:  # as its site publishes it
            continue
        if posts := excerpts.replace_on(path, converted):
            lists[path] = posts
        elif sum(section.tokens for section in converted.sections) >= _MIN_TOKENS:
            key = tuple(text for section in converted.sections for text in (section.title, section.body))[1:]
            first = first_pages.setdefault(key, path)
            if first != path and not _are_variants(first, path):
                _point_to(batch, path, first)
    return replace(batch.site, nav=_add_posts(batch.site.nav, _find_blogs(lists))) if lists else batch.site


def _store(batch: Batch, path: str, text: str, sections: Sequence[Section], anchors: Iterable[str | None]) -> bool:
    """Store the new text of a page, with the headings of `sections` and further anchors of the first.

    A page with raw HTML may have other sections without a part of it; its text is left, and the result is False.
    """
    own, *others = (Heading(one.level, one.title, one.anchor, one.anchors) for one in sections)
    own = replace(own, anchors=tuple(dict.fromkeys(filter(None, (*own.anchors, *anchors)))))
    split = split_sections(text, title=sections[0].title, headings=(own, *others))
    if [section.level for section in split] != [section.level for section in sections]:
        return False
    flagged = (replace(new, flags=old.flags) for new, old in zip(split, sections, strict=True))
    converted = batch.converted[path]
    batch.converted[path] = ConvertedPage(text, tuple(flagged), converted.links, converted.images)
    return True


# Repeated pages


def _are_variants(path: str, other: str) -> bool:
    """Return whether two pages have the same file name, as versions and translations do; home pages have none."""
    return not path or not other or path.rstrip("/").rpartition("/")[2] == other.rstrip("/").rpartition("/")[2]


def _point_to(batch: Batch, path: str, first: str) -> None:
    """Replace the text of a page by a link to the page that has it, too."""
    site = batch.site
    (own, *others) = batch.converted[path].sections
    target = batch.converted[first].sections[0].title
    address = _address(site, first) if site.url else relative_url(markdown_path(path), markdown_path(first))
    link = f"[{escape_text(target)}]({address})"
    text = f"# {escape_text(own.title)}\n\nThis page has the same text as {link}.\n"
    if pointer := format_pointer(site, batch.pages[path]):
        text = f"{pointer}\n{text}"
    _store(batch, path, text, [own], (anchor for one in others for anchor in (one.anchor, *one.anchors)))


def _address(site: Site, path: str) -> str:
    """Return the address by which pages link to a page."""
    return path_to_url(site.url or "/", path if site.crawled_from else markdown_path(path))


# Excerpts


class _Excerpts:
    """Replaces the excerpts of the pages of a batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._paths = {_address(batch.site, path): path for path in batch.pages}

    def replace_on(self, path: str, converted: ConvertedPage) -> list[str]:
        """Replace the excerpts on a page by items of a list. Return the pages that they are from."""
        if not _LINKED_TITLE.search(converted.markdown):
            return []
        data = converted.markdown.encode("utf-8", "surrogatepass")
        own, *others = converted.sections
        texts = [data[: own.end].decode("utf-8", "surrogatepass").rstrip()]
        kept = [own]
        posts = list[str]()
        anchors = list[str | None]()
        excerpt: Section | None = None
        for section in others:
            text = data[section.start : section.end].decode("utf-8", "surrogatepass")
            post = self._find_linked_page(path, text)
            last = excerpt
            if last is None or (section.level <= last.level and post != posts[-1]):  # not a heading in the last excerpt
                excerpt = section if post and post != path and self._is_from(post, section, text) else None
                if excerpt:
                    texts.append(("\n" if last else "\n\n") + self._format_item(post, text))
                    posts.append(post)
                else:
                    texts.append(f"\n\n{text.rstrip()}")
                    kept.append(section)
            if excerpt:
                anchors += (section.anchor, *section.anchors)
        return posts if posts and _store(self._batch, path, "".join(texts) + "\n", kept, anchors) else []

    def _find_linked_page(self, path: str, text: str) -> str:
        """Return the page that the heading of a section is a link to; an empty string if there is none."""
        found = _LINKED_TITLE.match(text)
        return self._paths.get(join_url(_address(self._batch.site, path), found[1]), "") if found else ""

    def _is_from(self, post: str, section: Section, text: str) -> bool:
        """Return whether a section has the title of a page, and its first line of text, or only a date."""
        converted = self._batch.converted[post]
        lines = [line for line in text.split("\n")[1:] if line.strip() and line[0] not in "-*`~|"]  # only prose
        first = next((line for line in lines if len(line) >= _LONG_LINE), lines[0] if lines else "")
        is_copied = first[:_LONG_LINE] in converted.markdown if first else _DATE.match(text) is not None
        return is_copied and section.title == converted.sections[0].title

    def _format_item(self, post: str, text: str) -> str:
        link = text.lstrip("# ").partition("\n")[0].rstrip()
        page = self._batch.pages[post]
        sections = self._batch.converted[post].sections
        about = to_single_line(page.description) or next((one.opening for one in sections if one.opening), "")
        date = _DATE.match(text)
        return f"- {link}{': ' if about else ''}{escape_text(about)}{f' ({date[1].strip()})' if date else ''}"


# The nav


def _find_blogs(lists: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the posts of each blog by the path of its main list: the one that most lists of a post belong to."""
    listed: dict[str, Counter[str]] = {}
    for path, posts in lists.items():
        blog = find_blog(path)
        for post in posts:
            listed.setdefault(post, Counter())[path if blog is None else blog] += 1
    blogs: dict[str, list[str]] = {}
    for post, counts in listed.items():
        blogs.setdefault(max(counts, key=lambda blog: (counts[blog], len(blog))), []).append(post)
    return blogs


def _add_posts(nav: Sequence[NavItem], blogs: Mapping[str, list[str]]) -> tuple[NavItem, ...]:
    """Return the nav with posts in the group of their blog, or below its list; those in the nav stay where they are."""
    placed = {item.path for item in iter_nav(nav)}

    def add(items: Iterable[NavItem], *, is_top: bool = False) -> Iterator[NavItem]:
        for number, item in enumerate(items):
            posts = blogs.get(item.path, ()) if item.path is not None else ()
            own = [NavItem("", post) for post in posts if post not in placed]
            placed.update(posts)
            if number or is_top or item.children:
                yield replace(item, children=(*add(item.children), *own))
            else:
                yield from (item, *own)

    return tuple(add(nav, is_top=True))
