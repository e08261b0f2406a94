"""Sections and navs whose shape is hard to walk."""

from __future__ import annotations

from collections.abc import Iterator

from mkdocs_roaming.lint.context import Docs, PageText, is_identifier
from mkdocs_roaming.lint.models import Found, Rule
from mkdocs_roaming.lint.rules.links import MANY_SUBSECTIONS, find_unlisted_pages, is_introduction
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from mkdocs_roaming.manifest.lookup import SectionRef


def no_opening(docs: Docs) -> Iterator[Found]:
    """Find sections with many subsections and no text: their line in an outline shows a child's opening."""
    for _, place in docs.iter_sections(docs.manuals):
        section = place.section
        if section.body or (place.position == 0 and place.page.description):
            continue
        children = docs.sections.children(place)
        if len(children) < MANY_SUBSECTIONS or is_introduction(docs, children[0]):
            continue
        cure = "Write its docstring" if "." in (section.anchor or "") else "Write a sentence below the heading"
        yield Found(
            f"“{section.title}” has {len(children)} subsections and no text of its own: closed, it shows the opening "
            f"of “{children[0].section.title}”.",
            f"{cure}: what is here, and for whom."
            + (" A `description` in the front matter does it too." if place.position == 0 else ""),
            place.page,
            place.position,
        )


def skipped_level(docs: Docs) -> Iterator[Found]:
    """Find headings more than one level below their parent's; the first of each parent."""
    for _, place in docs.iter_sections(docs.written):
        for child in docs.sections.children(place)[:1]:
            here, there = place.section.level, child.section.level
            if there > here + 1:
                yield Found(
                    f"Level {there} follows level {here}: what stands between “{place.section.title}” and "
                    f"“{child.section.title}” is missing, or the heading is set too deep.",
                    f"Make it level {here + 1}.",
                    child.page,
                    child.position,
                )


def crowded_section(docs: Docs) -> Iterator[Found]:
    """Find sections with more subsections than can be looked through at once."""
    for text, place in docs.iter_sections(docs.manuals):
        children = docs.sections.children(place)
        count = len(children)
        if count > _CROWD and not _mostly_names(text, children):  # a class has the members that it has
            yield Found(
                f"“{place.section.title}” has {count} subsections side by side: opening it costs a list of them all.",
                f"Group them, below {_CROWD} to a group, or make pages of the groups.",
                place.page,
                place.position,
            )


def crowded_nav(docs: Docs) -> Iterator[Found]:
    """Find a nav with too many entries at its top, and groups of it with too many pages."""
    left_out = {page.path for page in find_unlisted_pages(docs)}
    for title, entries in docs.groups:
        most = _TOP if not title else _CROWD
        if len(entries) > most and not {entry.page for entry in entries} <= left_out:
            where = f"The nav's group “{title}”" if title else "The nav"
            what = "entries" if title else "entries at its top"
            yield Found(
                f"{where} has {len(entries)} {what}, side by side: open, each costs a line of the outline.",
                f"Group them; {most} or fewer side by side can be looked through.",
            )


def long_section(docs: Docs) -> Iterator[Found]:
    """Find sections whose own text is cut when they are opened."""
    for text, place in docs.iter_sections(docs.manuals):
        size = _size(text.lines, text.own_lines(place.position))
        if size > MAX_EXPANSION_CHARS and not is_identifier(text, place):
            yield Found(
                f"“{place.section.title}” has {size:,} characters of its own: it is opened in parts of {MAX_EXPANSION_CHARS:,}.",
                "Part it by headings, each with a title that tells what is below.",
                place.page,
                place.position,
            )


def long_page(docs: Docs) -> Iterator[Found]:
    """Find pages that many readers of whole pages cut off. Change logs are long by nature."""
    for text in docs.manuals:
        size = len(text.markdown)
        sections = [SectionRef(text.page, at) for at in range(1, len(text.page.sections))]
        if size > _LONG and not _mostly_names(text, sections):  # a page made of a module is as long as that
            yield Found(
                f"The page has {size:,} characters; agents that fetch it whole cut it off, often at {_LONG:,}.",
                "Make several pages of it.",
                text.page,
            )


_CROWD = 40
_TOP = 12
_LONG = 50_000


def _mostly_names(text: PageText, places: list[SectionRef]) -> bool:
    """Tell whether most sections bear names of code."""
    return 2 * sum(is_identifier(text, place) for place in places) > len(places)


def _size(lines: tuple[str, ...], own: range) -> int:
    return sum(len(lines[line]) + 1 for line in own)


RULES = (
    Rule(
        "no-opening",
        "warning",
        "Outlines show the beginning of a section's text. Without one they show its first child's, which misleads.",
        no_opening,
    ),
    Rule(
        "skipped-level",
        "hint",
        "Levels are the outline's indentation. A skipped one is mostly a slip, and hides what belongs to what.",
        skipped_level,
        on=False,
    ),
    Rule(
        "crowded-section",
        "hint",
        "Whoever opens a section reads the list of what is below it. A list of fifty is read instead of the docs.",
        crowded_section,
    ),
    Rule(
        "crowded-nav",
        "hint",
        "An outline closes groups to fit its budget. Where all lies side by side nothing can be closed.",
        crowded_nav,
    ),
    Rule(
        "long-section",
        "warning",
        f"A model opens at most {MAX_EXPANSION_CHARS:,} characters at once; the rest takes further turns, or is never read.",
        long_section,
    ),
    Rule(
        "long-page",
        "hint",
        "Agents that fetch pages whole cut long ones off.",
        long_page,
    ),
)
