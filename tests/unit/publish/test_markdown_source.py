"""Markdown that a site publishes itself comes into the contract's shape, and stays as it is in all else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.publish.markdown_source import normalize_markdown
from mkdocs_roaming.publish.pipeline import LinkResolver

FILES = sorted((Path(__file__).parents[2] / "golden" / "crawler" / "markdown").glob("*.md"))
LINKS = LinkResolver(
    "https://docs.example/", "https://docs.example/guide/page/", {"install/", "guide/page/", "guide/page/cell/"}
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_foreign_markdown_takes_the_contracts_shape(file: Path) -> None:
    """Front matter and pointer go, a title comes, links are absolute; code is not touched."""
    found = normalize_markdown(file.read_bytes().decode(), title="The *nav's* title", link=LINKS.link)
    expected = file.with_suffix(".out")
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_bytes(found.encode())
    assert found == expected.read_bytes().decode()


def test_our_own_markdown_stays_byte_for_byte(sample: Path) -> None:
    """What a build published is its own shape: only the pointer goes."""
    pages = [file for file in sample.rglob("*.md") if "roaming" not in file.parts]
    assert len(pages) > 20
    for file in pages:
        text = file.read_text("utf-8")
        links = LinkResolver(
            "https://docs.ebbkeeper.example/handbook/", "https://docs.ebbkeeper.example/handbook/x/", ()
        )
        assert normalize_markdown(text, title="", link=links.link) == text.split("\n", 2)[2]


@given(st.text("#>-[]()!` \n\r\tab:/.<>=\"'~|\\&*_^", max_size=120))
def test_links_that_stay_change_nothing(text: str) -> None:
    """With addresses left alone, only top and end of a text are touched, whatever it holds."""
    found = normalize_markdown(f"# T\n\n{text}", title="T", link=lambda href: href)
    assert found.rstrip("\n") == f"# T\n\n{text}".rstrip("\n")
