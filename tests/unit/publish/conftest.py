"""A small site, and helpers to publish it."""

from __future__ import annotations

from pathlib import Path

from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.descriptions import read_descriptions
from mkdocs_roaming.manifest.models import NavItem, Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import PublishReport, publish_batch

URL = "https://docs.example/sub/"
NAV = (NavItem("Home", ""), NavItem("Guide", children=(NavItem("Install", "guide/install/"),)))
SITE = Site("Docs", URL, "About everything.", nav=NAV)
HOME = Page("", "Home", '<h1 id="home">Home</h1><p>See <a href="guide/install/#quiet">quiet mode</a>.</p>')
INSTALL = Page(
    "guide/install/",
    "Install",
    '<h1 id="install">Install</h1><p>Run it.</p><h2 id="quiet">Quiet mode</h2><p>Use <code>--hush</code>.</p>',
)


def publish_pages(
    folder: Path,
    *pages: Page,
    site: Site = SITE,
    options: PublishOptions | None = None,
    cache: Path | None = None,
    previous: PreviousSite | None = None,
    descriptions: Path | None = None,
) -> tuple[PublishReport, list[str]]:
    """Publish pages; return the report and the warnings."""
    warnings: list[str] = []
    batch = convert_pages(site, pages, cache=ConversionCache(cache), warn=warnings.append)
    texts = read_descriptions(descriptions) if descriptions else None
    return publish_batch(batch, folder, options or PublishOptions(), previous=previous, descriptions=texts), warnings


def read_tree(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by their relative paths."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
