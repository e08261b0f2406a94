"""The preview in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mkdocs_roaming.lint.runner import LintConfig
from mkdocs_roaming.preview.page import render_preview
from mkdocs_roaming.preview.source import open_published
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

LONG = "AbstractSingletonProxyFactoryBeanConfigurationProcessorAdapter" * 4
HOSTILE = "&lt;img src=x onerror=alert(1)>&lt;script>alert(2)&lt;/script>"
PAGE = """\
<html lang=en><head><title>{long}</title><link rel=canonical href="https://kettle.example/"></head>
<main><h1>{long}</h1><p>{hostile}</p><h2>Overview</h2><pre><code>{long}</code></pre><script>alert(3)</script></main>"""


def test_page_fits_a_small_dark_screen_and_runs_nothing(tmp_path: Path, page: Page) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text(PAGE.format(long=LONG, hostile=HOSTILE))
    index_site(tmp_path / "site", IndexOptions(), warn=print)
    shown = open_published(tmp_path / "site", LintConfig(), None)
    file = tmp_path / "preview.html"
    file.write_text(render_preview(shown, questions=[LONG, HOSTILE], addresses=[]), "utf-8")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_viewport_size({"width": 320, "height": 640})
    page.emulate_media(color_scheme="dark")
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert page.evaluate("getComputedStyle(document.querySelector('.quiet')).color") == "rgb(168, 168, 179)"
    assert requests == [file.as_uri()]
