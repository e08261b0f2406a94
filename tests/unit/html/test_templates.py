"""Contents of templates where a browser shows them; the cases are in test_templates.yml."""

from __future__ import annotations

import pytest
from tables import read_tables

from mkdocs_roaming.html.document import parse_document

TABLES = read_tables(__file__)


@pytest.mark.parametrize(("html", "words"), TABLES["templates and what a browser shows"])
def test_parse_document_shows_contents_of_templates_in_place(html: str, words: str) -> None:
    body = parse_document(f"<main>{html}</main>").xpath("string(//main)")
    assert body.split() == words.split()
