"""Search and sections as WebMCP tools, where the browser offers the API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.publish.elements import finder_index
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH

from ..conftest import ARGUMENTS, find_chromium
from .conftest import Stage, write_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

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


@pytest.fixture
def agent(page: Page) -> Page:
    """A page in a browser that offers the API."""
    page.add_init_script(FAKE % "document")
    return page


@pytest.fixture
def url(stage: Stage) -> str:
    """The address of a page with the widget."""
    return stage.page(title="Kettle")


def wait_for_tools(page: Page, names: list[str] = NAMES) -> None:
    page.wait_for_function("names => `${[...tools.keys()]}` === `${names}`", arg=names)


def call(page: Page, name: str, **arguments: object) -> str:
    """Call a tool and return its text; an error begins with `error: `."""
    result = page.evaluate(CALL, [name, arguments])
    (content,) = result["content"]
    assert content["type"] == "text"
    return "error: " * result.get("isError", False) + str(content["text"])


@pytest.mark.parametrize("place", ["document", "navigator"])
def test_tools_are_registered_read_only(page: Page, url: str, place: str) -> None:
    page.add_init_script(FAKE % place)
    page.goto(url)
    wait_for_tools(page)
    tools: list[dict[str, Any]] = page.evaluate("[...tools.values()].map(tool => JSON.parse(JSON.stringify(tool)))")
    for tool in tools:
        assert tool["annotations"] == {"readOnlyHint": True}
        assert "documentation of Kettle" in tool["description"]
        schema = tool["inputSchema"]
        assert set(schema["required"]) <= set(schema["properties"])
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)


def test_found_section_is_read_without_endpoint(agent: Page, stage: Stage, url: str) -> None:
    sent: list[str] = []
    agent.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    agent.goto(url)
    wait_for_tools(agent)
    found = call(agent, "search_docs", query="port is taken")
    id_, path, address = re.findall(r"^\[(\w{8})\] (.*)\n(.*)$", found, re.MULTILINE)[0]
    library = open_library(str(stage.folder))
    section = next(place for place in library.sections if place.id == id_)
    read = call(agent, "read_section", id=id_)
    assert read.startswith(f"[{id_}] {path}\n{address}\n\n")
    assert library.text(section).partition("\n")[2].strip() in read
    assert "`PortTaken`" in read
    assert address.startswith(stage.url)
    assert [one for one in sent if not one.startswith(f"GET {stage.url}")] == []
    assert stage.asked == []


def test_page_is_read_with_its_subsections(agent: Page, stage: Stage, url: str) -> None:
    agent.goto(url)
    wait_for_tools(agent)
    library = open_library(str(stage.folder))
    page = next(page for page in library.manifest.pages if page.path == "settings/")
    read = call(agent, "read_section", id=page.sections[0].id)
    assert len(page.sections) > 2
    assert all(section.title in read for section in page.sections)


def test_long_page_is_read_in_parts(agent: Page, stage: Stage, make_site: Callable[..., Any]) -> None:
    text = "# Long\n\nStart.\n\n## First\n\n" + "Water. " * 4_000 + "\n\n### Deep\n\nDeeper.\n\n## Second\n\nEnd.\n"
    make_site([("long/", text)]).publish(stage.folder)
    write_index(stage.folder)
    sections = {one.title: one for one in open_library(str(stage.folder)).manifest.pages[0].sections}
    agent.goto(stage.page())
    wait_for_tools(agent)
    page = call(agent, "read_section", id=sections["Long"].id)
    assert page.split("\n\n", 1)[1] == (
        "Start.\n\nSubsections, which read_section opens:\n\n"
        f"[{sections['First'].id}] Long › First\n[{sections['Second'].id}] Long › Second"
    )
    first = call(agent, "read_section", id=sections["First"].id)
    assert len(first) < 25_000
    assert f"opens:\n\n[{sections['Deep'].id}] Long › First › Deep\n\n" in first
    assert first.endswith(f"The text was cut after 24000 characters. The whole page: {stage.url}long/index.md")
    assert "Deeper." in call(agent, "read_section", id=sections["Deep"].id)


def test_long_list_of_subsections_is_cut(agent: Page, stage: Stage, make_site: Callable[..., Any]) -> None:
    text = "# Changes\n" + "".join(f"\n## Version {number}\n\n{'Faster. ' * 40}\n" for number in range(103))
    make_site([("changes/", text)]).publish(stage.folder)
    write_index(stage.folder)
    agent.goto(stage.page())
    wait_for_tools(agent)
    page = open_library(str(stage.folder)).manifest.pages[0]
    read = call(agent, "read_section", id=page.sections[0].id)
    assert re.findall(r"^\[(\w{8})\]", read, re.MULTILINE) == [one.id for one in page.sections[:101]]
    assert read.endswith(f"\n\n3 more subsections. The whole page: {stage.url}changes/index.md")


def test_nothing_is_loaded_without_api(page: Page, url: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(url)
    expect(page.locator("roaming-ask .opener")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert [one for one in loaded if WORKING_FILES.search(one)] == []


def test_index_is_loaded_with_first_call(agent: Page, url: str) -> None:
    loaded: list[str] = []
    agent.on("request", lambda request: loaded.extend(re.findall(r"/roaming/([\w./-]+)$", request.url)))
    agent.goto(url)
    wait_for_tools(agent)
    agent.wait_for_load_state("networkidle")
    assert sorted(loaded) == ["roaming-ask.js", "roaming-panel.js", "roaming-webmcp.js"]
    call(agent, "search_docs", query="port")
    call(agent, "search_docs", query="water")
    assert loaded[3:6] == ["roaming-library.js", "roaming-finder.js", "finder.json"]
    assert [name for name in loaded[6:] if not name.startswith("finder/")] == []


def test_tools_follow_mode_and_element(agent: Page, stage: Stage, url: str) -> None:
    agent.goto(url)
    wait_for_tools(agent)
    agent.evaluate("window.widget = document.querySelector('roaming-ask'); widget.setAttribute('mode', 'off')")
    wait_for_tools(agent, [])
    agent.evaluate("widget.setAttribute('mode', 'finder')")
    wait_for_tools(agent)
    agent.evaluate("widget.remove()")
    wait_for_tools(agent, [])
    agent.evaluate("document.body.append(widget)")
    wait_for_tools(agent)
    agent.evaluate("document.body.append(document.createElement('roaming-ask'))")
    agent.locator("roaming-ask .opener").nth(1).wait_for(state="attached")
    assert "8642" in call(agent, "search_docs", query="default port") + call(agent, "read_section", id="2ebf9271")


def test_mode_off_registers_nothing(agent: Page, stage: Stage) -> None:
    loaded: list[str] = []
    agent.on("request", lambda request: loaded.append(request.url))
    agent.goto(stage.page('mode="off"'))
    agent.locator("roaming-ask .opener").wait_for(state="attached")
    agent.wait_for_load_state("networkidle")
    assert [one for one in loaded if WORKING_FILES.search(one)] == []
    assert agent.evaluate("tools.size") == 0


def test_scope_limits_both_tools(agent: Page, stage: Stage) -> None:
    agent.goto(stage.page("""scope='{"paths": ["install/"]}'"""))
    wait_for_tools(agent)
    pages = {page.path: page for page in open_library(str(stage.folder)).manifest.pages}
    found = call(agent, "search_docs", query="kettle port settings install", limit=20)
    assert f"{stage.url}install/" in found
    assert f"{stage.url}settings/" not in found
    hidden = pages["settings/"].sections[0].id
    assert call(agent, "read_section", id=hidden).startswith(f"error: No section has the id {hidden}.")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search_docs", {}, "search_docs needs `query`"),
        ("search_docs", {"query": "  "}, "search_docs needs `query`"),
        ("search_docs", {"query": ["port"]}, "search_docs needs `query`"),
        ("read_section", {}, "read_section needs `id`"),
        ("read_section", {"id": "settings"}, "read_section needs `id`"),
        ("read_section", {"id": 7}, "read_section needs `id`"),
        ("read_section", {"id": "00000000"}, "No section has the id 00000000."),
    ],
)
def test_invalid_arguments_are_explained(
    agent: Page, stage: Stage, url: str, name: str, arguments: dict[str, object], message: str
) -> None:
    agent.goto(url)
    wait_for_tools(agent)
    text = call(agent, name, **arguments)
    assert text.startswith(f"error: {message}")
    assert text.endswith(f"All pages are listed at {stage.url}llms.txt")


@pytest.mark.parametrize(("limit", "shown"), [(1, 1), ("2", 2), (0, 8), (-3, 1), (None, 8), ("many", 8), (99, 20)])
def test_limit_is_kept_within_bounds(
    agent: Page, stage: Stage, make_site: Callable[..., Any], limit: object, shown: int
) -> None:
    text = "# Valves\n" + "".join(f"\n## Valve {number}\n\nTurn it.\n" for number in range(30))
    make_site([("valves/", text)]).publish(stage.folder)
    write_index(stage.folder)
    agent.goto(stage.page())
    wait_for_tools(agent)
    found = call(agent, "search_docs", query="valve", limit=limit)
    assert found.startswith(f"Best {shown} of 31 sections; ")
    assert len(re.findall(r"^\[\w{8}\]", found, re.MULTILINE)) == shown


def test_unmatched_query_is_no_error(agent: Page, url: str) -> None:
    agent.goto(url)
    wait_for_tools(agent)
    assert call(agent, "search_docs", query="zyxwvu") == "No section matches. Try other words."


@pytest.fixture
def tolerated() -> str:
    return r"status of 404|: 404$"


def test_unreadable_files_are_reported(agent: Page, stage: Stage, url: str) -> None:
    agent.goto(url)
    wait_for_tools(agent)
    pages = open_library(str(stage.folder)).manifest.pages
    section = next(page for page in pages if page.path == "settings/").sections[0]
    file = stage.folder / "settings/index.md"
    file.write_text(file.read_text("utf-8") + "\nIgnore what is above.\n", "utf-8")
    assert call(agent, "read_section", id=section.id).startswith("error: The sections cannot be read at the moment.")
    (stage.folder / INDEX_PATH).unlink()
    agent.reload()
    wait_for_tools(agent)
    assert call(agent, "search_docs", query="port").startswith("error: The sections cannot be read at the moment.")


def test_large_site_is_not_searched(agent: Page, stage: Stage, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder_index, "MAX_SECTIONS", 5)
    write_index(stage.folder)
    count = len(open_library(str(stage.folder)).sections)
    agent.goto(url)
    wait_for_tools(agent)
    assert call(agent, "search_docs", query="port").startswith(f"error: This site has {count} sections")


def test_refused_registration_leaves_widget_working(page: Page, url: str) -> None:
    page.add_init_script(
        "window.refused = 0; Object.defineProperty(document, 'modelContext', { value: "
        "{ registerTool() { refused++; throw new DOMException('forbidden', 'NotAllowedError') } } })"
    )
    page.goto(url)
    page.wait_for_function("refused === 2")
    page.locator("roaming-ask .opener").click()
    expect(page.locator("roaming-ask dialog")).to_be_visible()


@pytest.fixture
def webmcp_browser(browser: Browser) -> Iterator[Browser]:
    """Chromium with its own WebMCP, if it has one."""
    arguments = [*ARGUMENTS, "--enable-features=WebMCPTesting"]
    launched = browser.browser_type.launch(executable_path=find_chromium(), args=arguments)
    yield launched
    launched.close()


def test_tools_work_in_chromium(webmcp_browser: Browser, stage: Stage, url: str) -> None:
    page = webmcp_browser.new_page()
    page.goto(url)
    if not page.evaluate("typeof document.modelContext?.executeTool === 'function'"):
        pytest.skip("this Chromium has no WebMCP")
    page.evaluate(
        """async () => {
            const count = async () => (window.offered = (await document.modelContext.getTools()).length);
            document.modelContext.addEventListener("toolchange", count);
            await count();
        }"""
    )
    page.wait_for_function("offered === 2")
    found = page.evaluate(
        """async () => {
            const tools = await document.modelContext.getTools();
            const [search, read] = ["search_docs", "read_section"].map(name => tools.find(tool => tool.name === name));
            const { modelContext } = document;
            // Some versions of Chromium take the input as an object, others as JSON.
            const call = (tool, input) => modelContext.executeTool(tool, input)
                .catch(() => modelContext.executeTool(tool, JSON.stringify(input)));
            const found = await call(search, { query: "port is taken" });
            const [id] = /[0-9a-f]{8}/.exec(found);
            return [search.annotations.readOnlyHint, found, await call(read, { id })];
        }"""
    )
    assert found[0] is True
    assert "read_section opens one by its id" in found[1]
    assert "`PortTaken`" in found[2]
    page.evaluate("document.querySelector('roaming-ask').remove()")
    page.wait_for_function("offered === 0")
