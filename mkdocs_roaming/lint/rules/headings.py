"""Rules about headings: titles that do not describe their section, and unstable ids."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from mkdocs_roaming.lint.context import (
    LintContext,
    PageText,
    Problem,
    is_empty_title,
    is_identifier,
    is_signpost,
    normalize_title,
    rule,
)
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import MORE_GROUP, PageEntry
from mkdocs_roaming.manifest.page_kinds import is_version
from mkdocs_roaming.manifest.sections import github_slug, make_names
from mkdocs_roaming.text.markdown import pluralize

_MIN_REPETITIONS = 10
_MAX_SUGGESTED_PARENT = 40  # characters


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
        if is_empty_title(page.title, site.language) and not _is_proper_name(text, SectionRef(page, 0)):
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
        if ref.position and is_empty_title(title, site.language) and not _is_proper_name(text, ref):
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
            positions[" ".join(child.section.title.split())].append(child.position)
        for title, (_, *others) in positions.items():
            if title and others:
                yield Problem(
                    f"{len(others) + 1} sections below “{ref.section.title}” have the title “{title}”: their ids "
                    "depend on their order.",
                    "Say in each title what is different about the section, or merge the sections.",
                    ref.page,
                    others[0],
                )


@rule(
    "repeated-title",
    "hint",
    "Search results and citations show titles alone. A title of ten sections does not say where a section is.",
)
def repeated_title(site: LintContext) -> Iterator[Problem]:
    """Find titles of many sections; each title is reported once."""
    refs_by_title: dict[str, list[SectionRef]] = defaultdict(list)
    for text, ref in site.iter_sections(site.manual_pages):
        title = ref.section.title
        if ref.position and not is_identifier(text, ref) and not is_version(title) and not _is_below_version(site, ref):
            refs_by_title[normalize_title(title)].append(ref)
    for title, refs in refs_by_title.items():
        if (
            title
            and len(refs) >= _MIN_REPETITIONS
            and not is_empty_title(title, site.language)
            and not is_signpost(title)
        ):
            pages = len({ref.page.path for ref in refs})
            first = refs[0]
            yield Problem(
                f"{len(refs)} sections on {pluralize(pages, 'page')} have the title "
                f"“{first.section.title}”: search results do not show where each section is.",
                f"Add the subject to the title{_suggest_qualified_title(site, first)}.",
                first.page,
                first.position,
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
        names = make_names(page.sections)
        siblings: set[tuple[str, str]] = set()
        for position, (name, section) in enumerate(zip(names, page.sections, strict=True)):
            ref = SectionRef(page, position)
            parent = site.sections.parent(ref)
            sibling = (parent.id if parent else "", " ".join(section.title.split()))
            is_numbered = name and _NUMBERED.search(name) and not _NUMBERED.search(section.anchor or "")
            # `repeated-sibling` reports equal siblings; names of code cannot be changed.
            if is_numbered and sibling not in siblings and not is_identifier(text, ref):
                same = sum(github_slug(other.title) == github_slug(section.title) for other in page.sections) > 1
                yield Problem(
                    f"The id of “{section.title}” depends on the order of the sections: another section has its "
                    + ("title, except for case and punctuation." if same else f"anchor, “{section.anchor}”."),
                    "Change the title." if same else "Set an anchor for the heading: `{ #name }`.",
                    page,
                    position,
                )
            siblings.add(sibling)


def _suggest_group_title(site: LintContext, page: PageEntry) -> str:
    """Return an example with the page's title and that of its group in the nav."""
    group = site.sections.breadcrumb(SectionRef(page, 0))[:-1]
    return f", as in “{group[-1]}: {page.title}”" if group and group[-1] != MORE_GROUP else ""


def _fix_empty_title(site: LintContext, ref: SectionRef) -> str:
    """Return a fix; a first subsection can often become the text of its parent."""
    parent = site.sections.parent(ref)
    if parent is not None and ref.position == parent.position + 1 and not parent.section.body:
        return f"Delete the heading, so that its text introduces “{parent.section.title}”, or name the subject."
    return "Name the subject, or delete the heading, so that the text belongs to the section above."


def _suggest_qualified_title(site: LintContext, ref: SectionRef) -> str:
    """Return an example with the title of the parent, unless that is too long."""
    parent = site.sections.parent(ref)
    title = parent.section.title if parent is not None else ""
    return f", as in “{title}: {ref.section.title}”" if 0 < len(title) <= _MAX_SUGGESTED_PARENT else ""


def _is_below_version(site: LintContext, ref: SectionRef) -> bool:
    parent = site.sections.parent(ref)
    return parent is not None and (is_version(parent.section.title) or _is_below_version(site, parent))


def _is_proper_name(text: PageText, ref: SectionRef) -> bool:
    """Return whether a title is used as a name in the text: of code, or as in “the Details extension”."""
    if is_identifier(text, ref):
        return True
    title = re.escape(ref.section.title.strip())
    in_sentence = re.compile(rf"(?:[\w,;)]\s+|`){title}\b|\[{title}\]", re.UNICODE)
    return any(in_sentence.search(text.lines[line]) for line in text.own_lines(ref.position))


_NUMBERED = re.compile(r"~\d+$")
