"""Rules about structure: sections, navs, unlinked pages and descriptions."""

from __future__ import annotations

from collections.abc import Iterator

from mkdocs_roaming.lint.context import LintContext, Problem, is_empty_title, is_identifier, rule
from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS
from mkdocs_roaming.manifest.lookup import count_incoming_links

_MANY_SUBSECTIONS = 5
_KILOBYTE = 1000
_MAX_PAGE_BYTES = 50 * _KILOBYTE


@rule(
    "no-opening",
    "warning",
    "Outlines describe a section by the first sentence of its text. Without text, only its title says what it covers.",
)
def no_opening(site: LintContext) -> Iterator[Problem]:
    """Find sections with many subsections and no text of their own."""
    for _, ref in site.iter_sections(site.manual_pages):
        section = ref.section
        if section.body or (ref.position == 0 and ref.page.description):
            continue
        children = site.sections.children(ref)
        if len(children) < _MANY_SUBSECTIONS:
            continue
        first = children[0].section
        if first.body and is_empty_title(first.title, site.language):  # an introduction, such as “Overview”
            continue
        action = "Write its docstring" if "." in (section.anchor or "") else "Write a sentence below the heading"
        fix = f"{action}: what the section covers, and for whom."
        if ref.position == 0:
            fix += " A `description` in the front matter is enough, too."
        message = (
            f"“{section.title}” has {len(children)} subsections and no text of its own: outlines show only its title."
        )
        yield Problem(message, fix, ref.page, ref.position)


@rule(
    "long-section",
    "warning",
    f"A model opens at most {MAX_EXPANSION_CHARS:,} characters at once; the rest needs further calls or is never read.",
)
def long_section(site: LintContext) -> Iterator[Problem]:
    """Find sections whose own text is truncated when they are opened."""
    for text, ref in site.iter_sections(site.manual_pages):
        size = 0
        for line in text.own_lines(ref.position):
            size += len(text.lines[line]) + 1
        if size > MAX_EXPANSION_CHARS and not is_identifier(text, ref):
            yield Problem(
                f"“{ref.section.title}” has {size:,} characters of its own: it is opened in parts of "
                f"{MAX_EXPANSION_CHARS:,}.",
                "Split it with headings that describe their text.",
                ref.page,
                ref.position,
            )


@rule(
    "long-page",
    "hint",
    "Agents that fetch whole pages truncate long ones.",
)
def long_page(site: LintContext) -> Iterator[Problem]:
    """Find pages that agents truncate."""
    for text in site.manual_pages:
        if (size := text.page.bytes) > _MAX_PAGE_BYTES:
            yield Problem(
                f"The page has {size // _KILOBYTE} KB of Markdown; agents that fetch it whole truncate it, often at "
                f"{_MAX_PAGE_BYTES // _KILOBYTE} KB.",
                "Split it into several pages, such as one for each module of an API.",
                text.page,
            )


@rule(
    "orphan-page",
    "warning",
    "A page that neither the nav nor another page links to is found by search alone, and its context is unknown.",
)
def orphan_page(site: LintContext) -> Iterator[Problem]:
    """Find pages that are not in the nav and that no other page links to."""
    linked = count_incoming_links(site.manifest)
    for page in site.unlisted_pages:
        if page.path and page.path not in linked:
            yield Problem(
                "The page is not in the nav, and no other page links to it.",
                "Add it to the nav, link to it, or exclude it with `llms: false` in its front matter.",
                page,
            )


@rule(
    "no-site-description",
    "hint",
    "The description of the site is the first thing that a model reads about it.",
)
def no_site_description(site: LintContext) -> Iterator[Problem]:
    """Find a site that neither its configuration nor its home page describes."""
    entry = site.manifest.site
    if entry.url.startswith("http") and not entry.description.strip():
        yield Problem(
            "Neither a description nor a sentence of the home page says in llms.txt what the site is about.",
            "Set `site_description` in mkdocs.yml, or use `roaming index --description`.",
        )
