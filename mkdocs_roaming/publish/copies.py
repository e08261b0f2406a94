"""One copy of each text: excerpts of pages, and pages with the text of another page.

The excerpts in the lists of a blog become items with a link, a date and the description of the post. A page with the
text of another one, for example because both include it, points to it. Anchors that go lead to the page's own section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import Struct

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
    excerpts = _Excerpts(batch, {_address(batch.site, path): path for path in batch.pages})
    lists: dict[str, list[str]] = {}
    first_pages: dict[object, str] = {}
    for path in sort_paths_by_nav(batch.site, batch.pages):
        converted = batch.converted[path]
        if batch.pages[path].markdown is not None:  # as its site publishes it
            continue
        if posts := excerpts.replace_on(path, converted):
            lists[path] = posts
        elif sum(section.tokens for section in converted.sections) >= _MIN_TOKENS:
            own, *below = converted.sections
            texts = [(section.title, section.body) for section in below]
            key = (own.body, *texts)
            first = first_pages.setdefault(key, path)
            if first != path and not _are_variants(first, path):
                _point_to(batch, path, first)
    if not lists:
        return batch.site
    blogs = _find_blogs(lists)
    return replace(batch.site, nav=_add_posts(batch.site.nav, blogs))


def _store(batch: Batch, path: str, text: str, sections: Sequence[Section], anchors: Iterable[str | None]) -> bool:
    """Store the new text of a page, with the headings of `sections` and further anchors of the first.

    A page with raw HTML may have other sections without a part of it; its text is left, and the result is False.
    """
    headings = [Heading(section.level, section.title, section.anchor, section.anchors) for section in sections]
    own_anchors = dict.fromkeys(filter(None, (*headings[0].anchors, *anchors)))
    headings[0] = replace(headings[0], anchors=tuple(own_anchors))
    split = split_sections(text, title=sections[0].title, headings=headings)
    if [section.level for section in split] != [section.level for section in sections]:
        return False
    flagged: list[Section] = []
    for new, old in zip(split, sections, strict=True):
        flagged.append(replace(new, flags=old.flags))
    converted = batch.converted[path]
    batch.converted[path] = ConvertedPage(text, tuple(flagged), converted.links, converted.images)
    return True


# Repeated pages


def _are_variants(first: str, second: str) -> bool:
    """Return whether pages have the same file name, as versions and translations do; home pages have none."""
    name = first.rstrip("/").rpartition("/")[2]
    second_name = second.rstrip("/").rpartition("/")[2]
    return name == second_name or not (first and second)


def _point_to(batch: Batch, path: str, first: str) -> None:
    """Replace the text of a page by a link to the page that has it, too."""
    site = batch.site
    own, *below = batch.converted[path].sections
    target = batch.converted[first].sections[0].title
    address = relative_url(markdown_path(path), markdown_path(first))
    if site.url:
        address = _address(site, first)
    link = f"[{escape_text(target)}]({address})"
    text = f"# {escape_text(own.title)}\n\nThis page has the same text as {link}.\n"
    if pointer := format_pointer(site, batch.pages[path]):
        text = f"{pointer}\n{text}"
    anchors: list[str | None] = []
    for section in below:
        anchors += (section.anchor, *section.anchors)
    _store(batch, path, text, [own], anchors)


def _address(site: Site, path: str) -> str:
    """Return the address by which pages link to a page."""
    return path_to_url(site.url or "/", path if site.crawled_from else markdown_path(path))


# Excerpts


class _Excerpts(Struct, frozen=True):
    """Replaces the excerpts of the pages of a batch."""

    batch: Batch
    paths: Mapping[str, str]
    """The path of each page by its address."""

    def replace_on(self, path: str, converted: ConvertedPage) -> list[str]:
        """Replace the excerpts on a page by items of a list. Return the pages that they are from."""
        if not _LINKED_TITLE.search(converted.markdown):
            return []
        data = converted.markdown.encode("utf-8", "surrogatepass")
        own, *below = converted.sections
        texts = [data[: own.end].decode("utf-8", "surrogatepass").rstrip()]
        kept = [own]
        posts = list[str]()
        anchors = list[str | None]()
        excerpt: Section | None = None
        for section in below:
            section_data = data[section.start : section.end]
            text = section_data.decode("utf-8", "surrogatepass")
            post = self._find_linked_page(path, text)
            last = excerpt
            is_in_last = last is not None and (section.level > last.level or post == posts[-1])
            if not is_in_last:
                is_excerpt = post and post != path and self._is_from(post, section, text)
                excerpt = section if is_excerpt else None
                if is_excerpt:
                    texts.append("\n" if last else "\n\n")
                    texts.append(self._format_item(post, text))
                    posts.append(post)
                else:
                    texts.append("\n\n")
                    texts.append(text.rstrip())
                    kept.append(section)
            if excerpt:
                anchors.append(section.anchor)
                anchors += section.anchors
        texts.append("\n")
        is_stored = posts and _store(self.batch, path, "".join(texts), kept, anchors)
        return posts if is_stored else []

    def _find_linked_page(self, path: str, text: str) -> str:
        """Return the page that the heading of a section is a link to; an empty string if there is none."""
        link = _LINKED_TITLE.match(text)
        if link is None:
            return ""
        address = join_url(_address(self.batch.site, path), link[1])
        return self.paths.get(address, "")

    def _is_from(self, post: str, section: Section, text: str) -> bool:
        """Return whether a section has the title of a page, and its first line of text, or only a date."""
        converted = self.batch.converted[post]
        if section.title != converted.sections[0].title:
            return False
        _, *lines = text.split("\n")
        prose = [line for line in lines if line.strip() and line[0] not in "-*`~|"]
        if not prose:
            return _DATE.match(text) is not None
        long_lines = [line for line in prose if len(line) >= _LONG_LINE]
        first, *_ = long_lines or prose
        return first[:_LONG_LINE] in converted.markdown

    def _format_item(self, post: str, text: str) -> str:
        title, _, _ = text.lstrip("# ").partition("\n")
        item = f"- {title.rstrip()}"
        about = to_single_line(self.batch.pages[post].description)
        for section in self.batch.converted[post].sections:
            about = about or section.opening
        if about:
            item += f": {escape_text(about)}"
        if date := _DATE.match(text):
            item += f" ({date[1].strip()})"
        return item


# The nav


def _find_blogs(lists: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the posts of each blog by the path of its main list: the one that most lists of a post belong to."""
    listed: dict[str, Counter[str]] = {}
    for path, posts in lists.items():
        main = find_blog(path)
        if main is None:
            main = path
        for post in posts:
            listed.setdefault(post, Counter())[main] += 1
    blogs: dict[str, list[str]] = {}
    for post, counts in listed.items():
        main = max(counts, key=lambda blog: (counts[blog], len(blog)))
        blogs.setdefault(main, []).append(post)
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
