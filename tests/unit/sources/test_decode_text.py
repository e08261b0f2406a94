"""Decoding of pages as browsers decode them; the cases are in test_decode_text.yml."""

from __future__ import annotations

import pytest
from tables import read_tables

from mkdocs_roaming.sources import decode_text

TABLES = read_tables(__file__)
LONG_HEAD = "<style>" + 400 * "p { color: red }\n" + "</style>"


@pytest.mark.parametrize(("label", "codec", "text"), TABLES["text is decoded by its label"])
def test_decode_text_follows_labels_of_servers_and_pages(label: str, codec: str, text: str) -> None:
    assert decode_text(text.encode(codec), label) == text
    for head in (f"<meta charset='{label}'>", f'{LONG_HEAD}<META content="text/html; charset={label}" http-equiv=x>'):
        assert decode_text((head + text).encode(codec)) == head + text


@pytest.mark.parametrize(("codec", "text", "charset"), TABLES["text is decoded as"])
def test_decode_text_prefers_marks_and_utf_8_to_declarations(codec: str, text: str, charset: str) -> None:
    decoded = decode_text(text.encode(codec), charset)
    assert decoded == text


def test_decode_text_keeps_utf_8_with_damaged_characters() -> None:
    assert decode_text("<p>やかん\udcff".encode(errors="surrogateescape")) == "<p>やかん\ufffd"
