"""The richer source of a page: its HTML, or the site's own Markdown."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mkdocs_roaming.cli import main
from roaming_crawler.contents import find_richer_source, measure_coverage, shows_generator_source

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

WORDS = "The gauge writes a reading every minute and keeps it for a year before it is dropped. "
TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
HTML_TABLE = "<table><thead><tr><th>a<th>b<tbody><tr><td>1<td>2</table>"
ALERT = "> [!WARNING]\n> Not in the rain.\n"
HTML_ALERT = '<div class="admonition warning"><p class="admonition-title">Warning</p><p>Not in the rain.</p></div>'
NAMES = [f"p{at}" for at in range(8)]


def _put(site: Any, article: str, markdown: str, *, listed: bool = False) -> None:
    """Add eight pages with the same HTML and the same Markdown."""
    items = "".join(f'<li><a href="/{name}/">{name}</a>' for name in NAMES)
    site.put("/", f"<html lang=en><title>Home</title><main><h1>Home</h1><p>{WORDS}<ul>{items}</ul></main>")
    for name in NAMES:
        body = (
            f"<main><h1 id=top>{name}</h1><p>{WORDS}</p>{article}</main>"
            if article
            else "<div id=root></div><script></script>"
        )
        site.put(f"/{name}/", f"<html lang=en><title>{name}</title><body>{body}")
        site.put(f"/{name}/index.md", f"# {name}\n\n{WORDS}\n\n{markdown}", kind="text/markdown")
    if listed:
        links = "".join(f"- [{name}]({name}/index.md)\n" for name in NAMES)
        site.put("/llms.txt", f"# Gauges\n\n> Gauges.\n\n{links}", kind="text/plain")


def _origins(output: Any) -> set[str]:
    return {page.origin for page in output.manifest.pages if page.path}


def _requests(site: Any, end: str) -> int:
    return len([path for path in site.paths() if path.endswith(end) and path.startswith("/p")])


def _fill(text: str) -> str:
    fillers = {"words": WORDS, "many": WORDS * 10, "table": TABLE, "html_table": HTML_TABLE}
    for name, filler in {**fillers, "alert": ALERT, "html_alert": HTML_ALERT}.items():
        text = text.replace(f"{{{name}}}", filler)
    return text


@pytest.mark.parametrize(("article", "markdown", "listed", "source", "origin", "part"), TABLES["origins"])
def test_richer_source_is_used_unless_an_option_decides(
    article: str, markdown: str, listed: bool, source: str, origin: str, part: str, site: Any, run_crawl: Any
) -> None:
    _put(site, _fill(article), _fill(markdown), listed=listed)
    output = run_crawl(site.url, source=source)
    assert _origins(output) == {origin}
    assert part in output.text("p7/")
    if origin == "html":
        # Of the first pages alone, at all usual addresses.
        assert _requests(site, ".md") <= (0 if source == "html" else 8)


def test_markdown_is_used_for_pages_that_need_javascript(site: Any, run_crawl: Any) -> None:
    _put(site, "", TABLE, listed=True)
    output = run_crawl(site.url)
    assert _origins(output) == {"markdown"}
    assert _requests(site, "/") <= 3  # the HTML of the first pages is empty


def test_full_text_is_compared_with_html(site: Any, run_crawl: Any) -> None:
    _put(site, HTML_ALERT, "", listed=True)
    texts = "".join(f"---\nurl: {site.url}{name}/\n---\n\n# {name}\n\n{WORDS}\n\n" for name in NAMES)
    site.put("/llms-full.txt", texts, kind="text/plain")
    output = run_crawl(site.url)
    assert _origins(output) == {"html"}
    assert _requests(site, ".md") == 0


def test_summary_and_events_tell_coverage(site: Any, tmp_path: Any) -> None:
    _put(site, HTML_ALERT + HTML_TABLE, "")
    run = ("crawl", site.url, "-o", str(tmp_path / "out"), "--allow-private", "--delay", "0", "--workers", "0")
    output = CliRunner().invoke(main, run).output
    assert "  100.0 % of visible words kept\n" in output
    events = CliRunner().invoke(main, [*run, "--json"]).stdout.splitlines()
    coverage = json.loads(events[-1])["coverage"]
    assert coverage["words"] == coverage["visible_words"]


def test_measure_coverage_counts_lost_words() -> None:
    article = "<p>One <b>tw</b>o three.</p><pre>&lt;script&gt;</pre><style>p { }</style>"
    markdown = "# T\n\nOne two\n\n- **macOS**\n\n  `<script>`\n"
    coverage = measure_coverage(article, markdown)
    assert (coverage.words, coverage.visible_words) == (3, 4)
    assert coverage.share == 0.75


def test_measure_coverage_ignores_colours_of_a_terminal() -> None:
    article = (
        "<div class=termy><pre>&lt;font color=&quot;#F9&quot;&gt;pump &lt;b&gt;on&lt;/b&gt;&lt;/font&gt;</pre></div>"
    )
    coverage = measure_coverage(article, "```console\npump on\n```\n")
    assert (coverage.words, coverage.visible_words) == (2, 2)


@pytest.mark.parametrize(("markdown", "converted", "richer"), TABLES["richer_sources"])
def test_find_richer_source(markdown: str, converted: str, richer: str) -> None:
    assert find_richer_source(_fill(markdown), _fill(converted)) == richer


def test_tables_that_became_lists_count_for_html() -> None:
    assert find_richer_source(WORDS * 3 + "\n" + TABLE, WORDS * 3 + "- `a`: b\n", HTML_TABLE) == "both"


@pytest.mark.parametrize(("markdown", "shown"), TABLES["shows_generator_source"])
def test_shows_generator_source(markdown: str, shown: bool) -> None:
    assert shows_generator_source(markdown) is shown


def test_page_addresses_of_listed_markdown_are_learned(site: Any, run_crawl: Any, html: Any) -> None:
    names = [f"q{at}" for at in range(8)]
    site.page("/", "Home")
    for name in names:
        site.put(f"/{name}", html(name))
        site.put(f"/{name}.md", f"# {name}\n", kind="text/markdown")
    links = "".join(f"- [{name}]({name}.md)\n" for name in names)
    site.put("/llms.txt", f"# Gauges\n\n> Gauges.\n\n{links}", kind="text/plain")
    assert len(run_crawl(site.url).paths) == 9
    assert len([path for path in site.paths() if path.endswith("/") and path.startswith("/q")]) <= 3
