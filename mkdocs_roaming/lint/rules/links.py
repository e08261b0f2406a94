"""Pages that nothing leads to, links that lead nowhere, and what lists cannot say of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from urllib.parse import unquote

from mkdocs_roaming.lint.context import Docs, PageText, base_name, find_links, is_version
from mkdocs_roaming.lint.models import Found, Rule
from mkdocs_roaming.lint.wording import is_empty_title
from mkdocs_roaming.manifest.builder import MORE_GROUP
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry, url_to_path


def orphan_page(docs: Docs) -> Iterator[Found]:
    """Find pages that the nav leaves out and no other page links to."""
    linked: set[str] = set()
    owner = {section.id: page.path for page in docs.manifest.pages for section in page.sections}
    for page in docs.manifest.pages:
        for section in page.sections:
            linked.update(owner[to] for to in section.links if to in owner and owner[to] != page.path)
    for page in find_unlisted_pages(docs):
        if page.path and page.path not in linked:
            yield Found(
                "The page is not in the nav, and no other page links to it.",
                "Put it into the nav, link to it, or keep it out with `llms: false` in its front matter.",
                page,
            )


def broken_link(docs: Docs) -> Iterator[Found]:
    """Find links to pages and files of the site that are not there."""
    for text, line, href in _links(docs):
        path = _path(docs, href)
        if path is not None and path not in docs.by_file and not docs.exists(path) and not _beside(docs, path):
            yield Found(
                f"The link to {_short(docs, href)} leads nowhere.",
                f"Correct the address{_of_that_name(docs, path)}, or take the link away.",
                text.page,
                text.section_at(line),
                line,
                href,
            )


def broken_anchor(docs: Docs) -> Iterator[Found]:
    """Find links to places on a page that the page does not have."""
    for text, line, href in _links(docs):
        address, _, fragment = href.partition("#")
        if not fragment or fragment.startswith(":~:"):
            continue
        path = _path(docs, href)
        page = text.page if not address else docs.by_file.get(path) if path is not None else None
        if page is None or unquote(fragment) in ("", "top"):
            continue
        anchors = docs.anchors(page)
        if anchors is not None and not {fragment, unquote(fragment)} & anchors:
            yield Found(
                f"The link to {_short(docs, href)} names no place on that page: it leads to its beginning.",
                f"Correct what stands behind `#`{_alike(page, unquote(fragment))}; "
                "the page's headings tell their anchors.",
                text.page,
                text.section_at(line),
                line,
                href,
            )


def no_description(docs: Docs) -> Iterator[Found]:
    """Find pages of which llms.txt and outline can say nothing: no description, no text below the title."""
    for text in docs.manuals:
        page = text.page
        if page.description or page.sections[0].body or _is_bare(page):
            continue
        children = docs.sections.children(SectionRef(page, 0))
        if is_introduction(docs, children[0]) or (len(children) == 1 and _begins_with_words(text, children[0])):
            continue
        if len(children) < MANY_SUBSECTIONS:  # of the others `no-opening` tells
            shown = f", but a subsection's beginning: “{page.sections[0].opening}”" if page.sections[0].opening else ""
            yield Found(
                f"The page has neither a description nor text below its title: llms.txt has nothing to say{shown}.",
                "Write a sentence below the title, or `description: …` in the front matter.",
                page,
            )


def no_site_description(docs: Docs) -> Iterator[Found]:
    """Find a site that does not say what it is about."""
    if docs.manifest.site.url.startswith("http") and not docs.manifest.site.description.strip():
        yield Found(
            "The site has no description: the first lines of llms.txt do not say what it is about.",
            "Set `site_description` in mkdocs.yml, or `roaming index --description`.",
        )


MANY_SUBSECTIONS = 5
"""The subsections from which on a section needs a text of its own."""


def is_introduction(docs: Docs, first: SectionRef) -> bool:
    """Tell whether a first subsection is the beginning of all above it: “Overview”, of which `empty-title` tells."""
    return first.section.body != "" and is_empty_title(first.section.title, docs.language)


def find_unlisted_pages(docs: Docs) -> list[PageEntry]:
    """Give the pages that the author's nav leaves out: the manifest lists them last, in a group of its own."""
    last = docs.manifest.nav[-1] if docs.manifest.nav else None
    if last is None or last.title != MORE_GROUP or last.page is not None or last.url is not None:
        return []
    pages = {page.path: page for page in docs.manifest.pages}
    found = [pages.get(entry.page) if entry.page is not None else None for entry in last.children]
    listed = [page for page in found if page is not None]
    # A group of that title may be the author's own: entries of ours bear their page's title, in the manifest's order.
    ours = all(page and page.title == entry.title for page, entry in zip(found, last.children, strict=True))
    return listed if ours and tuple(listed) == docs.manifest.pages[-len(listed) :] else []


def _links(docs: Docs) -> Iterator[tuple[PageText, int, str]]:
    """Give each link of the prose with its line; lists of posts repeat what the posts hold.

    Of a change log only the newest version is looked at: nobody writes the older ones again.
    """
    manuals = {text.page.path for text in docs.manuals}
    for text in docs.written:
        end = len(text.lines) if text.page.path in manuals else _newest(text)
        for number, line in enumerate(text.prose[:end]):
            if "](" in line or "<" in line:
                for href in find_links(line):
                    yield text, number, href


def _path(docs: Docs, href: str) -> str | None:
    """Give the path on this site that a link names, None for any other address."""
    address = href.partition("#")[0]
    url = docs.manifest.site.url
    if not address or "?" in address or not re.match(r"https?:", url):
        return None
    return url_to_path(url, address)


def _newest(text: PageText) -> int:
    """Give the line where the second version of a change log begins."""
    versions = [text.starts[at] for at, section in enumerate(text.page.sections) if is_version(section.title)]
    return versions[1] if len(versions) > 1 else len(text.lines)


def _beside(docs: Docs, path: str) -> bool:
    """Tell whether a path leads to another version or language of the docs: once deployed it lies beside this one."""
    return _OTHERS.match(path) is not None and not docs.exists(path.partition("/")[0])


def _of_that_name(docs: Docs, path: str) -> str:
    """Give the page that bears the name a broken link ends in, where there is but one."""
    name = base_name(path)
    pages = docs.by_name.get(name, ()) if name else ()
    return f", perhaps to /{pages[0].path}" if len(pages) == 1 else ""


def _alike(page: PageEntry, fragment: str) -> str:
    """Give the anchor of a page that is spelt much like a missing one."""
    anchors = [section.anchor for section in page.sections[:_MOST] if section.anchor]
    found = get_close_matches(fragment, anchors, 1, 0.8)
    return f", perhaps to `#{found[0]}`" if found else ""


def _short(docs: Docs, href: str) -> str:
    return "/" + href.removeprefix(docs.manifest.site.url) if href.startswith(docs.manifest.site.url) else href


def _is_bare(page: PageEntry) -> bool:
    """Tell whether a page holds nothing but its title: its theme draws the rest."""
    return len(page.sections) == 1


def _begins_with_words(text: PageText, place: SectionRef) -> bool:
    """Tell whether a section's own text begins with words, and not with code such as a signature."""
    first = next((line for line in text.own_lines(place.position) if text.lines[line].strip()), None)
    return first is not None and text.prose[first].strip(" `") != ""


_MOST = 300  # anchors that are compared: on longer pages every broken link would cost too much
_LANGUAGES = (
    "ar|az|be|bg|bn|bs|ca|cs|da|de|el|en|es|et|eu|fa|fi|fr|gl|he|hi|hr|hu|hy|id|is|it|ja|ka|kk|ko|lt|lv|mk|ml|mn|ms"
    "|nb|ne|nl|nn|no|pl|pt|ro|ru|si|sk|sl|sq|sr|sv|sw|ta|te|th|tr|uk|ur|uz|vi|zh"
)
_VERSION = r"(?:latest|stable|dev|main|master|next|v?\d+(?:\.\w+)*)"
_OTHERS = re.compile(
    rf"{_VERSION}/|(?:{_LANGUAGES})(?:[-_](?:[a-z]{{2}}|[a-z]{{4}}))?/(?:{_VERSION}(?:/|$))?", re.IGNORECASE
)

RULES = (
    Rule(
        "orphan-page",
        "warning",
        "What neither nav nor links lead to is found by search alone, and its place in the docs is unknown.",
        orphan_page,
    ),
    Rule(
        "broken-link",
        "error",
        "A model follows links as a reader does, and tells its reader an address that is not there.",
        broken_link,
    ),
    Rule(
        "broken-anchor",
        "warning",
        "A link into a page opens the section that it names. One that names none opens the whole page.",
        broken_anchor,
    ),
    Rule(
        "no-description",
        "hint",
        "llms.txt and outline say one line of each page: its description, else its beginning.",
        no_description,
    ),
    Rule(
        "no-site-description",
        "hint",
        "The first thing that is read of a site is what it is about.",
        no_site_description,
    ),
)
