"""Sites of Markdown files for the linter: a folder is a case, `site.yml` says what is not the pages'."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.lint.config import Config, config_of
from mkdocs_roaming.lint.context import Docs, docs_of
from mkdocs_roaming.manifest.builder import PublishedPage, build_manifest, sort_by_nav
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Heading, NavItem, Page, Site, markdown_path
from mkdocs_roaming.manifest.sections import github_slug, split_sections

GOLDEN = Path(__file__).parents[2] / "golden" / "lint"
URL = "https://docs.example/p/"


def case_docs(folder: Path) -> tuple[Docs, Config]:
    """Read a case: its pages as a site, and what is asked of the linter."""
    given: dict[str, Any] = {}
    if (folder / "site.yml").is_file():
        given = yaml.safe_load((folder / "site.yml").read_text("utf-8"))
    sources = {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in sorted(folder.rglob("*.md"))}
    for source, times in given.get("copies", {}).items():
        text = sources.pop(source)
        sources |= {f"{at:02}-{source}": text.replace("NUMBER", str(at)) for at in range(times)}
    nav = tuple(_nav(given.get("nav", sorted(sources, key=lambda source: (source != "index.md", source)))))
    site = Site("Docs", URL, given.get("description", "Docs of a pump."), given.get("language", "en"), nav=nav)
    texts: dict[str, str] = {}
    pages: list[Page] = []
    headings: dict[str, list[Heading]] = {}
    for source, text in sources.items():
        path = _path(source)
        texts[path], headings[path] = _anchored(_repeated(text))
        pages.append(Page(path, source, source=source, description=given.get("descriptions", {}).get(source, "")))
    ordered = sort_by_nav(site, pages)
    anchored = any(headings.values())
    written = [
        PublishedPage(
            page, texts[page.path], split_sections(texts[page.path], headings=headings[page.path] if anchored else None)
        )
        for page in ordered
    ]
    manifest = build_manifest(site, written)
    files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    files["index.html"] = b"<html>The built pages lie here.</html>"
    by_file = {markdown_path(path): text for path, text in texts.items()}
    docs = docs_of(SectionIndex(manifest), lambda page: by_file[page.markdown], files.get)
    asked = {key: given[key] for key in ("enable", "disable", "pages") if key in given}
    return docs, config_of(asked, str(folder / "site.yml"))


def _path(source: str) -> str:
    return re.sub(r"(^|/)index/$", r"\1", source.removesuffix(".md") + "/")


def _nav(entries: Iterable[Any]) -> Iterable[NavItem]:
    for entry in entries:
        if isinstance(entry, str):
            yield NavItem("", _path(entry))
        else:
            for title, children in entry.items():
                yield NavItem(title, children=tuple(_nav(children)))


def _repeated(text: str) -> str:
    """Write out `{{ 2000 × Water runs. }}`: long texts need no long files."""
    return re.sub(r"\{\{ (\d+) × (.*?) \}\}", lambda found: " ".join([found[2]] * int(found[1])), text)


def _anchored(text: str) -> tuple[str, list[Heading]]:
    """Take `{#anchor}` off headings, as a site's own Markdown reader does; give headings only where one stands."""
    headings = [
        Heading(len(found[1]), found[2], found[3] or github_slug(found[2]))
        for found in re.finditer(r"^(#+) (.*?)(?: \{#([\w.-]+)\})?$", text, re.MULTILINE)
    ]
    bare = re.sub(r"^(#+ .*?) \{#[\w.-]+\}$", r"\1", text, flags=re.MULTILINE)
    return bare, headings if bare != text else []
