"""The files of a site that are made from its manifest: section files, llms.txt, outline, skill and schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import starmap

from msgspec.structs import replace

from mkdocs_roaming.manifest.expand import render_section_file
from mkdocs_roaming.manifest.io import MANIFEST_PATH, SCHEMA_PATH, iter_manifest_json, render_schema
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import LLMS_TXT, OUTLINE_PATH, LlmsTxtEntry, Manifest, PublishedPage, Site
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.manifest.sections import file_digest
from mkdocs_roaming.publish.agents.skill import iter_copies, iter_skill_files, skill_path
from mkdocs_roaming.publish.cache import SiteFile, SiteFiles
from mkdocs_roaming.publish.elements.finder_index import iter_finder_files
from mkdocs_roaming.publish.elements.html import iter_not_found_files
from mkdocs_roaming.publish.elements.widget import parse_widget_options
from mkdocs_roaming.publish.llms_txt import MAX_CHARS, build_llms_txt
from mkdocs_roaming.publish.options import MAX_SECTION_FILES, PublishOptions
from mkdocs_roaming.text.tokenizer import estimate_tokens

CACHED_PAGES = 4
"""Number of pages in memory while the files of their sections are made or written."""

_CHARS_PER_TOKEN = 4
_MAX_OUTLINE_TOKENS = MAX_CHARS // _CHARS_PER_TOKEN - 100


def make_site_files(
    manifest: Manifest,
    site: Site,
    pages: Sequence[PublishedPage],
    options: PublishOptions,
    *,
    key: str = "",
    above: str = "",
    note: Callable[[str], None],
) -> SiteFiles:
    """Return the files in the order of writing, with the manifest as the last one if they have a key.

    Args:
        manifest: The manifest of the site.
        site: The site.
        pages: The pages of the manifest with their Markdown.
        options: The options of the site.
        key: Key of the files in the cache. Files without a key are not cached.
        above: Text above the list of pages in llms.txt.
        note: Receives a line about files that are left out.
    """
    sections = SectionIndex(manifest)
    read_page = lru_cache(CACHED_PAGES)(lambda position: pages[position].encode())  # sections are in page order
    positions = {page.path: position for position, page in enumerate(manifest.pages)}

    def read_section(place: SectionRef) -> str:
        data = read_page(positions[place.page.path])
        return data[place.section.start : place.section.end].decode("utf-8", "surrogatepass")

    files: list[SiteFile] = []
    section_files = _has_section_files(options, len(sections), note)
    if section_files:
        for place in sections:
            files += _make_section_files(sections, place, positions[place.page.path], read_page, read_section)
    skill = skill_path(manifest) if options.agent_skill else ""
    outline = render_outline(sections, budget=min(options.outline_tokens, _MAX_OUTLINE_TOKENS))
    own = b""
    if options.llms_txt is not False:
        texts = build_llms_txt(
            manifest,
            section_files=section_files,
            outline=outline,
            skill=skill,
            mcp=options.find_mcp_url(site.url),
            above=above,
        )
        own = texts.pop(LLMS_TXT)[len(above) :].encode("utf-8", "surrogatepass")
        files.append(SiteFile(LLMS_TXT, above.encode("utf-8", "surrogateescape") + own))
        files += (SiteFile(path, text.encode("utf-8", "surrogatepass")) for path, text in texts.items())
    files.append(SiteFile(OUTLINE_PATH, outline.encode()))
    files.append(SiteFile(SCHEMA_PATH, render_schema().encode()))
    if options.agent_skill:
        files += starmap(SiteFile, iter_skill_files(sections, outline, options, section_files=section_files))
        if not manifest.crawled_from:
            files += list(iter_copies(files, manifest.site.url))
    if options.similar_pages:
        files += starmap(SiteFile, iter_not_found_files(manifest, site))
    has_widget = parse_widget_options(options.widget) is not None
    if options.mcp or has_widget:  # the widget, or the function for MCP, searches the site
        files += starmap(SiteFile, iter_finder_files(manifest, read_section, with_table=has_widget))
    llms_txt = LlmsTxtEntry(len(own), file_digest(own))
    if key:
        complete = replace(manifest, llms_txt=llms_txt)
        files.append(SiteFile(MANIFEST_PATH, b"".join(iter_manifest_json(complete))))
    return SiteFiles(
        key,
        files,
        llms_txt,
        sections=len(sections),
        tokens=manifest.tokens,
        outline_tokens=estimate_tokens(outline),
        markdown=sum(1 for page in manifest.pages if page.origin == "markdown"),
    )


def _has_section_files(options: PublishOptions, count: int, note: Callable[[str], None]) -> bool:
    if options.section_files != "auto":
        return options.section_files
    if count > MAX_SECTION_FILES:
        note(
            f"no section files are written, because the site has {count} sections, more than {MAX_SECTION_FILES}. "
            "To write them, set `section_files: true`"
        )
    return count <= MAX_SECTION_FILES


def _make_section_files(
    sections: SectionIndex,
    place: SectionRef,
    position: int,
    read_page: Callable[[int], bytes],
    read_section: Callable[[SectionRef], str],
) -> Iterator[SiteFile]:
    """Yield the file of a section, and its copies by former ids."""
    head, (start, end), tail = render_section_file(sections, place, read_section)
    if start < end and not read_page(position).endswith(b"\n", start, end):
        tail = f"\n{tail}"
    before = head.encode("utf-8", "surrogatepass")
    after = tail.encode("utf-8", "surrogatepass")
    for id_ in (place.id, *place.section.aliases):
        yield SiteFile(f"roaming/sections/{id_}.md", before, position, start, end, after)
