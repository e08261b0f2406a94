"""Test sites for the linter: each folder of Markdown files is a case; `site.yml` configures site and linter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.lint.context import Finding, LintContext
from mkdocs_roaming.lint.runner import LintConfig, lint_site, parse_config
from mkdocs_roaming.manifest.builder import build_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Heading, NavItem, Page, PublishedPage, Site, markdown_path, sort_paths_by_nav
from mkdocs_roaming.manifest.sections import github_slug, split_sections

CASES = Path(__file__).parents[2] / "golden" / "lint"
URL = "https://docs.example/p/"


def load_case(folder: Path) -> tuple[LintContext, LintConfig]:
    """Return the site of a case and the configuration of the linter."""
    config: dict[str, Any] = {}
    if (folder / "site.yml").is_file():
        config = yaml.safe_load((folder / "site.yml").read_text("utf-8"))
    sources = {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in sorted(folder.rglob("*.md"))}
    for source, count in config.get("copies", {}).items():
        text = sources.pop(source)
        sources |= {f"{at:02}-{source}": text.replace("NUMBER", str(at)) for at in range(count)}
    nav = tuple(_nav(config.get("nav", sorted(sources, key=lambda source: (source != "index.md", source)))))
    site = Site("Docs", URL, config.get("description", "Docs of a pump."), config.get("language", "en"), nav=nav)
    texts: dict[str, str] = {}
    pages: dict[str, Page] = {}
    headings: dict[str, list[Heading]] = {}
    for source, text in sources.items():
        path = _path(source)
        texts[path], headings[path] = _strip_anchors(_expand_repetitions(text))
        pages[path] = Page(path, source, source=source, description=config.get("descriptions", {}).get(source, ""))
    published = [
        PublishedPage(pages[path], texts[path], split_sections(texts[path], headings=headings[path]))
        for path in sort_paths_by_nav(site, pages)
    ]
    by_file = {markdown_path(path): text for path, text in texts.items()}
    sections = SectionIndex(build_manifest(site, published))
    context = LintContext(sections, lambda page: by_file[page.markdown])
    lint_config = {key: config[key] for key in ("disable", "pages") if key in config}
    return context, parse_config(lint_config, str(folder / "site.yml"))


def lint_case(case: str, config: LintConfig | None = None) -> tuple[Finding, ...]:
    """Return the findings of a case."""
    context, _ = load_case(CASES / case)
    return lint_site(context, config).findings


def create_context(markdown: str) -> LintContext:
    """Return a site with one page."""
    page = PublishedPage(Page("a/", "A"), markdown, split_sections(markdown, title="A"))
    return LintContext(SectionIndex(build_manifest(Site("Docs", URL), [page])), lambda page: markdown)


def _path(source: str) -> str:
    return re.sub(r"(^|/)index/$", r"\1", source.removesuffix(".md") + "/")


def _nav(entries: Iterable[Any]) -> Iterable[NavItem]:
    for entry in entries:
        if isinstance(entry, str):
            yield NavItem("", _path(entry))
        else:
            for title, children in entry.items():
                yield NavItem(title, children=tuple(_nav(children)))


def _expand_repetitions(text: str) -> str:
    """Expand `{{ 2000 × Water runs. }}`, so that long texts need no long files."""
    return re.sub(r"\{\{ (\d+) × (.*?) \}\}", lambda match: " ".join([match[2]] * int(match[1])), text)


def _strip_anchors(text: str) -> tuple[str, list[Heading]]:
    """Strip `{#anchor}` from headings, as a Markdown parser does; `{#}` is the heading of a line in bold."""
    headings = [
        Heading(len(match[1]), match[2], github_slug(match[2]) if match[3] is None else match[3] or None)
        for match in re.finditer(r"^(#+) (.*?)(?: \{#([\w.-]*)\})?$", text, re.MULTILINE)
    ]
    stripped = re.sub(r"^(#+ .*?) \{#[\w.-]*\}$", r"\1", text, flags=re.MULTILINE)
    return stripped, headings
