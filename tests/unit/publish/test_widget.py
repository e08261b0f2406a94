"""The widget: options, elements on pages, published files."""

from __future__ import annotations

import gzip
import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tables import read_tables

from mkdocs_roaming.cli import main
from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.elements.html import LANGUAGES, load_texts, remove_own_elements
from mkdocs_roaming.publish.elements.page import ElementOptions, PageElements
from mkdocs_roaming.publish.elements.widget import WidgetOptions, add_widget, iter_widget_files, parse_widget_options
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.settings import SettingError

TABLES = read_tables(__file__)

ROOT = Path(__file__).parents[3]
SITE = Site('"A" & <B>', "https://docs.example/")
PAGE = "<html><head></head><body><main>Hi</main></body></html>"


# Files


def test_widget_modules_stay_below_size_limits() -> None:
    """Each is below its limit with gzip; only the first two are loaded with a page, one before it is painted."""
    sizes = {path: len(gzip.compress(data, 9)) for path, data in iter_widget_files("en")}
    limits = TABLES["size limits in KiB"]
    assert set(sizes) == {f"roaming/roaming-{name}.js" for name in limits}
    for name, limit in limits.items():
        assert sizes[f"roaming/roaming-{name}.js"] <= limit * 1024


@pytest.mark.parametrize("language", LANGUAGES)
def test_translation_has_all_strings_and_placeholders(language: str) -> None:
    source = "".join(file.read_text("utf-8") for file in (ROOT / "widget").rglob("*.js"))
    blocks = re.findall(r"const ENGLISH = \{\n(.*?)\n\};", source, re.DOTALL)
    english = dict(re.findall(r'^  (\w+):\s*((?:"(?:[^"\\]|\\.)*"(?:\s*\+\s*)?)+),', "\n".join(blocks), re.MULTILINE))
    translated = json.loads((ROOT / f"mkdocs_roaming/widget/ask.{language}.json").read_text("utf-8"))
    english |= load_texts("en")
    assert len(english) > 55
    assert set(translated) - {"language"} == set(english)
    for name, text in english.items():
        assert set(re.findall(r"\{\w+\}", translated[name])) == set(re.findall(r"\{\w+\}", text)), name
    assert {"roaming/roaming-ask.js", f"roaming/ask.{language}.json"} <= set(dict(iter_widget_files(f"{language}_XX")))


# Options


def test_parse_widget_options_accepts_flags_and_mappings() -> None:
    """YAML reads `off` as false."""
    assert parse_widget_options(True) == WidgetOptions()
    for off in (None, False, {"mode": "off"}, {"mode": False}):
        assert parse_widget_options(off) is None
    config = {"endpoint": "https://ask.example/", "persist": False, "shortcut": False, "strings": {"title": "Ask"}}
    expected = WidgetOptions("https://ask.example/", persist="off", shortcut="", strings={"title": "Ask"})
    assert parse_widget_options(config) == expected


@pytest.mark.parametrize(("config", "endpoint"), TABLES["own endpoint replaces that of the deployed site"])
def test_own_endpoint_replaces_that_of_the_deployed_site(config: object, endpoint: str) -> None:
    """A site that finds without an endpoint finds during `mkdocs serve`, too."""
    assert parse_widget_options(config, own_endpoint="/docs/") == WidgetOptions(endpoint)


@pytest.mark.parametrize(("config", "message"), TABLES["parse widget options reports invalid value in one line"])
def test_parse_widget_options_reports_invalid_value_in_one_line(config: object, message: str) -> None:
    with pytest.raises((PublishError, SettingError)) as error:
        parse_widget_options(config)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


# Pages


def test_add_widget_escapes_attributes_and_can_be_removed() -> None:
    options = parse_widget_options(TABLES["options with characters of markup"])
    assert options is not None
    html = add_widget(PAGE, options, "guide/a b/", SITE, ['What is "x"?'])
    assert '<body><template data-roaming data-roaming-page data-pagefind-ignore data-manifest="../../roaming/' in html
    assert 'data-site="https://docs.example/" data-title="&quot;A&quot; &amp; &lt;B&gt;"' in html
    assert 'data-path="guide/a b/" data-suggestions="[&quot;What is \\&quot;x\\&quot;?&quot;]"></template>' in html
    assert '<script src="../../roaming/roaming-early.js" data-roaming></script></head>' in html
    links = '[{"label":"Open an issue","url":"https://git.example/new?title={question}"}]'
    assert f'show-usage="on" links="{escape(links)}" scope=' in html
    assert 'scope="{&quot;paths&quot;:[&quot;guide/**&quot;]}"' in html
    assert 'endpoint="https://ask.example/?a&amp;b" show-usage=' in html
    assert 'strings="{&quot;title&quot;:&quot;Say \\&quot;hi\\&quot;' in html
    assert html.endswith(" open></roaming-ask><main>Hi</main></body></html>")
    assert remove_own_elements(html) == PAGE


def test_options_become_attributes() -> None:
    config = {"mode": "finder", "persist": False, "shortcut": "K", "replace_search": True, "page_context": False}
    options = parse_widget_options({**config, "allow_links": ["https://a.example/", "https://b.example/"]})
    assert options is not None
    attributes = 'mode="finder" persist="off" shortcut="K" replace-search="on"'
    attributes += ' allow-links="https://a.example/ https://b.example/" page-context="off"'
    assert f"<roaming-ask data-roaming {attributes}></roaming-ask>" in add_widget(PAGE, options, "", SITE)
    options = WidgetOptions(shortcut="")
    assert '<roaming-ask data-roaming shortcut="off"></roaming-ask>' in add_widget(PAGE, options, "", SITE)


def test_theme_keeps_its_search_where_a_browser_cannot_search(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ElementOptions.parse(PublishOptions(widget={"replace_search": True}))
    page = Page("a/", "A", "<h1>A</h1><h2 id=b>B</h2>")
    batch = convert_pages(SITE, [page], cache=ConversionCache(None), warn=print)
    for most, replaced in ((2, True), (1, False)):
        monkeypatch.setattr("mkdocs_roaming.publish.elements.page.MAX_SECTIONS", most)
        assert ("replace-search" in PageElements(options, batch).add(PAGE, "a/")) == replaced


@pytest.mark.parametrize(("before", "page"), TABLES["widget is the first tab stop after a skip link"])
def test_widget_is_the_first_tab_stop_after_a_skip_link(before: str, page: str) -> None:
    html = add_widget(f"<html><head></head><body>{before}{page}</body></html>", WidgetOptions(), "", SITE)
    html = re.sub("<template.*</template>", "", html)
    assert f"<body>{before}<roaming-ask data-roaming></roaming-ask>{page}</body>" in html


def test_add_widget_works_without_body() -> None:
    html = add_widget("<p>bare", WidgetOptions(), "", SITE)
    assert html.endswith("</script><roaming-ask data-roaming></roaming-ask>")


def test_index_adds_widget_and_removes_it_again(tmp_path: Path, make_site: Any) -> None:
    (tmp_path / "index.html").write_text(
        '<html lang="de"><head><title>Kessel</title></head><body><main><h1>Kessel</h1><p>Kocht Wasser.</p>'
        '<h2 id="a">Warum pfeift er?</h2><p>Weil er kocht.</p></main></body></html>'
    )
    command = ["index", str(tmp_path), "--url", "https://kettle.example/"]
    (tmp_path / "404.html").write_text('<html lang="de"><head></head><body><h1>404</h1></body></html>')
    assert CliRunner().invoke(main, [*command, "--endpoint", "https://ask.example/"]).exit_code == 0
    missing = (tmp_path / "404.html").read_text()
    assert 'data-manifest="/roaming/manifest.json"' in missing
    assert "data-path" not in missing
    assert '<roaming-ask data-roaming endpoint="https://ask.example/"></roaming-ask>' in missing
    html = (tmp_path / "index.html").read_text()
    assert '<roaming-ask data-roaming endpoint="https://ask.example/"></roaming-ask>' in html
    assert 'data-suggestions="[&quot;Warum pfeift er?&quot;]"' in html
    assert (tmp_path / "roaming" / "ask.de.json").exists()
    assert CliRunner().invoke(main, command).exit_code == 0
    for name in ("index.html", "404.html"):
        assert "roaming-ask" not in (tmp_path / name).read_text()


# Header of Material

HEADER = (
    '<html lang="de"><body><header class="md-header"><nav class="md-header__inner md-grid"><div data-md-component="search">'
    '<nav class="md-search__options"></nav></div>{repository}</nav></header><main>Hi</main></body></html>'
)
ASKING = WidgetOptions(endpoint="https://ask.example/")


@pytest.mark.parametrize("repository", ["", '<div class="md-header__source">Repository</div>'])
def test_header_of_material_gets_button_beside_search(repository: str) -> None:
    html = HEADER.format(repository=repository)
    page = add_widget(html, ASKING, "guide/", SITE)
    before, _, after = page.partition("<button")
    assert before.endswith("</nav></div>")
    assert after.partition("</button>")[2].startswith(f"{repository}</nav>")
    assert "<b>Fragen</b> <kbd hidden>Ctrl I</kbd>" in after
    assert remove_own_elements(page) == html


def test_label_of_header_button_is_configurable() -> None:
    options = WidgetOptions(endpoint="https://ask.example/", strings={"ask": "<Ask us>"})
    page = add_widget(HEADER.format(repository=""), options, "guide/", SITE)
    assert "<b>&lt;Ask us&gt;</b>" in page


@pytest.mark.parametrize("options", [WidgetOptions(), WidgetOptions(endpoint="https://ask.example/", mode="finder")])
def test_header_of_site_without_endpoint_has_no_button(options: WidgetOptions) -> None:
    page = add_widget(HEADER.format(repository=""), options, "guide/", SITE)
    assert "<button" not in page


def test_other_headers_have_no_button() -> None:
    for html in (PAGE, HEADER.format(repository="").replace("search", "find")):
        assert "<button" not in add_widget(html, ASKING, "guide/", SITE)
