"""What a page's final HTML hides is not published; what it merely writes otherwise is."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from mkdocs_roaming.html.final_page import reconcile_article, reconcile_post_list, reconcile_template

WORDS = " ".join(f"<p>Sentence {at} of all that may be read here.</p>" for at in range(20))
ARTICLE = (
    f'<h1 id="a">Lamps &amp; co</h1>\n{WORDS}\n<div id="x">The number is 4711.</div>\n<h2 id="b">After</h2><p>Fin.</p>'
)
PAGE = (
    "<!doctype html><html><head><title>4711</title></head><body><nav>Call 4711 now</nav>"
    '<main><article class="md-content__inner">{}</article></main></body></html>'
)
CIPHER = '<div id="x" style="color:red;display:none !important">q1w2+4711/e3==;r4t5</div>'


@pytest.mark.parametrize(
    "change",
    [
        str,
        lambda text: text.replace("\n", "").replace("</p>", ""),
        lambda text: text.replace("&amp;", "&#38;").replace("<p>", "<p class='new'>"),
        lambda text: text.replace("<p>", "<p><a href='#'>").replace("</p>", "</a></p>"),
        lambda text: text.replace("<h2", "<script>let words = 'more'</script><style>p{}</style><!-- more --><h2"),
        lambda text: f"<p>Edited yesterday.</p>{text}<p>By Ada.</p>",
        lambda text: text.replace("<h2", "<aside>Advertisement</aside><h2"),
    ],
    ids=["as it is", "minified", "other entities", "wrapped", "with scripts", "with more around", "with more within"],
)
def test_an_article_that_is_written_otherwise_is_as_it_was(change: Callable[[str], str]) -> None:
    """Minifiers, galleries and dates leave the article that was converted as it is."""
    assert reconcile_article(ARTICLE, PAGE.format(change(ARTICLE))) == ARTICLE


@pytest.mark.parametrize(
    "hidden",
    [
        CIPHER,
        '<div id="x"></div>',
        '<div id="x"><form>Password?</form></div>',
    ],
    ids=["cipher text", "nothing", "a form"],
)
def test_a_part_that_is_hidden_is_left_out(hidden: str) -> None:
    """A part that is gone is not published, though its words stand elsewhere on the page; the rest is."""
    html = PAGE.format(ARTICLE.replace('<div id="x">The number is 4711.</div>', hidden).replace("<p>S", "<p >S"))
    final = reconcile_article(ARTICLE, html)
    assert final is not None
    assert "4711" not in final
    assert "q1w2" not in final
    assert "Sentence 19 of all" in final
    assert '<h2 id="b">After</h2>' in final


def test_what_is_only_not_displayed_is_published() -> None:
    """Words that stand in the page in the clear are no secret: tabs and foldables are made so."""
    html = PAGE.format(ARTICLE.replace('id="x"', 'id="x" style="DISPLAY : none"'))
    assert reconcile_article(ARTICLE, html) == ARTICLE


@pytest.mark.parametrize("html", ["", "<p>", PAGE.format(CIPHER), PAGE.format("<h1>Lamps</h1><form>Password?</form>")])
def test_an_article_that_is_hidden_is_none(html: str) -> None:
    """Where the words are gone, nothing is published."""
    assert reconcile_article(ARTICLE, html) is None


def test_a_part_is_not_cut_out_of_a_page_without_an_article() -> None:
    """Where the article cannot be told from menus, a page with a hidden part is not published at all."""
    html = f"<html><body><nav>Menu</nav><div>{ARTICLE.replace('The number is 4711', 'Secret')}</div></body></html>"
    assert reconcile_article(ARTICLE, html) is None


def test_words_in_another_order_are_still_words() -> None:
    """A theme that writes the title after the text hides nothing."""
    title, rest = ARTICLE.split("\n", 1)
    assert reconcile_article(ARTICLE, PAGE.format(f"{rest}<footer>{title}</footer>")) == ARTICLE


def test_large_pages_cost_little() -> None:
    """A megabyte of minified HTML is compared in the blink of an eye."""
    article = WORDS * 1000
    started = time.process_time()
    assert reconcile_article(article, PAGE.format(article.replace("<p>", "<p >"))) == article
    assert time.process_time() - started < 3


def test_a_template_speaks_where_the_source_does_not() -> None:
    """A home page is what its template wrote; a page of text is its text."""
    hero = f"<h1>Lamps</h1><section>{WORDS}</section>"
    assert "Sentence 19" in reconcile_template("<h1>Lamps</h1>", PAGE.format(hero))
    assert reconcile_template(ARTICLE, PAGE.format(hero)) == ARTICLE
    assert reconcile_template("<h1>Lamps</h1>", "<html><body><h1>Lamps</h1>Menu and more menu</body></html>") == (
        "<h1>Lamps</h1>"
    )


def test_a_template_that_does_not_show_the_article_speaks_for_itself() -> None:
    """What it shows instead is the page; a form for a password is none."""
    assert "Sentence 19" in str(reconcile_template(None, PAGE.format(f"<h1>Lamps</h1>{WORDS}")))
    assert reconcile_template(None, PAGE.format("<h1>Lamps</h1><form>Password?</form>")) is None
    assert reconcile_template(None, f"<html><body>{WORDS}</body></html>") is None


def test_a_list_shows_what_is_not_hidden_in_it() -> None:
    """Of a list of posts, what its template wrote is published, without what is not displayed."""
    listed = reconcile_post_list("<h1>Blog</h1>", PAGE.format(f"<h1>Blog</h1><p>{WORDS}</p>{CIPHER}"))
    assert "Sentence 19" in str(listed)
    assert "q1w2" not in str(listed)
    assert reconcile_post_list("<h1>Blog</h1>", "<html><body><h1>Blog</h1>Menu</body></html>") == "<h1>Blog</h1>"
