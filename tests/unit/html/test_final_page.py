"""Tests of the comparison of an article with the final HTML of its page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tables import read_tables

from mkdocs_roaming.html.final_page import reconcile_article, reconcile_post_list, reconcile_template
from mkdocs_roaming.text.meta_tags import exclusion_reason, find_index_ban, parse_refresh

TABLES = read_tables(__file__)

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
    ids=["unchanged", "minified", "other entities", "wrapped", "scripts", "text around", "text inside"],
)
def test_reconcile_article_keeps_article_whose_markup_has_changed(change: Callable[[str], str]) -> None:
    assert reconcile_article(ARTICLE, PAGE.format(change(ARTICLE))) == ARTICLE


def test_reconcile_article_returns_frames_that_plugins_add_last() -> None:
    article = f"{ARTICLE}<redoc src='lamps.json'></redoc>"
    frame = '<iframe onload="show(this)" style="display:none" src="redoc.html"></iframe>'
    final = reconcile_article(article, PAGE.format(f"{ARTICLE}{frame}"))
    assert final is not None
    assert frame in final


@pytest.mark.parametrize(
    "hidden",
    [
        CIPHER,
        '<div id="x"></div>',
        '<div id="x"><form>Password?</form></div>',
    ],
    ids=["cipher text", "nothing", "a form"],
)
def test_reconcile_article_drops_hidden_part(hidden: str) -> None:
    """The hidden words are also in the menu and the title of the page."""
    html = PAGE.format(ARTICLE.replace('<div id="x">The number is 4711.</div>', hidden).replace("<p>S", "<p >S"))
    final = reconcile_article(ARTICLE, html)
    assert final is not None
    assert "4711" not in final
    assert "q1w2" not in final
    assert "Sentence 19 of all" in final
    assert '<h2 id="b">After</h2>' in final


def test_reconcile_article_keeps_text_that_is_only_not_displayed() -> None:
    """Tabs and foldable blocks are not displayed, either."""
    html = PAGE.format(ARTICLE.replace('id="x"', 'id="x" style="DISPLAY : none"'))
    assert reconcile_article(ARTICLE, html) == ARTICLE


@pytest.mark.parametrize("html", ["", "<p>", PAGE.format(CIPHER), PAGE.format("<h1>Lamps</h1><form>Password?</form>")])
def test_reconcile_article_returns_none_for_hidden_article(html: str) -> None:
    assert reconcile_article(ARTICLE, html) is None


def test_reconcile_article_returns_none_for_hidden_part_on_page_without_article() -> None:
    """The article cannot be separated from the menus."""
    html = f"<html><body><nav>Menu</nav><div>{ARTICLE.replace('The number is 4711', 'Secret')}</div></body></html>"
    assert reconcile_article(ARTICLE, html) is None


def test_reconcile_article_ignores_the_order_of_words() -> None:
    """A theme may write the title after the text."""
    title, rest = ARTICLE.split("\n", 1)
    assert reconcile_article(ARTICLE, PAGE.format(f"{rest}<footer>{title}</footer>")) == ARTICLE


def test_reconcile_template_replaces_only_articles_with_few_words() -> None:
    hero = f"<h1>Lamps</h1><section>{WORDS}</section>"
    assert "Sentence 19" in reconcile_template("<h1>Lamps</h1>", PAGE.format(hero))
    assert reconcile_template(ARTICLE, PAGE.format(hero)) == ARTICLE
    assert reconcile_template("<h1>Lamps</h1>", "<html><body><h1>Lamps</h1>Menu and more menu</body></html>") == (
        "<h1>Lamps</h1>"
    )


def test_reconcile_template_without_article_needs_text_in_the_template() -> None:
    """The template may show a form for a password instead."""
    assert "Sentence 19" in str(reconcile_template(None, PAGE.format(f"<h1>Lamps</h1>{WORDS}")))
    assert reconcile_template(None, PAGE.format("<h1>Lamps</h1><form>Password?</form>")) is None
    assert reconcile_template(None, f"<html><body>{WORDS}</body></html>") is None


def test_reconcile_post_list_returns_displayed_part_of_the_template() -> None:
    listed = reconcile_post_list("<h1>Blog</h1>", PAGE.format(f"<h1>Blog</h1><p>{WORDS}</p>{CIPHER}"))
    assert "Sentence 19" in str(listed)
    assert "q1w2" not in str(listed)
    assert reconcile_post_list("<h1>Blog</h1>", "<html><body><h1>Blog</h1>Menu</body></html>") == "<h1>Blog</h1>"


@pytest.mark.parametrize(("html", "reason"), TABLES["meta tags count where browsers see them"])
def test_exclusion_reason_reads_meta_tags_where_browsers_see_them(html: str, reason: str | None) -> None:
    assert exclusion_reason(html) == reason


@pytest.mark.parametrize(("value", "target"), TABLES["values of refresh"])
def test_parse_refresh_returns_target_of_a_redirect(value: str, target: str | None) -> None:
    assert parse_refresh(value) == target


@pytest.mark.parametrize(("directives", "reason"), TABLES["robots directives exclude pages by noindex and past dates"])
def test_robots_directives_exclude_pages_by_noindex_and_past_dates(directives: str, reason: str | None) -> None:
    assert find_index_ban(directives) == reason
    assert exclusion_reason(f'<head><meta name="robots" content="{directives}"></head>') == reason
