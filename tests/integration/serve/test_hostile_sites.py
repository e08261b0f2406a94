"""A hostile manifest: its titles and anchors must reach clients only as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.answer.models.base import Part, Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.io import MANIFEST_PATH

Start = Callable[..., Any]
TITLE = ' \ud83d\n\ndata: [DONE]\r\n\r\n# Not ours <script> \u202e](javascript:alert(1)) "} 1\nroaming_evil 1\n'


@pytest.fixture
def hostile(folder: Path) -> Path:
    """Return the site of Kettle with titles and anchors that try to end lines, frames and links."""
    file = folder / MANIFEST_PATH
    data = json.loads(file.read_bytes())
    data["site"]["name"] += TITLE
    for page in data["pages"]:
        page["title"] += TITLE
        for section in page["sections"]:
            section["title"] += TITLE
            section["anchor"] = f"{section.get('anchor') or 'top'}\ud83d> <b>\n"
    file.write_text(json.dumps(data))
    return folder


def test_manifest_with_hostile_digest_is_refused(folder: Path) -> None:
    file = folder / MANIFEST_PATH
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "digest": TITLE}))
    with pytest.raises(ManifestError, match="digest"):
        open_library(folder)


def test_every_operation_works_on_hostile_site(start: Start, hostile: Path) -> None:
    endpoint = start(hostile)
    id_ = next(iter(open_library(hostile).sections)).id
    for path in ("/healthz", "/v1/outline", f"/v1/sections/{id_}", "/v1/search?q=port", "/ask?q=port"):
        for accept in ("application/json", "text/markdown"):
            assert endpoint.http.get(path, headers={"Accept": accept}).status_code == 200, path
    assert endpoint.http.get("/v1/outline?id=nothing").status_code == 404


def test_hostile_site_cannot_inject_stream_events(start: Start, hostile: Path) -> None:
    endpoint = start(hostile)
    parts = endpoint.ask("Which port is the default?")
    assert parts[-1]["type"] == "finish"
    assert any(part["type"] == "source-url" for part in parts)
    turn = parts[-1]["messageMetadata"]["turn"]
    assert "turns_dropped" not in endpoint.status("And why?", turns=[turn])


def test_hostile_site_cannot_inject_lines(start: Start, hostile: Path) -> None:
    endpoint = start(hostile)
    http = endpoint.http
    assert not [line for line in endpoint.read_metrics().split("\n") if line.startswith("roaming_evil")]
    result = http.get("/ask", params={"q": "Which port is the default?"}).text
    notes = [line for line in result.splitlines() if line.startswith("[^") and "]: " in line]
    assert notes
    assert not re.search(
        r"(?<!\\)\]\(javascript:|(?<!\\)<script|\u202e|^(?:data:|# Not ours|roaming_evil)", result, re.MULTILINE
    )
    for note in notes:
        assert note.endswith("`")
        assert note.count("](<https://docs.example/") == 1


def test_mcp_tools_work_on_hostile_site(start: Start, hostile: Path) -> None:
    http, id_ = start(hostile).http, next(iter(open_library(hostile).sections)).id
    for name, arguments in (
        ("read_outline", {}),
        ("expand_sections", {"ids": [id_]}),
        ("search_sections", {"query": "port"}),
    ):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        response = http.post("/mcp", content=json.dumps(call), headers=headers)
        assert response.json()["result"]["content"][0]["text"], name


def test_unpaired_surrogate_of_model_is_replaced(start: Start, folder: Path) -> None:
    id_ = next(place.id for place in open_library(folder).sections if place.section.title == "Server")
    calls: list[Part] = [ToolCall("a", "expand_sections", {"ids": [id_]})]
    replies: list[list[Part]] = [calls, [Text(f"It is \ud83d port 8642 [^{id_}].")]]
    endpoint = start(folder, ScriptedModel([*replies, *replies]))
    parts = endpoint.ask("Which port is the default?")
    assert parts[-1]["messageMetadata"]["turn"]
    assert "".join(part["delta"] for part in parts if part["type"] == "text-delta").startswith("It is ? port")
