"""The widget in themes: shortcuts, focus, navigation, layout."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page
from tables import read_tables

from .conftest import Stage, Widget, answer, box_of, recorded, served
from .themes import built

TABLES = read_tables(__file__)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A site in Material, with instant navigation."""
    with served(tmp_path_factory.mktemp("material") / "site") as stage:
        yield built(stage, "material", TABLES["sources"])


TOLERATED = r"asked for https://|fonts\.g|cdnjs|ERR_FAILED"
"""Themes ask for fonts and scripts of other hosts."""


def test_typed_keys_do_not_trigger_site_shortcuts(page: Page, material: Stage, widget: Widget) -> None:
    widget.visit(material.url)
    printable = "".join(map(chr, range(33, 127)))
    page.keyboard.type(printable)
    assert widget.input.input_value() == printable
    widget.input.fill("")
    for key in (*"sf/np,.", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "PageDown", "Tab"):
        page.keyboard.press(key)
        assert page.url == material.url
        assert page.evaluate("document.activeElement.localName") == "roaming-ask"
    assert not page.locator("#__search").is_checked()
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()
    assert page.locator(".md-header [data-roaming-open]").evaluate("button => button === document.activeElement")


@pytest.mark.parametrize(("key", "code", "shortcut", "opens"), TABLES["shortcuts"])
def test_shortcut_works_with_non_latin_layouts(
    page: Page, stage: Stage, widget: Widget, key: str, code: str, shortcut: str | None, opens: bool
) -> None:
    page.goto(stage.page())
    page.locator("roaming-ask .opener").wait_for()
    heard = page.evaluate(
        """([key, code, shortcut]) => {
          if (shortcut) document.querySelector("roaming-ask").setAttribute("shortcut", shortcut);
          const event = new KeyboardEvent("keydown", { key, code, ctrlKey: true, bubbles: true, cancelable: true });
          return !document.body.dispatchEvent(event);
        }""",
        [key, code, shortcut],
    )
    assert heard == opens
    if opens:
        widget.panel.wait_for()


def test_enter_during_composition_does_not_send(material: Stage, widget: Widget) -> None:
    widget.visit(material.url)
    widget.input.fill("どこ")
    widget.input.evaluate(
        "input => input.dispatchEvent(new KeyboardEvent('keydown', "
        "{ key: 'Enter', keyCode: 229, isComposing: true, bubbles: true, composed: true }))"
    )
    widget.input.press("Shift+Enter")
    assert widget.input.input_value() == "どこ\n"
    assert widget.turns.count() == 0


def test_instant_navigation_keeps_panel_and_turns(page: Page, material: Stage, widget: Widget) -> None:
    url = f"{material.url}guide/gauges/#read-a-gauge"
    material.plays(answer("Look at it [^2ebf9271].", **{"2ebf9271": url}), recorded("answered"))
    page.goto(material.url)
    page.evaluate("window.loadedOnce = true")
    widget.open()
    assert widget.panel.locator(".pick").all_inner_texts() == ["Does it float?", "How do I start?"]
    turn = widget.ask("How do I read it?")
    turn.locator(".cite").click()
    page.wait_for_url(url)
    page.wait_for_selector("h1:has-text('Gauges')")
    assert page.evaluate("window.loadedOnce") is True
    assert widget.panel.is_visible()
    assert widget.turns.count() == 1
    widget.ask("And now?")
    assert material.asked[-1]["page"] == "guide/gauges/"
    widget.panel.get_by_role("button", name="Start over").click()
    assert widget.panel.locator(".pick").all_inner_texts() == ["How do I read a gauge?"]


@pytest.mark.parametrize(("width", "direction"), [(1280, "ltr"), (1280, "rtl"), (390, "ltr")])
def test_citation_highlights_its_passage_after_instant_navigation(
    page: Page, material: Stage, widget: Widget, width: int, direction: str
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    found = {"section": "2ebf9271", "text": "Look at it.", "fragment": "Look%20at%20it.", "start": 8}
    support = {"type": "data-support", "data": {"marks": [], "passages": [found]}}
    url = f"{material.url}guide/gauges/#read-a-gauge"
    material.plays(answer("Read it [^2ebf9271].", support, **{"2ebf9271": url}))
    page.goto(material.url)
    # Material sets the direction on the body.
    page.evaluate("direction => { document.body.dir = direction; window.loadedOnce = true }", direction)
    widget.open().ask("How do I read it?").locator(".cite").click()
    page.wait_for_function("() => CSS.highlights.get('roaming-passage')")
    assert page.url == url
    assert page.evaluate("window.loadedOnce") is True
    assert page.evaluate("[...CSS.highlights.get('roaming-passage')].join()") == "Look at it."
    heading = page.locator("[data-roaming-arrived]")
    assert heading.get_attribute("id") == "read-a-gauge"
    bar = "one => [getComputedStyle(one).backgroundPositionX, getComputedStyle(one).direction]"
    assert heading.evaluate(bar) == [{"ltr": "0px", "rtl": "100%"}[direction], direction]


def test_panel_is_modal_on_small_screens(page: Page, material: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 320, "height": 568})
    url = f"{material.url}guide/gauges/"
    material.plays(
        answer("Look at `a/very/long/path/that/goes/on/and/on/without/a/space` [^2ebf9271].", **{"2ebf9271": url})
    )
    turn = widget.visit(material.url).ask("How do I read it?")
    assert widget.panel.evaluate("panel => panel.matches(':modal')")
    assert widget.panel.bounding_box() == {"x": 0, "y": 0, "width": 320, "height": 568}
    assert widget.panel.locator(".log").evaluate("log => log.scrollWidth <= log.clientWidth")
    turn.locator(".cite").click()
    page.wait_for_url(url)
    assert not widget.panel.is_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    widget.open()
    page.set_viewport_size({"width": 500, "height": 800})
    page.wait_for_function(
        "() => document.querySelector('roaming-ask').shadowRoot.querySelector('dialog').matches(':modal')"
    )


def test_translation_and_custom_strings_are_used(page: Page, stage: Stage, widget: Widget) -> None:
    stage.plays(recorded("answered"))
    widget.visit(stage.page("""endpoint="/" strings='{"title": "Frag den Kessel"}'""", lang="de-AT"))
    turn = widget.ask("Welcher Port?")
    assert widget.panel.locator("h2").inner_text() == "Frag den Kessel"
    assert widget.status.inner_text() == "Antwort fertig, 2 Quellen"
    assert "3 Abschnitte gelesen, 2 zitiert" in turn.inner_text()
    assert stage.asked[0]["lang"] == "de"


@pytest.mark.parametrize(("language", "title"), TABLES["right to left"])
def test_right_to_left_page_has_its_panel_and_code_in_their_directions(
    page: Page, stage: Stage, widget: Widget, language: str, title: str
) -> None:
    page.goto(stage.page("", lang=language, direction="rtl"))
    assert box_of(page.locator("roaming-ask .opener"))["x"] < 100
    widget.open().input.fill("kettle-archive")
    word = widget.hits.first.locator("pre span").last  # of a short line
    word.wait_for()
    assert widget.panel.locator("h2").inner_text() == title
    panel, start = box_of(widget.panel), box_of(word)
    assert panel["x"] == 0
    assert start["x"] < panel["width"] / 4


@pytest.mark.parametrize("language", ["en", "de"])
def test_reason_of_failure_is_shown_once_in_the_language_of_the_widget(
    page: Page, stage: Stage, widget: Widget, language: str
) -> None:
    widget.visit(stage.page('endpoint="/" strings="{}"', lang=language))
    general = b"The answer could not be finished. Please ask again in a moment."
    stage.plays(recorded("error").replace(general, b"Answers are not available now. Try again in 20 s."))
    turn = widget.ask("Wie heiss?")
    turn.locator(".answer h4").wait_for()
    shown = turn.inner_text()
    assert shown.count("not available now") == (language == "en")
    assert shown.count("Die Antwort wurde nicht fertig.") == (language == "de")
    assert shown.index("\nWater boils") > shown.index({"en": "Search results", "de": "Suchergebnisse"}[language])
    assert "could not be finished" not in shown


def test_script_alone_adds_finder(stage: Stage, widget: Widget) -> None:
    html = '<!doctype html><title>Bare</title><link rel=icon href="data:,"><h1>Bare</h1>'
    html += '<script type=module src="roaming/roaming-ask.js"></script>'
    (stage.folder / "bare.html").write_text(html, "utf-8")
    widget.visit(f"{stage.url}bare.html")
    widget.input.fill("port taken")
    widget.hits.first.locator(".peek").click()
    widget.hits.first.locator("text=PortTaken").last.wait_for()


@pytest.mark.parametrize(("direction", "wider", "narrower"), [("ltr", "Left", "Right"), ("rtl", "Right", "Left")])
def test_panel_width_can_be_changed_by_keyboard(
    page: Page, stage: Stage, widget: Widget, direction: str, wider: str, narrower: str
) -> None:
    widget.visit(stage.page(direction=direction))
    assert box_of(widget.panel)["x"] == (0 if direction == "rtl" else 1280 - 352)
    edge = widget.panel.get_by_role("separator", name="Width of the panel")
    assert edge.get_attribute("aria-valuenow") == "352"
    edge.focus()
    for key, width, value in ((wider, 384, "384"), (wider, 416, "416"), (narrower, 384, "384")):
        edge.press(f"Arrow{key}")
        assert widget.panel.bounding_box()["width"] == width
        assert edge.get_attribute("aria-valuenow") == value
