"""Addresses in a model's text."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tables import read_tables

from mkdocs_roaming.answer.links import (
    find_addresses,
    is_on_site,
    normalize_address,
    remove_links,
)

TABLES = read_tables(__file__)

SITE = "https://docs.example/handbook/"
KNOWN = find_addresses(
    "See [uv](https://index.example/simple/), https://astral.sh/uv/install.sh. Mail <help@docs.example>."
)


def is_known(address: str) -> bool:
    return is_on_site(address, SITE) or normalize_address(address) in KNOWN


@pytest.mark.parametrize("text", TABLES["remove links keeps known addresses code and harmless text"])
def test_remove_links_keeps_known_addresses_code_and_harmless_text(text: str) -> None:
    assert remove_links(text, is_known) == (text, 0)


@pytest.mark.parametrize(("text", "expected"), TABLES["remove links removes foreign addresses"])
def test_remove_links_removes_foreign_addresses(text: str, expected: str) -> None:
    assert remove_links(text, is_known)[0].strip() == expected


_PIECES = ["[", "]", "(", ")", "!", "<", ">", "`", "```", "\n", "\n\n", "\\", "https://evil.example/x", "a", " ", "//"]
_MORE = TABLES["more"]


def leaves_site(address: str) -> bool:
    """Return whether a browser on a page of the site would leave its host for an address."""
    try:
        return not urljoin(SITE, address).startswith("https://docs.example/")
    except ValueError:  # a host in open brackets: browsers stay
        return False


@given(st.lists(st.sampled_from([*_PIECES, *_MORE]), max_size=25))
def test_no_renderer_finds_foreign_address_after_removal(pieces: list[str]) -> None:
    text, _ = remove_links("".join(pieces), is_known)
    parser = MarkdownIt("commonmark").enable("table")
    tokens = [token for block in parser.parse(text) for token in (block, *(block.children or ()))]
    addresses = [str(token.attrs.get(name, "")) for token in tokens for name in ("href", "src")]
    assert not [address for address in addresses if "evil" in address and leaves_site(address)]
    assert not [token for token in tokens if token.type.startswith("html") and "evil" in token.content]
