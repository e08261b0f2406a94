"""What is the article on a page, of pages whose templates write more than the article."""

from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import find_article, parse_body

CASES = sorted((Path(__file__).parents[2] / "golden" / "articles").glob("*.html"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_what_a_template_writes_is_read_as_a_reader_reads_it(case: Path) -> None:
    """Of a blog's list the excerpts, each with its date behind its heading; of a home page what stands on it."""
    article = find_article(case.read_text("utf-8"))
    assert convert(article, title="The nav's title").markdown == case.with_suffix(".md").read_text("utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_tree_that_is_somebody_elses_stays_as_it_is(case: Path) -> None:
    """The page that the article is taken from can be read on."""
    tree = parse_body(case.read_text("utf-8"))
    before = "".join(tree.itertext())
    find_article(tree)
    assert "".join(tree.itertext()) == before


@pytest.mark.parametrize(
    "empty",
    ["", "<script>let x</script>", "<button>Copy</button>", "<nav>Menu</nav>"],
    ids=["", "script", "button", "nav"],
)
def test_an_article_that_says_nothing_is_none(empty: str) -> None:
    """Scripts, buttons and menus are no text: the next best place is looked at."""
    page = f'<main><article class="md-content__inner">{empty}</article><p>Outside.</p></main>'
    assert "".join(find_article(page).itertext()).endswith("Outside.")
