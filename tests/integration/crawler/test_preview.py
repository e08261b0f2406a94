"""`roaming preview URL`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import open_library
from roaming_crawler.cli import crawl_part

PRIVATE = {"allow_private": True, "delay": 0.0}


def test_part_of_a_site_is_crawled_and_its_html_is_kept(site: Any, tmp_path: Path) -> None:
    site.page("/docs/", "Home", links=[f"p{number}/" for number in range(5)])
    for number in range(5):
        site.page(f"/docs/p{number}/", f"Page {number}")
    read_html, left_out = crawl_part(f"{site.url}docs/", tmp_path, {**PRIVATE, "max_pages": 3, "exclude": ("p0/",)})
    pages = open_library(tmp_path).manifest.pages
    assert len(pages) == 3
    assert "Home</h1>" in read_html("", f"{site.url}docs/")
    assert read_html("nowhere/", f"{site.url}docs/nowhere/") == ""
    assert {page.path for page in left_out} == {f"{site.url}docs/{name}/" for name in ("p3", "p4")}


@pytest.mark.slow
def test_preview_of_a_url_shows_a_part_of_the_site(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.page("/docs/", "Home", links=["more/"])
    site.page("/docs/more/", "More")
    monkeypatch.chdir(tmp_path)
    arguments = ["--allow-private", "--max-pages", "1", "What does the harbour gauge write?"]
    result = CliRunner().invoke(main, ["preview", f"{site.url}docs/", *arguments])
    assert (result.exit_code, result.stdout) == (0, "roaming-preview.html\n")
    page = Path("roaming-preview.html").read_text("utf-8")
    assert "Home&lt;/h1&gt;" in page
    assert "# Home" in page
    assert "roaming crawl --max-pages 1 would publish" in page
    assert f"<td>{site.url}docs/more/</td><td>stopped at 1 pages" in page
