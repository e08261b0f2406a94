"""The finder: sections are found in the browser, without an endpoint. `tests/unit/widget` tests how they are ranked."""

from __future__ import annotations

from playwright.sync_api import Page

from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH

from .conftest import Stage, Widget

TOLERATED = r"/trouble/|404"
"""The stage has no pages but the one with the widget."""


def test_results_appear_while_typing_and_open_in_place(page: Page, stage: Stage, widget: Widget) -> None:
    """The index and one shard are loaded with the first word."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(stage.url)))
    widget.visit(stage.page(""))
    widget.input.press_sequentially("whistl")
    first = widget.hits.first
    first.wait_for()
    assert "It does not whistle" in first.inner_text()
    widget.input.fill("the ports whist")
    widget.hits.locator("mark:text-matches('port', 'i')").first.wait_for(state="attached")
    marked = {text.lower() for text in widget.hits.locator("mark").all_inner_texts()}
    assert {"port", "whistle"} <= marked <= {"port", "ports", "whistle", "whistles"}
    widget.input.fill("another program listens")  # words of the body
    hit = widget.panel.locator(".hit:has-text('The port is taken')")
    hit.locator(".peek").click()
    shown = hit.locator(".open")
    shown.locator("a").first.wait_for()
    assert shown.inner_text().startswith(
        "When another program listens on the port already, Kettle stops with PortTaken."
    )
    assert "Troubleshooting" not in shown.inner_text()
    assert "whistle" not in shown.inner_text()
    (shard,) = (stage.folder / "roaming" / "finder").iterdir()
    files = [path for path in asked if path.endswith((".json", ".md"))]
    assert files[:2] == [INDEX_PATH, f"roaming/finder/{shard.name}"]
    assert "roaming/manifest.json" not in files
    hit.get_by_role("link", name="Open the page").click()
    page.wait_for_url("**/trouble/")


def test_enter_opens_first_result(page: Page, stage: Stage, widget: Widget) -> None:
    widget.visit(stage.page(""))
    widget.panel.locator(".start").wait_for()
    assert widget.panel.locator(".start h3").all_inner_texts() == ["Server", "Boiling", "Logs"]
    widget.input.press("Enter")
    assert page.url == stage.url + "index.html"
    widget.input.fill("port is taken")
    widget.panel.locator(".hit.current").wait_for()
    widget.input.press("Enter")
    page.wait_for_url("**/trouble/")
