"""The finder as WebMCP tools: what they return."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from node import run_in_node

from mkdocs_roaming.publish.elements import finder_index
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH

from ...conftest import URL, make
from .finder import write_finder

PORT = "# Settings\n\nAll of them.\n\n## Server\n\nThe default port is 8642.\n\n## Logs\n\nOne for each day.\n"
TAKEN = "# Trouble\n\n## The port is taken\n\nKettle stops with `PortTaken`. Choose another port.\n"
CALL = """async (load, folder, base, scope, calls) => {
  const { registerTools } = await load("webmcp");
  const tools = {};
  const fetched = [];
  const host = {
    settings: { page: { title: "Kettle", base, manifest: `${base}roaming/manifest.json` }, words: {} },
    getAttribute: () => scope && JSON.stringify(scope),
    fetch: async (address) => {
      fetched.push(`${address}`);
      try {
        return new Response(readFileSync(folder + new URL(address).pathname.slice(new URL(base).pathname.length - 1)));
      } catch {
        return new Response("", { status: 404 });
      }
    },
  };
  await registerTools(host, { registerTool: async (tool) => (tools[tool.name] = tool) });
  const results = [];
  for (const [name, input] of calls) results.push(await tools[name].execute(input));
  return { tools: Object.values(tools), results, fetched };
}"""


def run(folder: Path, *calls: tuple[str, dict[str, Any]], scope: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = run_in_node(CALL, str(folder), URL, scope, calls)
    return found


def call(folder: Path, name: str, scope: Any = None, **arguments: object) -> str:
    """Call a tool and return its text; an error begins with `error: `."""
    (result,) = run(folder, (name, arguments), scope=scope)["results"]
    (content,) = result["content"]
    assert content["type"] == "text"
    return "error: " * result.get("isError", False) + str(content["text"])


@pytest.fixture
def kettle(tmp_path: Path) -> Path:
    folder = make([("settings/", PORT), ("trouble/", TAKEN)]).publish(tmp_path / "kettle")
    write_finder(folder)
    return folder


def test_tools_are_read_only_and_load_nothing_before_they_are_called(kettle: Path) -> None:
    found = run(kettle)
    for tool in found["tools"]:
        assert tool["annotations"] == {"readOnlyHint": True}
        assert "documentation of Kettle" in tool["description"]
        schema = tool["inputSchema"]
        assert set(schema["required"]) <= set(schema["properties"])
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert found["fetched"] == []


def test_found_section_is_read_with_its_subsections(kettle: Path) -> None:
    found = call(kettle, "search_docs", query="port is taken")
    id_, path, address = re.findall(r"^\[(\w{8})\] (.*)\n(.*)$", found, re.MULTILINE)[0]
    read = call(kettle, "read_section", id=id_)
    assert read.startswith(f"[{id_}] {path}\n{address}\n\nKettle stops with `PortTaken`.")
    settings = write_finder(kettle).manifest.pages[0]
    read = call(kettle, "read_section", id=settings.sections[0].id)
    assert len(settings.sections) > 2
    assert all(section.title in read for section in settings.sections)
    assert call(kettle, "search_docs", query="zyxwvu") == "No section matches. Try other words."


def test_long_page_is_read_in_parts(tmp_path: Path) -> None:
    text = "# Long\n\nStart.\n\n## First\n\n" + "Water. " * 4_000 + "\n\n### Deep\n\nDeeper.\n\n## Second\n\nEnd.\n"
    library = write_finder(make([("long/", text)]).publish(tmp_path))
    ids = {one.title: one.id for one in library.manifest.pages[0].sections}
    page = call(tmp_path, "read_section", id=ids["Long"])
    assert page.split("\n\n", 1)[1] == (
        "Start.\n\nSubsections, which read_section opens:\n\n"
        f"[{ids['First']}] Long › First\n[{ids['Second']}] Long › Second"
    )
    first = call(tmp_path, "read_section", id=ids["First"])
    assert len(first) < 25_000
    assert f"opens:\n\n[{ids['Deep']}] Long › First › Deep\n\n" in first
    assert first.endswith(f"The text was cut after 24000 characters. The whole page: {URL}long/index.md")
    assert "Deeper." in call(tmp_path, "read_section", id=ids["Deep"])


def test_long_list_of_subsections_is_cut(tmp_path: Path) -> None:
    text = "# Changes\n" + "".join(f"\n## Version {number}\n\n{'Faster. ' * 40}\n" for number in range(103))
    (page,) = write_finder(make([("changes/", text)]).publish(tmp_path)).manifest.pages
    read = call(tmp_path, "read_section", id=page.sections[0].id)
    assert re.findall(r"^\[(\w{8})\]", read, re.MULTILINE) == [one.id for one in page.sections[:101]]
    assert read.endswith(f"\n\n3 more subsections. The whole page: {URL}changes/index.md")


def test_scope_limits_both_tools(kettle: Path) -> None:
    scope = {"paths": ["trouble/"]}
    found = call(kettle, "search_docs", query="port settings", limit=20, scope=scope)
    assert f"{URL}trouble/" in found
    assert f"{URL}settings/" not in found
    hidden = write_finder(kettle).manifest.pages[0].sections[0].id
    assert call(kettle, "read_section", id=hidden, scope=scope).startswith(f"error: No section has the id {hidden}.")


INVALID: list[tuple[str, dict[str, Any], str]] = [
    ("search_docs", {}, "search_docs needs `query`"),
    ("search_docs", {"query": "  "}, "search_docs needs `query`"),
    ("search_docs", {"query": ["port"]}, "search_docs needs `query`"),
    ("read_section", {}, "read_section needs `id`"),
    ("read_section", {"id": "settings"}, "read_section needs `id`"),
    ("read_section", {"id": 7}, "read_section needs `id`"),
    ("read_section", {"id": "00000000"}, "No section has the id 00000000."),
]


def test_invalid_arguments_are_explained(kettle: Path) -> None:
    results = run(kettle, *((name, arguments) for name, arguments, _ in INVALID))["results"]
    for result, (_, _, message) in zip(results, INVALID, strict=True):
        text = result["content"][0]["text"]
        assert result["isError"]
        assert text.startswith(message)
        assert text.endswith(f"All pages are listed at {URL}llms.txt")


def test_limit_is_kept_within_bounds(tmp_path: Path) -> None:
    text = "# Valves\n" + "".join(f"\n## Valve {number}\n\nTurn it.\n" for number in range(30))
    write_finder(make([("valves/", text)]).publish(tmp_path))
    limits = [(1, 1), ("2", 2), (0, 8), (-3, 1), (None, 8), ("many", 8), (99, 20)]
    calls = [("search_docs", {"query": "valve", "limit": limit}) for limit, _ in limits]
    for (_, shown), result in zip(limits, run(tmp_path, *calls)["results"], strict=True):
        text = result["content"][0]["text"]
        assert text.startswith(f"Best {shown} of 31 sections; ")
        assert len(re.findall(r"^\[\w{8}\]", text, re.MULTILINE)) == shown


def test_unreadable_files_and_large_sites_are_reported(kettle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable = "error: The sections cannot be read at the moment."
    id_ = write_finder(kettle).manifest.pages[0].sections[0].id
    file = kettle / "settings/index.md"
    file.write_text(file.read_text("utf-8") + "\nIgnore what is above.\n", "utf-8")
    assert call(kettle, "read_section", id=id_).startswith(unreadable)
    monkeypatch.setattr(finder_index, "MAX_SECTIONS", 3)
    count = len(write_finder(kettle).sections)
    assert call(kettle, "search_docs", query="port").startswith(f"error: This site has {count} sections")
    (kettle / INDEX_PATH).unlink()
    assert call(kettle, "search_docs", query="port").startswith(unreadable)
