"""The widget on sites of other generators, languages and versions, and with user preferences."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template

import pytest
from playwright.sync_api import Browser, Page

from .conftest import TESTS, Reply, Stage, Widget, answer, recorded, served
from .themes import built

SOURCES = {
    "index.md": "# Welcome\n\nWater.\n\n## Does it float?\n\nIt does. See [gauges](gauges.md).\n",
    "gauges.md": "# Gauges\n\nEach has a name.\n\n## Read a gauge\n\nLook at it.\n",
}


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Stage]:
    """An address, and a folder with nothing in it yet."""
    with served(tmp_path / "site") as stage:
        stage.folder.mkdir()
        yield stage


def indexed(stage: Stage, shape: str) -> Stage:
    """Write a site of a generator's shape, and put the widget on it as anybody would."""
    template = Template((TESTS / f"golden/widget/shapes/{shape}.html").read_text("utf-8"))
    pages = {
        "index.html": {"title": "Ebb", "id": "ebb", "more": "Does it float?", "to": "gauges.html"},
        "gauges.html": {"title": "Gauges", "id": "gauges", "more": "Read a gauge", "to": "index.html"},
    }
    for name, values in pages.items():
        (stage.folder / name).write_text(template.substitute(values), "utf-8")
    command = [sys.executable, "-m", "mkdocs_roaming", "index", str(stage.folder), "--url", stage.url]
    subprocess.run([*command, "--endpoint", stage.url], check=True, capture_output=True)
    return stage


def test_sphinx_shortcuts_and_navigation(page: Page, empty: Stage, widget: Widget) -> None:
    stage = indexed(empty, "sphinx")
    stage.plays(answer("Look [^2ebf9271].", **{"2ebf9271": f"{stage.url}gauges.html#more"}))
    widget.visit(stage.url)
    assert widget.panel.locator(".pick").all_inner_texts() == ["Does it float?"]  # a heading of the page
    page.keyboard.type("a/b")
    page.keyboard.press("ArrowRight")
    assert widget.input.input_value() == "a/b"
    assert page.url == stage.url
    widget.ask("How?").locator(".cite").click()
    page.wait_for_url("**/gauges.html#more")
    widget.open()
    assert widget.turns.count() == 1
    assert widget.panel.locator("summary").inner_text() == "Read 1 section, cited 1"


def test_zensical_instant_navigation_keeps_panel(page: Page, empty: Stage, widget: Widget) -> None:
    stage = indexed(empty, "zensical")
    stage.plays(answer("Look [^2ebf9271].", **{"2ebf9271": f"{stage.url}gauges.html#more"}), recorded("answered"))
    page.goto(stage.url)
    page.evaluate("window.loadedOnce = true")
    widget.open().ask("How?").locator(".cite").click()
    page.locator("h1:text-is('Gauges')").wait_for()
    assert page.evaluate("window.loadedOnce") is True
    assert widget.turns.count() == 1
    widget.ask("And now?")
    assert stage.asked[-1]["page"] == "gauges.html"


def test_versions_have_separate_sections_and_turns(page: Page, empty: Stage, widget: Widget) -> None:
    for version, text in (("1.0", "It floats."), ("2.0", "It sinks.")):
        stage = Stage(empty.folder / version)
        stage.url = f"{empty.url}{version}/"
        (empty.folder / version).mkdir()
        sources = {"index.md": f"# Ebb\n\n## Version {version}\n\n{text}\n"}
        own = ["search", {"roaming": {"widget": {"endpoint": empty.url}}}]
        built(stage, "mkdocs", sources, plugins=own, site_dir=str(stage.folder))
    empty.plays(recorded("answered"))
    widget.visit(f"{empty.url}1.0/").ask("Does it float?")
    for version, turns, text in (("2.0", 0, "It sinks."), ("1.0", 1, "It floats.")):
        widget.visit(f"{empty.url}{version}/")
        assert widget.turns.count() == turns
        page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
        widget.input.fill("version")
        widget.hits.first.locator(".peek").click()
        widget.hits.locator(f"text={text}").last.wait_for()


def test_languages_have_own_strings_sections_and_lang_parameter(page: Page, empty: Stage, widget: Widget) -> None:
    sources = {
        "index.md": "# Ebb\n\n## Does it float?\n\nIt does.\n",
        "index.de.md": "# Ebbe\n\n## Schwimmt es?\n\nEs schwimmt obenauf.\n",
    }
    languages = [{"locale": "en", "name": "English", "default": True, "build": True}]
    languages.append({"locale": "de", "name": "Deutsch", "build": True})
    i18n = {"i18n": {"docs_structure": "suffix", "languages": languages}}
    built(empty, "mkdocs", sources, plugins=["search", i18n, {"roaming": {"widget": {"endpoint": empty.url}}}])
    empty.plays(recorded("answered"), recorded("answered"))
    for path, title, asked, found, lang in (
        ("de/", "Ebb fragen", "schwimmen", "Schwimmt es?", "de"),
        ("", "Ask Ebb", "floating", "Does it float?", "en"),
    ):
        widget.visit(empty.url + path).ask("?")
        assert widget.panel.locator("h2").inner_text() == title
        assert (empty.asked[-1]["lang"], empty.asked[-1]["page"]) == (lang, "")  # below the language's own address
        page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
        widget.input.fill(asked + " ")
        widget.hits.first.wait_for()
        assert found in widget.hits.first.inner_text()


def test_documented_script_highlights_opened_sections(page: Page, empty: Stage, widget: Widget) -> None:
    text = (Path(__file__).parents[3] / "docs/guides/widget.md").read_text("utf-8")
    example = text[text.index("### Highlight opened sections") :]
    docs = empty.folder.parent / "docs"
    docs.mkdir()
    for language, name in (("javascript", "light.js"), ("css", "light.css")):
        found = re.search(rf"```{language}\n(.*?)```", example, re.DOTALL)
        assert found
        (docs / name).write_text(found[1], "utf-8")
    built(empty, "material", SOURCES, extra_javascript=["light.js"], extra_css=["light.css"])
    body = answer("Look [^2ebf9271].", **{"2ebf9271": f"{empty.url}gauges/#read-a-gauge"})
    empty.plays(body, body.replace(b'"read"', b'"cited"'))
    page.goto(empty.url)
    link = page.locator(".md-nav--primary a.md-nav__link", has_text="Gauges").first
    mark = "link => getComputedStyle(link, '::after').content"
    assert link.evaluate(mark) == "none"
    widget.open().ask("How?")
    assert (link.get_attribute("data-roamed"), link.evaluate(mark)) == ("read", '"·"')
    widget.ask("And then?")
    assert (link.get_attribute("data-roamed"), link.evaluate(mark)) == ("cited", '"✓"')


# Readers who set their own looks


def test_forced_colors_keep_borders_and_focus(page: Page, stage: Stage, widget: Widget) -> None:
    page.emulate_media(forced_colors="active")
    stage.plays(recorded("answered"))
    turn = widget.visit(stage.page()).ask("Which port?")
    drawn = (
        "one => { const style = getComputedStyle(one);"
        "return [style.borderInlineStartWidth, style.borderInlineStartColor, style.backgroundColor, style.color] }"
    )
    for one in (widget.panel, widget.panel.locator("[part=send]"), turn.locator("[part=actions] button").first):
        width, border, background, text = one.evaluate(drawn)
        assert width == "1px"
        assert background not in (border, text)
    box = widget.panel.locator("form")  # shows the focus of the input
    assert box.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"


def test_animation_respects_reduced_motion(page: Page, stage: Stage, widget: Widget) -> None:
    moving = (
        "document.querySelector('roaming-ask').shadowRoot.getAnimations()"
        ".filter(({ effect }) => effect.target.checkVisibility()).length"  # not in the folded steps
    )
    for motion, moves in (("reduce", False), ("no-preference", True)):
        page.emulate_media(reduced_motion=motion)
        reply = stage.plays(Reply(recorded("answered"), hold=b'data: {"type":"finish-step"}'))
        widget.visit(stage.page())
        widget.send("Which port?")
        widget.turns.locator("text=3 of 11 sections").wait_for()
        assert (page.evaluate(moving) > 0) == moves
        reply.released.set()
        widget.ended()
        page.wait_for_function(f"!{moving}")


def test_page_without_javascript_is_unchanged(browser: Browser, stage: Stage) -> None:
    stage.page()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(stage.url)
    assert page.locator("body").inner_text() == "Kettle\n\nBoils water. Next"
    assert page.locator("roaming-ask").inner_text() == ""
    box = page.locator("roaming-ask").bounding_box()
    assert box is None or box["height"] == 0
    context.close()
