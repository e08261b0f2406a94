"""Markdown that a site publishes itself, normalized for publication."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.markdown_source import normalize_markdown
from mkdocs_roaming.publish.pipeline import LinkResolver

FILES = sorted((Path(__file__).parents[2] / "golden" / "crawler" / "markdown").glob("*.md"))
LINKS = LinkResolver(
    Page("guide/page/", "Page"),
    Site("Docs", "https://docs.example/"),
    {"install/", "guide/page/", "guide/page/cell/"},
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_normalize_markdown_matches_expected_file(file: Path) -> None:
    """Front matter and pointer are removed, a title is added, links are absolute; code is not changed."""
    normalized = normalize_markdown(file.read_bytes().decode(), title="The *nav's* title", link=LINKS.link)
    expected = file.with_suffix(".out")
    if os.environ.get("UPDATE"):
        expected.write_bytes(normalized.encode())
    assert normalized == expected.read_bytes().decode()


def test_normalize_markdown_keeps_published_markdown_except_pointer(sample: Path) -> None:
    pages = [file for file in sample.rglob("*.md") if "roaming" not in file.parts]
    assert len(pages) > 20
    for file in pages:
        text = file.read_text("utf-8")
        links = LinkResolver(Page("x/", "X"), Site("Docs", "https://docs.ebbkeeper.example/handbook/"), ())
        assert normalize_markdown(text, title="", link=links.link) == text.split("\n", 2)[2]


@given(st.text("#>-[]()!` \n\r\tab:/.<>=\"'~|\\&*_^", max_size=120))
def test_normalize_markdown_keeps_text_with_unchanged_links(text: str) -> None:
    normalized = normalize_markdown(f"# T\n\n{text}", title="T", link=lambda href: href)
    assert normalized.rstrip("\n") == f"# T\n\n{text}".rstrip("\n")
