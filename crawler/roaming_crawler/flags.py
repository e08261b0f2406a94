"""Text of pages that seems to be written for language models: the flags of sections, and the findings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import structs

from mkdocs_roaming.manifest.models import Manifest, PageEntry, Section, SectionEntry, path_to_url
from mkdocs_roaming.publish.pipeline import Batch, reconvert_stale_pages, remove_left_out_entries
from mkdocs_roaming.text.injection import InjectedText, Kind, Severity, scan_markdown
from roaming_crawler.page import SkippedPage


@dataclass(frozen=True, slots=True)
class FlaggedText:
    """Text that seems to be written for language models.

    Attributes:
        url: URL of the page.
        path: Path of the page.
        kind: What it is.
        quote: Its beginning; for characters, their names.
        severity: Whether it asks a model to act.
    """

    url: str
    path: str
    kind: Kind
    quote: str
    severity: Severity


def flag_pages(batch: Batch, hidden: Mapping[str, Sequence[InjectedText]]) -> list[FlaggedText]:
    """Mark the sections of a batch with what they contain, and return the findings.

    Args:
        batch: The converted pages. Pages that link to dropped ones are converted again before.
        hidden: Findings in hidden texts in the HTML of pages, by path.
    """
    reconvert_stale_pages(batch)
    remove_left_out_entries(batch)
    flagged: list[FlaggedText] = []
    for path in list(batch.pages):
        page = batch.pages[path]
        converted = batch.converted[path]
        # An article was converted; what it hides is of interest only if that is what was published.
        unseen = hidden.get(path, ()) if page.markdown is None else ()
        found = _scan_page(converted.markdown, (page.title, page.description), unseen)
        if not found:
            continue
        flags = _flags_by_section(found, converted.markdown, converted.sections)
        sections = (replace(one, flags=kinds) for one, kinds in zip(converted.sections, flags, strict=True))
        batch.converted[path] = replace(converted, sections=tuple(sections))
        flagged += _report(found, page.url or path_to_url(batch.site.url, path), path)
    return flagged


def flag_manifest(manifest: Manifest, texts: Mapping[str, bytes]) -> tuple[Manifest, list[FlaggedText]]:
    """Return a fetched manifest with the flags of its sections, and the findings. Flags of the site are dropped."""
    flagged: list[FlaggedText] = []

    def mark(page: PageEntry) -> PageEntry:
        text = texts[page.path].decode("utf-8", "replace") if page.path in texts else ""
        found = _scan_page(text, (page.title, page.description, page.summary, *page.questions), ())
        flags = _flags_by_section(found, text, page.sections)
        sections = []
        for section, kinds in zip(page.sections, flags, strict=True):
            # Outlines show what the manifest says, which need not be what the page says.
            shown = "\n\n".join((section.title, section.opening, section.about, *section.asks))
            extra = [one for one in scan_markdown(shown) if one.kind not in kinds]
            found += extra
            sections.append(structs.replace(section, flags=(*kinds, *dict.fromkeys(one.kind for one in extra))))
        flagged.extend(_report(found, page.url or path_to_url(manifest.site.url, page.path), page.path))
        return structs.replace(page, sections=tuple(sections))

    return structs.replace(manifest, pages=tuple(map(mark, manifest.pages))), flagged


def select_flagged(flagged: Sequence[FlaggedText], which: Literal["high"] | bool) -> dict[str, SkippedPage]:
    """Return the pages that the option `skip_flagged` leaves out, with the first reason, by path."""
    chosen = [one for one in reversed(flagged) if which in (True, one.severity)]
    return {one.path: SkippedPage(one.url, f"flagged: {_FLAG_DESCRIPTIONS[one.kind]}") for one in chosen}


def _scan_page(markdown: str, descriptions: Iterable[str], hidden: Iterable[InjectedText]) -> list[InjectedText]:
    """Return the findings of a page. Those in titles and descriptions, and in its HTML, belong to its first line."""
    head = "\n\n".join(dict.fromkeys(descriptions))
    return [
        *(replace(one, line=0) for one in scan_markdown(head)),
        *hidden,
        *scan_markdown(markdown),
    ]


def _flags_by_section(
    found: Sequence[InjectedText], markdown: str, sections: Sequence[Section | SectionEntry]
) -> list[tuple[str, ...]]:
    """Return the kinds of findings in each section; text above the title belongs to the page's own section."""
    flags: list[dict[str, None]] = [{} for _ in sections]
    if found:
        data = markdown.encode("utf-8", "surrogatepass")
        lines = [data.count(b"\n", 0, section.start) for section in sections]
        for one in found:
            flags[max(0, bisect_right(lines, one.line) - 1)][one.kind] = None
    return [tuple(kinds) for kinds in flags]


def _report(found: Iterable[InjectedText], url: str, path: str) -> list[FlaggedText]:
    return list(dict.fromkeys(FlaggedText(url, path, one.kind, one.quote, one.severity) for one in found))


_FLAG_DESCRIPTIONS: Mapping[Kind, str] = {
    "instruction": "contains an instruction to a language model",
    "hidden": "contains hidden text for language models",
    "invisible": "contains characters that readers cannot see",
    "exfiltration": "asks a language model to put data into an address",
}
