"""Scopes of questions over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serving import load_cases

from mkdocs_roaming.answer.models.base import Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.targets import open_library

Start = Callable[..., Any]
PORT = "Which port is the default?"
TROUBLE = {"paths": ["trouble/**"]}


@pytest.fixture
def ids(folder: Path) -> dict[str, str]:
    return {section.section.title: section.id for section in open_library(folder).sections}


def test_answer_sees_and_cites_only_sections_in_scope(start: Start, folder: Path, ids: dict[str, str]) -> None:
    server, trouble = ids["Server"], ids["Troubleshooting"]
    calls = [ToolCall("a", "expand_sections", {"ids": [server, trouble]})]
    model = ScriptedModel([calls, [Text(f"Port 8642 [^{server}].\n\nSee there [^{trouble}].")]])
    answer = start(folder, model).http.post(
        "/v1/ask", json={"question": PORT, "scope": TROUBLE}, headers={"Accept": "application/json"}
    )
    assert [source["id"] for source in answer.json()["sources"]] == [trouble]
    assert "8642" not in str(model.requests[0])
    assert server not in model.requests[0].outline
    assert server not in {section["id"] for section in answer.json()["trail"]}


def test_cache_distinguishes_scopes(start: Start, folder: Path) -> None:
    endpoint = start(folder)
    assert not endpoint.status(PORT)["cached"]
    assert not endpoint.status(PORT, scope=TROUBLE)["cached"]
    assert endpoint.status(PORT, scope={"paths": ["/trouble/**"], "tags": []})["cached"]
    assert endpoint.status(PORT, scope={})["cached"]


def test_follow_up_reopens_only_sections_in_scope(start: Start, folder: Path, ids: dict[str, str]) -> None:
    opens = [ToolCall("a", "expand_sections", {"ids": [ids["Server"], ids["Troubleshooting"]]})]
    text = [Text(f"Port 8642 [^{ids['Server']}].")]
    model = ScriptedModel([opens, text, text])
    endpoint = start(folder, model)
    turn = next(part for part in endpoint.ask(PORT) if part["type"] == "finish")["messageMetadata"]["turn"]
    endpoint.ask("And then?", turns=[turn], scope=TROUBLE)
    reopened = model.requests[2].turns
    assert ids["Server"] not in str(reopened)
    assert ids["Troubleshooting"] in str(reopened)


@pytest.mark.parametrize("scope", load_cases("invalid scopes"))
def test_invalid_scope_is_refused(shared: Any, scope: Any) -> None:
    response = shared.http.post("/v1/ask", json={"question": PORT, "scope": scope})
    assert (response.status_code, response.json()["code"]) == (422, "bad_scope")


@pytest.mark.parametrize("scope", [{"paths": ["nowhere"]}, {"tags": ["nowhere"]}, {"version": "9"}])
def test_scope_without_pages_is_not_found(shared: Any, kettle: Path, scope: Any) -> None:
    response = shared.http.post("/v1/ask", json={"question": PORT, "scope": scope})
    assert (response.status_code, response.json()["code"]) == (404, "empty_scope")
    assert str(kettle) not in response.text


def test_scope_without_pages_names_existing_paths(shared: Any) -> None:
    body = {"question": PORT, "scope": {"paths": ["troubel"]}}
    assert (
        shared.http.post("/v1/ask", json=body).json()["detail"]
        == "`scope`: no page matches the path troubel; tags: none; folders: install/, settings/, trouble/."
    )
