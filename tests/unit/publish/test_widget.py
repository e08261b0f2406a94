"""The widget on pages and among the published files."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.sections import Section
from mkdocs_roaming.publish.widget import (
    WidgetOptions,
    add_widget,
    parse_widget_options,
    remove_widget,
    suggest_questions,
)
from mkdocs_roaming.widget import LANGUAGES, MODULES, files
from mkdocs_roaming.widget.strip import stripped

SOURCES = Path(__file__).parents[3] / "mkdocs_roaming" / "widget"
PAGE = "<html><head></head><body><main>Hi</main></body></html>"


def test_the_widget_is_small() -> None:
    """What a page loads is at most 12 KB compressed; the rest comes when it is needed, and is smaller."""
    published = dict(files("en"))
    sizes = {path: len(gzip.compress(data, 9)) for path, data in published.items()}
    most = {"roaming-ask.js": 12 * 1024, "roaming-find.js": 8 * 1024, "roaming-done.js": 2 * 1024}
    assert set(sizes) == {f"roaming/{name}" for name in most}
    for name, size in most.items():
        assert sizes[f"roaming/{name}"] <= size


@pytest.mark.parametrize("name", MODULES)
def test_only_comments_and_white_space_are_stripped(name: str) -> None:
    """No comment is left, and stripping twice changes nothing."""
    source = (SOURCES / name).read_text("utf-8")
    once = stripped(source)
    assert stripped(once) == once
    assert "/**" not in once
    assert not re.search(r"^\s", once, re.MULTILINE)

    def bare(text: str) -> str:
        return re.sub(r"\s+", "", re.sub(r"(?m)/\*\*.*?\*/|(^|\s)//.*$", "", text))

    assert bare(once) == bare(source)


def test_templates_inside_of_templates_are_refused() -> None:
    """What could not be kept as it is written is never published changed."""
    with pytest.raises(ValueError, match="give the inner one a name"):
        stripped("a = `x ${b(`1 s`)}`")


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("a = 1; // no\nb", "a=1;\nb\n"),
        ("x = \"// yes\"; y = '/* yes */'", "x=\"// yes\";y='/* yes */'\n"),
        ("z = `a  // ${b}  c`", "z=`a  // ${b}  c`\n"),
        ("r = /[/\"'`] \\/ x/g.test(a)", "r=/[/\"'`] \\/ x/g.test(a)\n"),
        ("q = (a + b) / c / d; // e", "q=(a + b)/ c / d;\n"),
        ("return /x y/ / 2", "return /x y/ / 2\n"),
        ("a + +b - -c", "a + +b - -c\n"),
        ("const STYLE = `\n  a { b: c d; }\n`", "const STYLE=` a{b:c d;}`\n"),
        ("/* all */\n\n\n  f();\n\n  g()", "f();\ng()\n"),
    ],
)
def test_strings_patterns_and_templates_stay(source: str, kept: str) -> None:
    """What looks like a comment inside of them is none."""
    assert stripped(source) == kept


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_everything(language: str) -> None:
    """With the same places to fill in."""
    source = "".join((SOURCES / name).read_text("utf-8") for name in MODULES)
    blocks = re.findall(r"const ENGLISH = \{\n(.*?)\n\};", source, re.DOTALL)
    english = dict(re.findall(r'^  (\w+):\s*((?:"(?:[^"\\]|\\.)*"(?:\s*\+\s*)?)+),', "\n".join(blocks), re.MULTILINE))
    told = json.loads((SOURCES / f"ask.{language}.json").read_text("utf-8"))
    assert len(english) > 55
    assert set(told) - {"language", "stopWords"} == set(english)
    for name, text in english.items():
        assert set(re.findall(r"\{\w+\}", told[name])) == set(re.findall(r"\{\w+\}", text)), name
    assert {"roaming/roaming-ask.js", f"roaming/ask.{language}.json"} <= set(dict(files(f"{language}_XX")))


def test_options_are_read() -> None:
    """True is enough; false and `mode: off` mean that there is none; YAML's own false too."""
    assert parse_widget_options(True) == WidgetOptions()
    assert (
        parse_widget_options(None)
        is parse_widget_options(False)
        is parse_widget_options({"mode": "off"})
        is parse_widget_options({"mode": False})
        is None
    )
    read = parse_widget_options(
        {"endpoint": "https://ask.example/", "persist": False, "shortcut": False, "strings": {"title": "Ask"}}
    )
    assert read == WidgetOptions("https://ask.example/", persist="off", shortcut="", strings={"title": "Ask"})
    assert parse_widget_options(True, own_endpoint="/docs/") == WidgetOptions("/docs/")
    assert parse_widget_options({"endpoint": "https://a.example"}, own_endpoint="/docs/") == WidgetOptions("/docs/")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("yes", "widget: is 'yes'; set it to true, or to options such as `endpoint: https://…`"),
        ({"endpont": "x"}, "widget: does not know `endpont`; its options are endpoint, mode,"),
        ({"endpoint": "ask.example"}, "widget: endpoint is 'ask.example'; it is an address"),
        ({"mode": "loud"}, "widget: mode is 'loud'; it is one of auto, endpoint, finder, off"),
        ({"mode": "endpoint"}, "widget: mode is `endpoint`, but none is named"),
        ({"open": "yes"}, "widget: open is 'yes'; it is true or false"),
        ({"shortcut": "Ctrl+K"}, "widget: shortcut is 'Ctrl+K'; it is one letter"),
        ({"allow_links": "https://a.example"}, "widget: allow_links is 'https://a.example'; it is a list of addresses"),
        ({"allow_links": ["javascript:x"]}, "widget: allow_links is ['javascript:x']; it is a list of addresses"),
        ({"strings": {"title": 3}}, "widget: strings is {'title': 3}; it names words"),
    ],
)
def test_options_that_make_no_sense_are_named(given: object, told: str) -> None:
    """In one line, with the cure."""
    with pytest.raises(PublishError) as error:
        parse_widget_options(given)
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


def test_a_page_carries_it_once() -> None:
    """Addresses are relative to the page, attributes escaped, and what was put in comes out without a trace."""
    widget = WidgetOptions("https://ask.example/?a&b", open=True, strings={"title": 'Say "hi" <now>'})
    html = add_widget(PAGE, widget, "guide/a b/", "https://docs.example/", ['What is "x"?'])
    assert '<body><template data-roaming data-roaming-page data-pagefind-ignore data-manifest="../../roaming/' in html
    assert 'data-path="guide/a b/" data-suggestions="[&quot;What is \\&quot;x\\&quot;?&quot;]"></template>' in html
    assert '<script type="module" src="../../roaming/roaming-ask.js" data-roaming></script>' in html
    assert 'endpoint="https://ask.example/?a&amp;b" strings="{&quot;title&quot;: &quot;Say \\&quot;hi\\&quot;' in html
    assert html.endswith(" open></roaming-ask></body></html>")
    assert add_widget(html, widget, "guide/a b/", "https://docs.example/", ['What is "x"?']) == html
    assert remove_widget(html) == PAGE
    assert remove_widget(PAGE) == PAGE
    assert add_widget("<p>bare", WidgetOptions(), "", "https://x.example/").endswith(
        "</script><roaming-ask data-roaming></roaming-ask>"
    )


def test_suggestions_are_headings() -> None:
    """Questions first, then what stands at the top; front matter wins."""
    titles = [(1, "Page"), (2, "Install it"), (3, "Deeper"), (3, "Why does it drip?"), (2, "Run it"), (2, "x" * 99)]
    sections = [Section(level, title, None, 0, 1) for level, title in titles]
    assert suggest_questions(None, sections) == ["Why does it drip?", "Install it", "Run it"]
    assert suggest_questions(["How  hot?", 3], sections) == ["How hot?", "3"]


def test_an_indexed_site_carries_it(tmp_path: Path, make_site: Any) -> None:
    """`roaming index --endpoint` puts it on every page; without, the next time takes it off again."""
    (tmp_path / "index.html").write_text(
        '<html lang="de"><head><title>Kessel</title></head><body><main><h1>Kessel</h1><p>Kocht Wasser.</p>'
        '<h2 id="a">Warum pfeift er?</h2><p>Weil er kocht.</p></main></body></html>'
    )
    command = [sys.executable, "-m", "mkdocs_roaming", "index", str(tmp_path), "--url", "https://kettle.example/"]
    subprocess.run([*command, "--endpoint", "https://ask.example/"], check=True, capture_output=True)
    html = (tmp_path / "index.html").read_text()
    assert '<roaming-ask data-roaming endpoint="https://ask.example/"></roaming-ask></body>' in html
    assert "Warum pfeift er?&quot;]" in html
    assert (tmp_path / "roaming" / "ask.de.json").exists()
    subprocess.run(command, check=True, capture_output=True)
    assert "roaming-ask" not in (tmp_path / "index.html").read_text()
