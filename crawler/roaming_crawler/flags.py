"""Text of pages that seems to be written for language models: the flags of sections, and the findings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from mkdocs_roaming.manifest.models import Manifest, PageEntry, Section, SectionEntry, path_to_url
from mkdocs_roaming.publish.pipeline import Batch, reconvert_stale_pages, remove_left_out_entries
from mkdocs_roaming.text.injection import InjectedText, Kind, Severity, scan_markdown
from roaming_crawler.page import SkippedPage

_FLAG_DESCRIPTIONS: Mapping[Kind, str] = {
    "instruction": "contains an instruction to a language model",
    "hidden": "contains hidden text for language models",
    "invisible": "contains characters that readers cannot see",
    "exfiltration": "asks a language model to put data into an address",
}


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


def flag_pages(
    batch: Batch, hidden: Mapping[str, Sequence[InjectedText]], *, skip: bool
) -> tuple[list[FlaggedText], list[SkippedPage]]:
    """Mark the sections of a batch with what they contain; return the findings, and the pages dropped because of them.

    Args:
        batch: The converted pages. Pages that link to dropped ones are converted again before and after.
        hidden: Findings in hidden texts in the HTML of pages, by path.
        skip: Whether pages with findings are dropped.
    """
    reconvert_stale_pages(batch)
    remove_left_out_entries(batch)
    flagged: list[FlaggedText] = []
    for path in list(batch.pages):
        page = batch.pages[path]
        converted = batch.converted[path]
        # An article was converted; what it hides is of interest only if that is what was published.
        unseen = hidden.get(path, ()) if page.markdown is None else ()
        findings = _scan_page(converted.markdown, (page.title, page.description), unseen)
        if findings:
            kinds = _kinds_by_section(findings, converted.markdown, converted.sections)
            pairs = zip(converted.sections, kinds, strict=True)
            sections = tuple(replace(section, flags=tuple(flags)) for section, flags in pairs)
            batch.converted[path] = replace(converted, sections=sections)
            flagged += _report(findings, page.url or path_to_url(batch.site.url, path), path)
    unwanted = list_flagged_pages(flagged) if skip else {}
    for path in unwanted:
        batch.drop(path, "flagged")
    reconvert_stale_pages(batch)
    return flagged, list(unwanted.values())


def flag_manifest(manifest: Manifest, texts: Mapping[str, bytes]) -> tuple[Manifest, list[FlaggedText]]:
    """Return a fetched manifest with the flags of its sections, and the findings. Flags of the site are dropped."""
    flagged: list[FlaggedText] = []

    def mark(page: PageEntry) -> PageEntry:
        markdown = texts[page.path].decode("utf-8", "replace") if page.path in texts else ""
        findings = _scan_page(markdown, (page.title, page.description, page.summary, *page.questions), ())
        kinds = _kinds_by_section(findings, markdown, page.sections)
        sections = []
        for section, flags in zip(page.sections, kinds, strict=True):
            # Outlines show what the manifest says, which need not be what the page says.
            shown = "\n\n".join((section.title, section.opening, section.about, *section.asks))
            unseen = [finding for finding in scan_markdown(shown) if finding.kind not in flags]
            findings += unseen
            flags.update((finding.kind, None) for finding in unseen)
            sections.append(structs.replace(section, flags=tuple(flags)))
        url = page.url or path_to_url(manifest.site.url, page.path)
        flagged.extend(_report(findings, url, page.path))
        return structs.replace(page, sections=tuple(sections))

    return structs.replace(manifest, pages=tuple(map(mark, manifest.pages))), flagged


def list_flagged_pages(flagged: Sequence[FlaggedText]) -> dict[str, SkippedPage]:
    """Return the pages with findings as skipped, with the first reason, by path."""
    pages: dict[str, SkippedPage] = {}
    for text in flagged:
        pages.setdefault(text.path, SkippedPage(text.url, f"flagged: {_FLAG_DESCRIPTIONS[text.kind]}"))
    return pages


def _scan_page(markdown: str, descriptions: Iterable[str], hidden: Iterable[InjectedText]) -> list[InjectedText]:
    """Return the findings of a page. Those in titles and descriptions, and in its HTML, belong to its first line."""
    head = scan_markdown("\n\n".join(dict.fromkeys(descriptions)))
    return [*(replace(finding, line=0) for finding in head), *hidden, *scan_markdown(markdown)]


def _kinds_by_section(
    findings: Sequence[InjectedText], markdown: str, sections: Sequence[Section | SectionEntry]
) -> list[dict[Kind, None]]:
    """Return the kinds of findings in each section; text above the title belongs to the page's own section."""
    kinds: list[dict[Kind, None]] = [{} for _ in sections]
    if findings:
        data = markdown.encode("utf-8", "surrogatepass")
        lines = [data.count(b"\n", 0, section.start) for section in sections]
        for finding in findings:
            at = bisect_right(lines, finding.line) - 1
            kinds[max(0, at)][finding.kind] = None
    return kinds


def _report(findings: Iterable[InjectedText], url: str, path: str) -> list[FlaggedText]:
    flagged = (FlaggedText(url, path, finding.kind, finding.quote, finding.severity) for finding in findings)
    return list(dict.fromkeys(flagged))
