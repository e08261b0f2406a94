"""Measures of the comparison of crawled packages with their articles."""

from __future__ import annotations

from collections import Counter

import pytest
from debian_docs import (
    Content,
    Site,
    compare_content,
    extract_article,
    extract_markdown,
    find_lost,
    load_config,
    parse,
)

SITE = Site(
    name="ebb",
    package="ebb-doc",
    generator="test",
    folder="",
    article="div.head, div.text",
    names="ebb",
    furniture="nav, script",
    optional="div.listing",
    code="pre, div.code",
    members="h3.member",
)
PAGE = b"""<html><head><title>Ebb: Gauge</title></head><body><nav>Menu</nav><div class="head"><h1>Gauge</h1></div>
<div class="text"><nav>Page list</nav><p>It reads\xe9 levels.</p><div class="code"><pre>x = 1</pre><pre>y = 2</pre></div>
<h3 class="member">&#9670; read() [1/2]</h3><p>Reads one.</p><div class="listing">long source</div></div>
<footer>Made with a generator</footer></body></html>"""
MARKDOWN = """# Gauge

Menu

It reads\xe9 levels.

```
x = 1
y = 2
```

### int read(int count)

Reads [one](<file:///gauge.html#read(int)>). long
"""


def test_article_excludes_furniture_and_optional_elements() -> None:
    article = extract_article(parse(PAGE), SITE)
    assert article is not None
    assert article.words == Counter(
        ["gauge", "it", "readsé", "levels", "x", "1", "y", "2", "read", "1", "2", "reads", "one"]
    )
    assert article.headings == ["Gauge", "◆ read() [1/2]"]
    assert article.code == {"x=1y=2": 1}
    assert article.members == ["read"]
    assert article.optional == {"long": 1, "source": 1}


def test_page_without_article_is_not_measured() -> None:
    assert extract_article(parse(b"<html><body><p>Frames</p></body></html>"), SITE) is None


def test_comparison_counts_kept_items_and_extra_words() -> None:
    article = extract_article(parse(PAGE), SITE)
    assert article is not None
    markdown = extract_markdown(MARKDOWN, ["Gauge", "int read(int count)"])
    expected, kept, lost = compare_content(article, markdown)
    assert expected == {"words": 13, "headings": 2, "code": 1, "members": 1, "extra": 16}
    # "menu" is extra. The optional word "long" and the signature in the heading are neither lost nor extra.
    assert kept == {"words": 11, "headings": 2, "code": 1, "members": 1, "extra": 1}
    assert lost == []


def test_article_missing_from_markdown_is_lost() -> None:
    article = extract_article(parse(PAGE), SITE)
    assert article is not None
    _, kept, lost = compare_content(article, Content(Counter(["menu"]), ["Ebb"], Counter()))
    assert kept == {"words": 0, "headings": 0, "code": 0, "members": 0, "extra": 1}
    assert lost == ["◆ read() [1/2]", "Gauge"]


@pytest.mark.parametrize(
    ("names", "titles", "lost"),
    [
        (["read"], ["static int read(int count)"], []),
        (["Station.read(count: int) -> int"], ["Station.read"], []),
        (["read"], ["reader"], ["read"]),
        (["read", "read"], ["read(int)"], ["read"]),
        (["operator+=", "operator+"], ["operator+=", "operator+"], []),
        (["read", "read all"], ["read all"], ["read"]),
    ],
)
def test_find_lost_matches_each_title_once(names: list[str], titles: list[str], lost: list[str]) -> None:
    assert find_lost(names, titles) == lost


def test_config_has_enough_generators() -> None:
    config = load_config()
    generators = {site.generator for site in config.site}
    assert all(site.furniture.startswith(config.furniture) for site in config.site)
    assert len({site.name for site in config.site}) == len(config.site)
    assert len(generators) >= 15
    assert len({site.generator for site in config.site if site.held_out}) >= 5
    assert len(config.tracebacks) >= 30
