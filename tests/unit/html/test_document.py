"""Tests of HTML documents: articles, words, metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree
from tables import read_tables

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import (
    copy_metadata,
    count_visible_words,
    extract_canonical_url,
    extract_description,
    extract_site_name,
    extract_title,
    find_article,
    parse_body,
    parse_document,
)

TABLES = read_tables(__file__)

CASES = sorted((Path(__file__).parents[2] / "golden" / "articles").glob("*.html"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_find_article_on_template_page_returns_visible_content(case: Path) -> None:
    """The list of a blog has excerpts, each with its date after its heading."""
    article = find_article(case.read_text("utf-8"))
    assert convert(article, title="The nav's title").markdown == case.with_suffix(".md").read_text("utf-8")


@pytest.mark.parametrize(
    "empty",
    ["", "<script>let x</script>", "<button>Copy</button>", "<nav>Menu</nav>"],
    ids=["", "script", "button", "nav"],
)
def test_find_article_skips_article_without_visible_text(empty: str) -> None:
    page = f'<main><article class="md-content__inner">{empty}</article><p>Outside.</p></main>'
    assert "".join(find_article(page).itertext()).endswith("Outside.")


@pytest.mark.parametrize(("page", "text"), TABLES["find article returns article of each theme"])
def test_find_article_returns_article_of_each_theme(page: str, text: str) -> None:
    assert "".join(find_article(page).itertext()).strip() == text


def test_find_article_removes_theme_elements_from_a_copy_of_the_tree() -> None:
    page = (
        "<article class='md-content__inner'><a class='md-content__button' href='edit'>Edit</a><h1>T<a class=headerlink "
        "href='#t'>¶</a></h1><nav>crumbs</nav>Text<aside class='md-source-file'>2024</aside> after</article>"
    )
    tree = parse_body(page)
    before = etree.tostring(tree)
    assert "".join(find_article(tree).itertext()) == "TText after"
    assert etree.tostring(tree) == before


def test_count_visible_words_ignores_scripts_styles_and_titles() -> None:
    page = (
        "<body><title>no</title><p>One two<br>two</p><script>no()</script><svg><text>no</text></svg><style>no{}</style>"
    )
    assert count_visible_words(page) == {"one": 1, "two": 2}


@pytest.mark.parametrize(
    ("head", "title", "site"),
    [
        ("<title> Guide\n - Docs</title>", "Guide - Docs", ""),
        ("<title>Guide | X</title><meta property='og:site_name' content='Ebb'>", "Guide | X", "Ebb"),
        ("", "", ""),
    ],
)
def test_title_and_site_name_are_extracted(head: str, title: str, site: str) -> None:
    tree = parse_document(f"<html><head>{head}</head><body>text</body></html>")
    assert (extract_title(tree), extract_site_name(tree)) == (title, site)


@pytest.mark.parametrize(("generator", "site", "description", "heading", "expected"), TABLES["placeholders"])
def test_description_that_names_the_generator_is_a_placeholder_unless_the_site_is_about_it(
    generator: str, site: str, description: str, heading: str, expected: str
) -> None:
    head = f"<meta name=description content='{description}'>"
    head += "".join(f"<meta name=generator content='{part}'>" for part in generator.split(" + "))
    for name in (f"<title>{site}</title>", f"<title>{heading}</title><meta property=og:site_name content='{site}'>"):
        tree = parse_document(f"<head>{head}{name}</head><h1>{heading}</h1><p>VitePress")
        assert extract_description(tree, tree.find("body")) == expected


def test_metadata_is_copied_from_whole_page() -> None:
    tree = parse_document(
        "<html lang=pt><head><title>Tides</title><base href='/b/'></head><body><p>text</p>"
        "<svg><title>Arrow</title></svg><meta name=description content=' Late \n tide '><link rel=canonical href='/a/'>tail"
    )
    copied = copy_metadata(tree)
    assert copied.get("lang") == "pt"
    assert [element.tag for element in copied.find("head")] == ["title", "base", "meta", "link"]
    assert (extract_title(copied), extract_description(copied, copied)) == ("Tides", "Late tide")
    assert extract_canonical_url(copied) == "/a/"
    assert extract_title(tree) == "Tides"


@pytest.mark.parametrize(("attributes", "language"), TABLES["language of a root with prefixes"])
def test_metadata_of_root_with_prefixed_attributes_has_its_language(attributes: str, language: str | None) -> None:
    head = '<head><title xml:lang="en">Tides</title><meta og:x="1" name="description" content="When"/></head>'
    copied = copy_metadata(parse_document(f"<html {attributes}>{head}<body><p>text</p></body></html>"))
    assert copied.get("lang") == language
    assert (extract_title(copied), extract_description(copied, copied)) == ("Tides", "When")


@pytest.mark.parametrize("page", ["", "\0"])
def test_parse_document_without_content_raises_parser_error(page: str) -> None:
    with pytest.raises(etree.ParserError):
        parse_document(page)
