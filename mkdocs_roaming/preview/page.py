"""The preview of a site as one HTML page without scripts. Jinja escapes every text: all of them are the site's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.files import read_inside
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search, SearchResult, to_search_result
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.lint.context import Finding
from mkdocs_roaming.lint.runner import LintReport
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import LLMS_TXT, Manifest, PageEntry, SectionEntry
from mkdocs_roaming.preview.source import PreviewedSite
from mkdocs_roaming.text.tokenizer import estimate_tokens

_MAX_SUGGESTED_QUESTIONS = 5
_MAX_RESULTS = 3
_MAX_FINDINGS = 100
_MAX_HTML_CHARS = 60_000
_SHOWN_PARTS = 2
"""Length of the paths of files: a subfolder such as `roaming/sections/` may have a file for each section."""


@dataclass(frozen=True, slots=True)
class SectionView:
    """A section with its own text and its findings."""

    entry: SectionEntry
    text: str
    findings: list[Finding]


@dataclass(frozen=True, slots=True)
class PageView:
    """A page as agents fetch it: HTML without blank lines, and Markdown in sections below `head`."""

    entry: PageEntry
    reason: str
    url: str
    html: str
    html_tokens: int
    head: str
    sections: list[SectionView]
    fault: str


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question with the sections that search finds; `note` says that they may not answer it."""

    text: str
    note: str
    results: list[SearchResult]


def render_preview(site: PreviewedSite, *, questions: Sequence[str], addresses: Sequence[str]) -> str:
    """Return the page.

    Args:
        site: The site.
        questions: Questions to search for; those that the site suggests if there are none.
        addresses: Paths, ids or URLs of the pages to show; three typical pages if there are none.

    Raises:
        UsageError: There is no page with one of the addresses.
    """
    library = open_library(site.folder)
    manifest = library.manifest
    search = Search(library)
    pages = _find_pages(library, addresses) if addresses else choose_pages(manifest, site.report)
    page_views = [_view_page(site, library, page, reason) for page, reason in pages.items()]
    question_views = [_view_question(search, question) for question in questions or _suggest_questions(manifest)]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    template = resources.files(__package__).joinpath("preview.html.jinja").read_text("utf-8")
    return environment.from_string(template).render(
        site=site,
        manifest=manifest,
        llms_txt=_decode(read_inside(site.folder, LLMS_TXT) or b""),
        pages=page_views,
        questions=question_views,
        files=_list_files(site.folder),
        estimate_tokens=estimate_tokens,
        max_findings=_MAX_FINDINGS,
        max_html_chars=_MAX_HTML_CHARS,
    )


def choose_pages(manifest: Manifest, report: LintReport) -> dict[PageEntry, str]:
    """Return the home page, the longest of the others, and that with the most findings, with the reason for each."""
    findings = Counter(finding.page for finding in report.findings)
    first = sorted(manifest.pages, key=lambda page: page.path != "")[:1]
    chosen = dict.fromkeys(first, "home page")
    rest = [page for page in manifest.pages if page not in chosen]
    if rest:
        longest = max(rest, key=lambda page: page.tokens)
        chosen[longest] = "longest page"
    faulty = [page for page in manifest.pages if page not in chosen and findings[page.path]]
    if faulty:
        worst = max(faulty, key=lambda page: findings[page.path])
        chosen[worst] = "page with most findings"
    return chosen


def _find_pages(library: Library, addresses: Sequence[str]) -> dict[PageEntry, str]:
    pages: dict[PageEntry, str] = {}
    for address in addresses:
        section = library.sections.find(address)
        if section is None:
            raise UsageError(f"no page {address!r}; give the path, the URL or the id of a page to --page")
        pages[section.page] = ""
    return pages


def _suggest_questions(manifest: Manifest) -> list[str]:
    """Return questions of the site's authors, else the first one that a model wrote for each section."""
    own = [question for page in manifest.pages for question in page.questions]
    described = [question for section in manifest.sections() for question in section.asks[:1]]
    return list(dict.fromkeys(own or described))[:_MAX_SUGGESTED_QUESTIONS]


def _view_page(site: PreviewedSite, library: Library, page: PageEntry, reason: str) -> PageView:
    data = b""
    fault = ""
    try:
        data = library.file(page.markdown)
    except LibraryError as error:
        fault = str(error)
    url = library.sections.url(SectionRef(page, 0))
    html = site.read_html(page.path, url)
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in site.report.findings:
        if finding.page == page.path:
            findings[finding.section].append(finding)
    sections = []
    for section in page.sections:
        text = _decode(data[section.start : section.end])
        sections.append(SectionView(section, text, findings[section.id]))
    head = _decode(data[: page.sections[0].start])
    html_lines = "\n".join(filter(str.strip, html.splitlines()))
    return PageView(page, reason, url, html_lines, estimate_tokens(html), head, sections, fault)


def _view_question(search: Search, question: str) -> QuestionView:
    hits = search.find(question, limit=_MAX_RESULTS)
    results = [to_search_result(search.library.sections, hit) for hit in hits]
    return QuestionView(question, search.judge(question) if hits else "Nothing found.", results)


def _list_files(folder: Path) -> dict[str, list[int]]:
    """Return the sizes of the published files of a folder except those of pages, by path or by subfolder."""
    sizes: dict[str, list[int]] = {}
    for file in sorted([*folder.glob("llms*.txt"), *(folder / "roaming").rglob("*")]):
        if file.is_file():
            parts = file.relative_to(folder).parts
            path = "/".join(parts[:_SHOWN_PARTS])
            if len(parts) > _SHOWN_PARTS:
                path += "/"
            sizes.setdefault(path, []).append(file.stat().st_size)
    return sizes


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
