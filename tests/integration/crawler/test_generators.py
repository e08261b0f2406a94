"""Sites of common generators, crawled by their links alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tables import read_tables

from mkdocs_roaming.manifest.models import Manifest, NavEntry
from roaming_crawler.config import DiscoveryConfig

pytestmark = pytest.mark.slow

SITES = Path(__file__).parents[2] / "golden" / "sites"
URL = "https://docs.example/ebb/"
LINKS = {"discovery": DiscoveryConfig(False, False, False)}
BUILT = read_tables(__file__)


def _nav(entries: tuple[NavEntry, ...]) -> list[Any]:
    return [
        {entry.title: entry.page} if not entry.children else {entry.title: entry.page, "below": _nav(entry.children)}
        for entry in entries
    ]


def _pages(manifest: Manifest) -> dict[str, list[str]]:
    return {
        page.path: [f"{'#' * part.level} {part.title} {{#{part.anchor or ''}}}" for part in page.sections]
        for page in manifest.pages
    }


@pytest.mark.parametrize("name", sorted(folder.name for folder in SITES.iterdir()))
def test_crawl_of_generated_site_matches_golden_file(name: str, site: Any, run_crawl: Any) -> None:
    site.folder(SITES / name / "pages", "/ebb/", url=URL)
    output = run_crawl(f"{site.url}ebb/", **LINKS)
    expected = yaml.safe_load((SITES / name / "expected.yml").read_text("utf-8"))
    assert _pages(output.manifest) == expected["pages"]
    assert (output.manifest.nav_source, _nav(output.manifest.nav)) == (expected["nav_source"], expected["nav"])
    install = next(path for path in output.paths if path.startswith("guide/install"))
    assert "\n```sh\napt install ebb\n```\n\n> [!" in output.text(install)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Build a small site with a theme of MkDocs."""

    def build(theme: str) -> Path:
        folder = tmp_path_factory.mktemp(theme)
        for name, text in BUILT["pages"].items():
            (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "docs" / name).write_text(text, "utf-8")
        config = {
            "site_name": "Ebb",
            "site_url": URL,
            "theme": {"name": theme, **({"font": False} if theme == "material" else {})},
            "plugins": [],
            "markdown_extensions": ["admonition", {"toc": {"permalink": True}}, "fenced_code"],
        }
        (folder / "mkdocs.yml").write_text(yaml.safe_dump(config), "utf-8")
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", "site"]
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return folder / "site"

    return build


@pytest.mark.parametrize("theme", ["material", "readthedocs", "mkdocs"])
def test_crawl_of_mkdocs_theme_finds_all_pages(theme: str, built: Any, site: Any, run_crawl: Any) -> None:
    site.folder(built(theme), "/ebb/", url=URL)
    output = run_crawl(f"{site.url}ebb/", **LINKS)
    assert _pages(output.manifest) == BUILT["headings"]
    markdown = BUILT["markdown"].replace("{own}", f"{site.url}ebb/")
    assert output.text("guide/install/").partition("\n\n")[2] == markdown
