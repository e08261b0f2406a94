"""Files of descriptions for the sites of tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mkdocs_roaming import open_library
from mkdocs_roaming.manifest.descriptions import (
    Descriptions,
    PageTexts,
    SectionTexts,
    page_digest,
    render_descriptions,
    text_digest,
)


def write_descriptions(file: Path, site: Path, texts: Mapping[str, tuple[str, ...]]) -> Path:
    """Write a file of descriptions for a published site, and return it.

    Args:
        file: The file.
        site: The folder of the site.
        texts: By the title of a section what it is for, then its questions. A page is described by the former, too.
    """
    library = open_library(site)
    pages = {}
    for page in library.manifest.pages:
        sections = {}
        for entry in page.sections:
            section = library.sections.get(entry.id)
            assert section is not None
            if entry.title in texts:
                about, *asks = texts[entry.title]
                sections[entry.id] = SectionTexts(entry.title, text_digest(library.text(section)), about, tuple(asks))
        about = texts.get(page.title, ("",))[0]
        pages[page.path] = PageTexts(page.title, page_digest(page), about, sections=sections)
    file.write_bytes(render_descriptions(Descriptions(pages=pages)))
    return file
