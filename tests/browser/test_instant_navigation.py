"""Links of the plugin are up to date with Material's instant navigation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page

SOURCES = {
    "index.md": "# Welcome\n\nSee [quiet mode](guide/install.md#quiet-mode) and [the gauges](guide/gauges.md).\n",
    "guide/install.md": "# Install\n\nRun it.\n\n" + "Water.\n\n" * 60 + "## Quiet mode\n\nUse `--hush`.\n",
    "guide/gauges.md": "# Gauges\n\n!!! note\n\n    Each gauge has a name.\n\n| Gauge | Is |\n| --- | --: |\n| A | 3",
}
CONFIG: dict[str, Any] = {
    "site_name": "Ebb",
    "theme": {
        "name": "material",
        "font": False,
        "features": ["navigation.instant", "navigation.instant.prefetch", "navigation.tracking"],
    },
    "markdown_extensions": ["admonition", "tables"],
}


@pytest.fixture(scope="module")
def url(browser: object, serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build a site for the URL that serves it; for any other, Material would reload every page."""
    folder = tmp_path_factory.mktemp("site")
    url = serve(folder / "site")
    for name, text in SOURCES.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, "utf-8")
    config = {**CONFIG, "site_url": url, "plugins": ["material/search", "roaming"]}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config), "utf-8")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q"], cwd=folder, check=True, capture_output=True)
    return url


def arrived(page: Page, url: str, title: str) -> None:
    """Wait until a page is shown."""
    page.wait_for_url(url)
    page.wait_for_selector(f"h1:has-text('{title}')")


def pointers(page: Page) -> dict[str, list[str]]:
    """Return where head and sentence of what is shown lead, as the browser resolves it."""
    found = "selector => [...document.querySelectorAll(selector)].map(found => found.href).sort()"
    return {
        "head": page.evaluate(found, "head link[data-roaming]"),
        "sentence": page.evaluate(found, "p[data-roaming] a"),
    }


def expected(url: str, path: str) -> dict[str, list[str]]:
    addresses = sorted([f"{url}{path}index.md", f"{url}llms.txt"])
    return {"head": addresses, "sentence": addresses}


def test_links_are_those_of_the_current_page(page: Page, url: str) -> None:
    """After following links and after going back."""
    page.goto(url)
    page.wait_for_load_state("networkidle")  # Material follows links itself only after it has read the sitemap
    page.evaluate("window.loadedOnce = true")
    assert pointers(page) == expected(url, "")
    page.click("article >> text=quiet mode")
    arrived(page, f"{url}guide/install/#quiet-mode", "Install")
    assert pointers(page) == expected(url, "guide/install/")
    page.click("nav.md-nav--primary >> text=Gauges")
    arrived(page, f"{url}guide/gauges/", "Gauges")
    assert pointers(page) == expected(url, "guide/gauges/")
    for address in pointers(page)["head"]:
        assert page.request.get(address).ok
    page.go_back()
    page.wait_for_selector("h1:has-text('Install')")
    assert pointers(page) == expected(url, "guide/install/")
    page.go_back()
    arrived(page, url, "Welcome")
    assert pointers(page) == expected(url, "")
    assert page.evaluate("window.loadedOnce") is True
