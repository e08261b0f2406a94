"""Tests of `roaming index` on small sites in the shape of each supported generator.

Each folder of tests/golden/sites contains the pages of a site and the expected manifest. All are the same site: each
has a page "Install" with an article, sections, a code block, an admonition and a link to the page of a command, whose
Markdown contains the sentences that the test names at its end. The expected manifest is written by hand.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

if TYPE_CHECKING:
    from mkdocs_roaming.manifest.models import Manifest, NavEntry

SITES = Path(__file__).parents[2] / "golden/sites"
URL = "https://docs.example/ebb/"


def summarize(manifest: Manifest) -> dict[str, Any]:
    """Return the content of a manifest in the form of expected.yml."""
    site = manifest.site

    def nav(entries: tuple[NavEntry, ...]) -> list[Any]:
        return [
            {entry.title: entry.page} if not entry.children else {entry.title: entry.page, "below": nav(entry.children)}
            for entry in entries
        ]

    return {
        "site": {"name": site.name, "url": site.url, "language": site.language},
        "nav_source": manifest.nav_source,
        "nav": nav(manifest.nav),
        "pages": {
            page.path: [f"{'#' * part.level} {part.title} {{#{part.anchor or ''}}}" for part in page.sections]
            for page in manifest.pages
        },
    }


@pytest.mark.parametrize("name", sorted(folder.name for folder in SITES.iterdir()))
def test_index_site_reads_site_of_each_generator(tmp_path: Path, name: str) -> None:
    """Pages, nav and anchors are found; code, links and admonitions are converted."""
    folder = tmp_path / name
    shutil.copytree(SITES / name / "pages", folder)
    warnings: list[str] = []
    index_site(folder, IndexOptions(url=URL), warn=warnings.append)
    assert warnings == []
    manifest = load_manifest((folder / "roaming/manifest.json").read_bytes())
    assert summarize(manifest) == yaml.safe_load((SITES / name / "expected.yml").read_text("utf-8"))
    found = validate_site(open_library(folder))
    assert (found.faults, found.notes) == ((), ())
    (page,) = (page for page in manifest.pages if page.title == "Install")
    text = (folder / page.markdown).read_text("utf-8")
    commands = page.markdown.replace("guide/install", "reference/cli")
    assert "\n# Install\n\nCopy one file to the gauge.\n\n## From a package\n\n" in text
    assert "## From a package\n\n```sh\napt install ebb\n```\n\n> [!" in text
    assert "> A gauge of 2009 has no room for it.\n" in text
    assert text.endswith(f"## From source\n\nSee [the command]({URL}{commands}#ebb-read).\n")
