"""Rules about headings: titles that do not describe their section, and unstable ids."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from mkdocs_roaming.lint.context import LintContext, PageText, Problem, is_empty_title, is_identifier, rule
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import MORE_GROUP, PageEntry
from mkdocs_roaming.manifest.sections import make_names
from mkdocs_roaming.text.blocks import find_titles


@rule(
    "empty-page-title",
    "warning",
    "A page is selected by its title. A model opens “Overview” in llms.txt for every question or for none.",
)
def empty_page_title(site: LintContext) -> Iterator[Problem]:
    """Find pages, except the home page, with a title that fits any page."""
    for text in site.authored_pages:
        page = text.page
        if not page.path or page is site.manifest.pages[0]:
            continue
        is_empty = is_empty_title(page.title, site.language)
        if is_empty and not _is_proper_name(text, SectionRef(page, 0)):
            yield Problem(
                f"The page's title “{page.title}” does not say what the page is about.",
                f"Name the subject{_suggest_group_title(site, page)}.",
                page,
            )


@rule(
    "empty-title",
    "hint",
    "A section is found, cited and listed by its title. “Notes” tells neither a model nor a reader what it contains.",
)
def empty_title(site: LintContext) -> Iterator[Problem]:
    """Find sections with a title that fits any section."""
    for text, ref in site.iter_sections(site.manual_pages):
        title = ref.section.title
        is_empty = ref.position > 0 and is_empty_title(title, site.language)
        if is_empty and not _is_proper_name(text, ref):
            yield Problem(
                f"The title “{title}” does not say what the section is about.",
                _fix_empty_title(site, ref),
                ref.page,
                ref.position,
            )


@rule(
    "repeated-sibling",
    "warning",
    "Two sections with the same title and parent cannot be distinguished, and their ids depend on their order.",
)
def repeated_sibling(site: LintContext) -> Iterator[Problem]:
    """Find titles that occur more than once below the same parent."""
    for _, ref in site.iter_sections(site.manual_pages):
        positions: dict[str, list[int]] = defaultdict(list)
        for child in site.sections.children(ref):
            title = " ".join(child.section.title.split())
            positions[title].append(child.position)
        for title, same in positions.items():
            if title and len(same) > 1:
                yield Problem(
                    f"{len(same)} sections below “{ref.section.title}” have the title “{title}”: their ids "
                    "depend on their order.",
                    "Say in each title what is different about the section, or merge the sections.",
                    ref.page,
                    same[1],
                )


@rule(
    "bold-title",
    "hint",
    "A line in bold or in capitals looks like a heading. What is below it cannot be found, opened or linked by itself.",
)
def bold_title(site: LintContext) -> Iterator[Problem]:
    """Find sections with lines in place of headings, and pages where such lines became the titles of sections."""
    fix = "Write them as headings, such as `### Title`."
    for text, ref in site.iter_sections(site.manual_pages):
        page = ref.page
        section = ref.section
        lines = text.own_lines(ref.position)
        paragraphs = [part.strip("\n") for part in "\n".join(text.prose[lines.start : lines.stop]).split("\n\n")]
        titles = [paragraphs[at].strip("*") for at in find_titles(paragraphs)]
        if len(titles) > 1 and not is_identifier(text, ref):
            message = f"“{titles[0]}” and “{titles[1]}” in “{section.title}” look like headings."
            yield Problem(message, fix, page, ref.position)
        anchor, *further = [section.anchor for section in page.sections]
        if ref.position == 1 and anchor and not any(further):
            yield Problem(
                f"“{section.title}” and all other sections below the title have no anchor, so links lead to the top of "
                "the page: their titles are lines in bold, or headings without an id.",
                fix,
                page,
                1,
            )


@rule(
    "unstable-id",
    "warning",
    "An id that depends on the order of sections leads to another section when an earlier one is added or removed.",
)
def unstable_id(site: LintContext) -> Iterator[Problem]:
    """Find sections whose id depends on the order of sections, since another one has the same name."""
    for text in site.pages:
        page = text.page
        siblings: set[tuple[int | None, str]] = set()
        names = make_names(page.sections)
        for position, section in enumerate(page.sections):
            name = names[position]
            ref = SectionRef(page, position)
            parent = site.sections.parent(ref)
            title = " ".join(section.title.split())
            sibling = (parent.position if parent else None, title)
            is_numbered = _is_numbered(name) and not _is_numbered(section.anchor or "")
            is_reported = sibling in siblings  # by `repeated-sibling`
            if is_numbered and not is_reported and not is_identifier(text, ref):  # names of code cannot be changed
                yield Problem(
                    f"The id of “{section.title}” depends on the order of the sections: another section has its title, "
                    "except for case and punctuation, or its anchor.",
                    "Change the title, or set an anchor for the heading: `{ #name }`.",
                    page,
                    position,
                )
            siblings.add(sibling)


def _is_numbered(name: str) -> bool:
    """Return whether a name ends with the number of a section, as in `install~2`."""
    _, sign, number = name.rpartition("~")
    return sign != "" and number.isdecimal()


def _suggest_group_title(site: LintContext, page: PageEntry) -> str:
    """Return an example with the page's title and that of its group in the nav."""
    above = site.sections.breadcrumb(SectionRef(page, 0))[:-1]
    if not above or above[-1] == MORE_GROUP:
        return ""
    return f", as in “{above[-1]}: {page.title}”"


def _fix_empty_title(site: LintContext, ref: SectionRef) -> str:
    """Return a fix; a first subsection can often become the text of its parent."""
    parent = site.sections.parent(ref)
    is_first = parent is not None and ref.position == parent.position + 1
    if parent and is_first and not parent.section.body:
        return f"Delete the heading, so that its text introduces “{parent.section.title}”, or name the subject."
    return "Name the subject, or delete the heading, so that the text belongs to the section above."


def _is_proper_name(text: PageText, ref: SectionRef) -> bool:
    """Return whether a title is used as a name in the text: of code, or as in “the Details extension”."""
    if is_identifier(text, ref):
        return True
    title = re.escape(ref.section.title.strip())
    in_sentence = re.compile(rf"(?:[\w,;)]\s+|`){title}\b|\[{title}\]", re.UNICODE)
    return any(in_sentence.search(text.lines[line]) for line in text.own_lines(ref.position))
