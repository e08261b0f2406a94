"""The bar for selected text of the article."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import Locator, Page

from .conftest import TESTS, Stage, Widget, box_of

BODY = (TESTS / "golden/widget/selection.html").read_text("utf-8")
SELECT = """([from, start, to, end]) => {
  const texts = (id) => {
    const walker = document.createTreeWalker(document.getElementById(id), NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    return nodes;
  };
  const place = (id, at) => {
    for (const node of texts(id)) {
      if (at <= node.length) return [node, at];
      at -= node.length;
    }
  };
  getSelection().setBaseAndExtent(...place(from, start), ...place(to, end));
}"""


def select(page: Page, from_: str, start: int, end: int, to: str = "") -> Locator:
    """Select text from a place in an element to one in another, and return the bar."""
    page.evaluate(SELECT, [from_, start, to or from_, end])
    return page.locator("roaming-ask .selected")


def copied(page: Page, bar: Locator) -> str:
    """Copy the link to the passage; return its fragment, decoded."""
    bar.get_by_role("button", name="Copy link to passage").click()
    bar.get_by_text("Copied").wait_for()
    return str(page.evaluate("navigator.clipboard.readText()"))


@pytest.mark.parametrize(
    ("attributes", "name", "text"),
    [('endpoint="/"', "Ask about this", "About “listens on port 8642”: "), ("", "Find this", "listens on port 8642")],
)
def test_selected_text_is_asked_about_or_searched(
    page: Page, stage: Stage, widget: Widget, attributes: str, name: str, text: str
) -> None:
    """The module is loaded with the first selection."""
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url.rpartition("/")[2]))
    page.goto(stage.page(attributes, body=BODY))
    page.locator("roaming-ask .opener").wait_for()
    assert "roaming-selection.js" not in loaded
    bar = select(page, "a", 3, 23)
    bar.get_by_role("button", name=name).click()
    assert loaded.count("roaming-selection.js") == 1
    assert widget.input.input_value() == text
    assert widget.focused() == "textarea"
    assert not bar.is_visible()
    assert stage.asked == []


FRAGMENTS = json.loads((TESTS / "golden/widget/fragments.json").read_text("utf-8"))
"""Selected places with the text fragment of their link: of whole words, in bold, with its context, over two items, in code."""


@pytest.mark.parametrize(("selected", "fragment"), FRAGMENTS, ids=str)
def test_link_to_passage_has_text_fragment(page: Page, stage: Stage, selected: list[Any], fragment: str) -> None:
    page.goto(stage.page(body=BODY))
    address = copied(page, select(page, *selected))
    assert address.startswith(f"{stage.url}index.html#")
    kept = address.partition("#")[2].replace("%2D", "%252D").replace("%2C", "%252C").replace("%26", "%2526")
    assert unquote(kept) == fragment
    page.goto("about:blank")
    page.goto(address)
    assert page.evaluate("document.title") == "Kettle"


@pytest.mark.parametrize("kind", ["nav", "input", "panel", "off", "mode", "short"])
def test_bar_is_not_shown(page: Page, stage: Stage, widget: Widget, kind: str) -> None:
    attributes = {"off": 'endpoint="/" selection="off"', "mode": 'endpoint="/" mode="off"'}
    page.goto(stage.page(attributes.get(kind, 'endpoint="/"'), body=BODY))
    if kind == "panel":
        widget.open()
        widget.input.fill("some words")
        widget.input.select_text()
    elif kind == "input":
        page.locator("#i").select_text()
    else:
        select(page, *(("n", 0, 10) if kind == "nav" else ("a", 0, 1 if kind == "short" else 10)))
    page.wait_for_timeout(600)
    assert page.locator("roaming-ask .selected:visible").count() == 0


def test_bar_is_reached_with_tab_and_hidden_with_escape(page: Page, stage: Stage, widget: Widget) -> None:
    page.goto(stage.page(body=BODY))
    page.locator("main a").focus()
    page.evaluate(SELECT, ["a", 3, "a", 10])
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    bar = page.locator("roaming-ask .selected")
    bar.wait_for()
    page.keyboard.press("Tab")
    assert "Ask about this" in page.evaluate(
        "document.querySelector('roaming-ask').shadowRoot.activeElement.textContent"
    )
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert not bar.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Next"
    assert page.evaluate("String(getSelection())")


def test_bar_hides_with_selection_and_leaves_panel_open(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(body=BODY))
    bar = select(page, "a", 3, 23)
    bar.wait_for()
    page.keyboard.press("Escape")
    assert not bar.is_visible()
    assert widget.panel.is_visible()
    select(page, "a", 3, 20).wait_for()
    page.evaluate("getSelection().removeAllRanges()")
    bar.wait_for(state="hidden")


def test_bar_is_at_bottom_of_phones_and_above_text_elsewhere(page: Page, stage: Stage) -> None:
    page.goto(stage.page(body=BODY))
    bar = select(page, "d", 0, 40)
    bar.wait_for()
    box, text = box_of(bar), box_of(page.locator("#d"))
    assert box["y"] + box["height"] <= text["y"]
    page.set_viewport_size({"width": 390, "height": 700})
    page.evaluate("getSelection().removeAllRanges()")
    bar.wait_for(state="hidden")
    select(page, "d", 0, 40).wait_for()
    box = box_of(bar)
    assert (box["x"], box["width"]) == (8, 374)
    assert 690 <= box["y"] + box["height"] <= 692
