"""Tests of HTML documents: articles, words, metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import find_article, parse_body

CASES = sorted((Path(__file__).parents[2] / "golden" / "articles").glob("*.html"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_find_article_on_template_page_returns_visible_content(case: Path) -> None:
    """The list of a blog has excerpts, each with its date after its heading."""
    article = find_article(case.read_text("utf-8"))
    assert convert(article, title="The nav's title").markdown == case.with_suffix(".md").read_text("utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_find_article_does_not_change_the_tree_of_the_caller(case: Path) -> None:
    tree = parse_body(case.read_text("utf-8"))
    before = "".join(tree.itertext())
    find_article(tree)
    assert "".join(tree.itertext()) == before


@pytest.mark.parametrize(
    "empty",
    ["", "<script>let x</script>", "<button>Copy</button>", "<nav>Menu</nav>"],
    ids=["", "script", "button", "nav"],
)
def test_find_article_skips_article_without_visible_text(empty: str) -> None:
    page = f'<main><article class="md-content__inner">{empty}</article><p>Outside.</p></main>'
    assert "".join(find_article(page).itertext()).endswith("Outside.")
