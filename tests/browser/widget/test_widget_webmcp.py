"""Search and sections as WebMCP tools, where the browser offers the API; tests/unit/widget tests what they return."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .conftest import Stage

# The API as the draft describes it: names are unique, and an aborted signal removes a tool.
FAKE = """
window.tools = new Map();
Object.defineProperty(%s, "modelContext", { value: {
  async registerTool(tool, { signal } = {}) {
    if (!tool.name || !tool.description) throw new DOMException("Incomplete", "InvalidStateError");
    if (tools.has(tool.name)) throw new DOMException("Duplicate tool name", "InvalidStateError");
    JSON.stringify(tool.inputSchema);
    tools.set(tool.name, tool);
    signal?.addEventListener("abort", () => tools.delete(tool.name));
  },
} });
"""
CALL = "async ([name, input]) => JSON.parse(JSON.stringify(await tools.get(name).execute(input)))"
NAMES = ["search_docs", "read_section"]
WORKING_FILES = re.compile(r"/roaming/roaming-(?:webmcp|library|finder)\.js|/roaming/finder[./]|/manifest\.json")


def wait_for_tools(page: Page, names: list[str] = NAMES) -> None:
    page.wait_for_function("names => `${[...tools.keys()]}` === `${names}`", arg=names)


def call(page: Page, name: str, **arguments: object) -> str:
    """Call a tool and return its text."""
    return str(page.evaluate(CALL, [name, arguments])["content"][0]["text"])


@pytest.mark.parametrize(("api", "attributes"), [("", 'endpoint="/"'), ("document", 'mode="off"')])
def test_nothing_is_loaded_without_api_or_in_mode_off(page: Page, stage: Stage, api: str, attributes: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.add_init_script(FAKE % api if api else "")
    page.goto(stage.page(attributes))
    page.locator("roaming-ask .opener").wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    assert [one for one in loaded if WORKING_FILES.search(one)] == []
    assert not api or page.evaluate("tools.size") == 0


@pytest.mark.parametrize("api", ["document", "navigator"])
def test_tools_follow_mode_and_element_and_load_the_index_when_called(page: Page, stage: Stage, api: str) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    page.add_init_script(FAKE % api)
    page.goto(stage.page(title="Kettle"))
    wait_for_tools(page)
    page.wait_for_load_state("networkidle")
    loaded = [one.rpartition("/")[2] for one in sent if "/roaming/" in one]
    assert sorted(loaded) == ["roaming-ask.js", "roaming-panel.js", "roaming-webmcp.js"]
    assert "8642" in call(page, "search_docs", query="default port") + call(page, "read_section", id="2ebf9271")
    loaded = [one.partition("/roaming/")[2] for one in sent if "/roaming/" in one]
    assert loaded[3:6] == ["roaming-library.js", "roaming-finder.js", "finder.json"]
    assert [name for name in loaded[6:] if not name.startswith("finder/")] == []
    assert [one for one in sent if not one.startswith(f"GET {stage.url}")] == []
    page.evaluate("window.widget = document.querySelector('roaming-ask'); widget.setAttribute('mode', 'off')")
    wait_for_tools(page, [])
    page.evaluate("widget.setAttribute('mode', 'finder')")
    wait_for_tools(page)
    page.evaluate("widget.remove()")
    wait_for_tools(page, [])
    page.evaluate("document.body.append(widget)")
    wait_for_tools(page)
    page.evaluate("document.body.append(document.createElement('roaming-ask'))")
    page.locator("roaming-ask .opener").nth(1).wait_for(state="attached")
    assert "8642" in call(page, "search_docs", query="default port") + call(page, "read_section", id="2ebf9271")


def test_refused_registration_leaves_widget_working(page: Page, stage: Stage) -> None:
    page.add_init_script(
        "window.refused = 0; Object.defineProperty(document, 'modelContext', { value: "
        "{ registerTool() { refused++; throw new DOMException('forbidden', 'NotAllowedError') } } })"
    )
    page.goto(stage.page(title="Kettle"))
    page.wait_for_function("refused === 2")
    page.locator("roaming-ask .opener").click()
    expect(page.locator("roaming-ask dialog")).to_be_visible()
