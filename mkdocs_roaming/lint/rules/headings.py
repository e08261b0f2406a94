"""Headings that do not tell where they lead."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from mkdocs_roaming.lint.context import Docs, PageText, is_identifier, is_version
from mkdocs_roaming.lint.models import Found, Rule
from mkdocs_roaming.lint.wording import is_empty_title, is_signpost, normalize_title
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.manifest.sections import github_slug, hash_id, section_names
from mkdocs_roaming.text import tokenizer as words
from mkdocs_roaming.text.languages import fold


def empty_page_title(docs: Docs) -> Iterator[Found]:
    """Find pages, but the home page, whose title fits any page."""
    for text in docs.written:
        page = text.page
        if not page.path or page is docs.manifest.pages[0]:
            continue
        if is_empty_title(page.title, docs.language) and not _is_name(text, SectionRef(page, 0)):
            yield Found(
                f"The page's title “{page.title}” says nothing of what the page is about.",
                f"Name the subject{_in_group(docs, page)}.",
                page,
            )


def empty_title(docs: Docs) -> Iterator[Found]:
    """Find sections whose title fits any section."""
    for text, place in docs.iter_sections(docs.manuals):
        title = place.section.title
        if place.position and is_empty_title(title, docs.language) and not _is_name(text, place):
            yield Found(
                f"The title “{title}” says nothing of what the section is about.",
                _named_or_dissolved(docs, place),
                place.page,
                place.position,
            )


def repeated_sibling(docs: Docs) -> Iterator[Found]:
    """Find titles that stand more than once below the same parent."""
    for text, place in docs.iter_sections(docs.manuals):
        children = docs.sections.children(place)
        if len(children) < 2:
            continue
        first: dict[str, SectionRef] = {}
        for child in children:
            title = " ".join(child.section.title.split())
            if title and (other := first.setdefault(title, child)).position != child.position:
                yield Found(
                    f"“{child.section.title}” stands twice below “{place.section.title}”, first in line "
                    f"{text.starts[other.position] + 1}: nothing tells them apart, and each id hangs on their order.",
                    "Say in each title what is different about it, or make one section of them.",
                    place.page,
                    child.position,
                )


def repeated_page_title(docs: Docs) -> Iterator[Found]:
    """Find pages of one title in the same group of the nav."""
    pages = {text.page.path: text.page for text in docs.written}
    for group, entries in docs.groups:
        first: dict[str, str] = {}
        for entry in entries:
            page = pages.get(entry.page) if entry.page is not None else None
            title = " ".join(page.title.split()) if page else ""
            if page is None or not title:
                continue
            if (other := first.setdefault(title, page.path)) != page.path:
                where = f"below “{group}”" if group else "at the top of the nav"
                yield Found(
                    f"“{page.title}” stands twice {where}; the other page is /{other}.",
                    "Say in each title what is different about the page.",
                    page,
                )


def repeated_title(docs: Docs) -> Iterator[Found]:
    """Find titles that stand so often that a title alone does not tell where one is; once for each title."""
    found: dict[str, list[SectionRef]] = defaultdict(list)
    for text, place in docs.iter_sections(docs.manuals):
        title = place.section.title
        if (
            place.position
            and not is_identifier(text, place)
            and not is_version(title)
            and not _below_version(docs, place)
        ):
            found[normalize_title(title)].append(place)
    for title, places in found.items():
        if title and len(places) >= _OFTEN and not is_empty_title(title, docs.language) and not is_signpost(title):
            pages = len({place.page.path for place in places})
            first = places[0]
            yield Found(
                f"“{first.section.title}” is the title of {len(places)} sections on {pages} "
                f"page{'' if pages == 1 else 's'}: in search results it does not tell where one is.",
                f"Put the subject into the title{_suggested(docs, first)}.",
                first.page,
                first.position,
            )


def title_apart(docs: Docs) -> Iterator[Found]:
    """Find sections that share no word with their title, and speak of another one's title where that speaks of theirs.

    Sharing no word is no fault by itself: “How it works” and “Limitations” seldom stand in their own text.
    """
    for text in docs.manuals:
        sections = text.page.sections
        titles = [set(_telling(section.title, docs.language)) for section in sections]
        told = [set(_telling(" ".join((section.opening, *section.keywords)), docs.language)) for section in sections]
        for at, wanted in enumerate(titles):
            place = SectionRef(text.page, at)
            if not at or not wanted or docs.sections.children(place) or _is_name(text, place):
                continue
            if is_empty_title(sections[at].title, docs.language):
                continue
            others = [one for one in range(1, len(sections)) if one not in _above(docs, place) and titles[one]]
            other = next((one for one in others if wanted <= told[one] and titles[one] <= told[at]), None)
            if other is not None and _shares_nothing(text, at, wanted):
                yield Found(
                    f"None of the words of “{sections[at].title}” stands in the section's text, which speaks of "
                    f"“{sections[other].title}”, and that section's text has them.",
                    "See whether the two texts changed places; else name in each title what its text is about.",
                    text.page,
                    at,
                )


def unstable_id(docs: Docs) -> Iterator[Found]:
    """Find sections whose id hangs on the order of others: their name or its hash was taken already."""
    for text in docs.texts:
        page = text.page
        names = section_names(
            [section.title for section in page.sections],
            [section.anchor for section in page.sections],
            [section.level for section in page.sections],
        )
        titles: set[tuple[str, str]] = set()
        for at, (name, section) in enumerate(zip(names, page.sections, strict=True)):
            above = docs.sections.parent(SectionRef(page, at))
            twin = (above.id if above else "", " ".join(section.title.split()))
            counted = name and _COUNTED.search(name) and not _COUNTED.search(section.anchor or "")
            # `repeated-sibling` tells of the others; the names in code are what they are.
            if counted and twin not in titles and not is_identifier(text, SectionRef(page, at)):
                same = sum(github_slug(other.title) == github_slug(section.title) for other in page.sections) > 1
                yield Found(
                    f"The id of “{section.title}” hangs on the order of the sections: another one has its "
                    + ("title but for case and signs." if same else f"anchor, “{section.anchor}”."),
                    "Give it another title." if same else "Give the heading an anchor of its own, `{ #name }`.",
                    page,
                    at,
                )
            elif section.id != hash_id(f"{page.path}#{name}") and section.id == hash_id(f"{page.path}#{name}~1"):
                yield Found(
                    f"The id of “{section.title}” was computed again, since another section's hash is the same: it "
                    "changes when that section goes.",
                    "Give the heading another anchor, `{ #name }`.",
                    page,
                    at,
                )
            titles.add(twin)


_OFTEN = 10
_NAME = 40
_ENOUGH = 300
_COUNTED = re.compile(r"~\d+$")
_JOINTS = re.compile(r"[-_\s./`*\\\u00ad\u200b]+")


def _in_group(docs: Docs, page: PageEntry) -> str:
    """Give a page's title with that of its group in the nav, where it has one."""
    above = docs.sections.breadcrumb(SectionRef(page, 0))[:-1]
    return f", as in “{above[-1]}: {page.title}”" if above else ""


def _named_or_dissolved(docs: Docs, place: SectionRef) -> str:
    """Tell what to do about a title that says nothing: most stand over what might open the section above."""
    above = docs.sections.parent(place)
    if above is not None and place.position == above.position + 1 and not above.section.body:
        return f"Take the heading away, so that its text opens “{above.section.title}”; or name the subject."
    return "Name the subject, or let the text stand below the title above it."


def _suggested(docs: Docs, place: SectionRef) -> str:
    """Give a title with the one above it, unless that would be too long for one."""
    above = docs.sections.parent(place)
    name = above.section.title if above is not None else ""
    return f", as in “{name}: {place.section.title}”" if 0 < len(name) <= _NAME else ""


def _shares_nothing(text: PageText, at: int, stems: set[str]) -> bool:
    """Tell whether a section has enough text to be judged by, and none of the words in it in any form."""
    lines = text.own_lines(at)
    if sum(len(text.prose[line]) for line in lines) < _ENOUGH:
        return False
    body = _JOINTS.sub("", fold(" ".join(text.lines[line] for line in lines)))
    return not any(_root(stem) in body for stem in stems)


def _above(docs: Docs, place: SectionRef) -> set[int]:
    """Give the positions of a section and of all above it."""
    found, above = {place.position}, docs.sections.parent(place)
    while above is not None:
        found.add(above.position)
        above = docs.sections.parent(above)
    return found


def _below_version(docs: Docs, place: SectionRef) -> bool:
    above = docs.sections.parent(place)
    return above is not None and (is_version(above.section.title) or _below_version(docs, above))


def _is_name(text: PageText, place: SectionRef) -> bool:
    """Tell whether an empty title is a name: of code, or in a sentence, as in “the Details extension”."""
    if is_identifier(text, place):
        return True
    title = re.escape(place.section.title.strip())
    named = re.compile(rf"(?:[\w,;)]\s+|`){title}\b|\[{title}\]", re.UNICODE)
    return any(named.search(text.lines[line]) for line in text.own_lines(place.position))


def _telling(title: str, language: str) -> list[str]:
    """Give the stems of a title's words that say something."""
    telling = (one for one in words.parse_words(title, language) if not one.stop and not one.whole.isdecimal())
    return list(dict.fromkeys(words.stem(one.whole, language) for one in telling if len(one.whole) > 1))


def _root(stem: str) -> str:
    """Give what any form of a word begins with."""
    return _JOINTS.sub("", stem)[: max(4, len(stem) - 2)]


RULES = (
    Rule(
        "empty-page-title",
        "warning",
        "A page is chosen by its title. “Overview” in llms.txt is opened for every question or for none.",
        empty_page_title,
    ),
    Rule(
        "empty-title",
        "hint",
        "A section is found, cited and listed by its title. “Notes” tells neither a model nor a reader what it holds.",
        empty_title,
    ),
    Rule(
        "repeated-sibling",
        "warning",
        "Two sections of one title below the same parent cannot be told apart, and their ids change places with them.",
        repeated_sibling,
    ),
    Rule(
        "repeated-page-title",
        "warning",
        "Two pages of one title in the same group of the nav cannot be told apart in llms.txt and outline.",
        repeated_page_title,
    ),
    Rule(
        "repeated-title",
        "hint",
        "In search results and citations a title stands alone. One that ten sections share does not tell where one is.",
        repeated_title,
    ),
    Rule(
        "title-apart",
        "hint",
        "Search weighs titles, and models open by them. Text that shares no word with its title is missed.",
        title_apart,
        on=False,
    ),
    Rule(
        "unstable-id",
        "warning",
        "An id that hangs on the order of sections leads elsewhere once a section before it comes or goes.",
        unstable_id,
    ),
)
