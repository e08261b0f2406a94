"""Outline, sections, search and answers by plain GET, what is counted, and the description of it all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest

from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.library.search import Hit, Search
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.serve.deployments import BodyCache
from mkdocs_roaming.serve.encoding import answer_to_markdown
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.openapi import OPERATIONS

Start = Callable[..., Any]
MARKDOWN = {"Accept": "text/markdown"}


@pytest.fixture
def ids(folder: Path) -> dict[str, str]:
    return {place.section.title: place.id for place in open_library(folder).sections}


@pytest.fixture
def http(start: Start, folder: Path) -> Any:
    return start(folder).http


def test_the_outline_as_data_and_as_text(http: Any, folder: Path) -> None:
    """The same that `roaming outline` prints, with the site's digest."""
    library = open_library(folder)
    told = http.get("/v1/outline").json()
    assert told["digest"] == library.manifest.digest
    assert told["outline"] == render_outline(library.sections, budget=6_000)
    assert http.get("/v1/outline", headers=MARKDOWN).text == told["outline"]


def test_a_branch_of_the_outline(http: Any, ids: dict[str, str]) -> None:
    """An id gives what is below it; an unknown one is not found."""
    told = http.get("/v1/outline", params={"id": ids["Settings"]}).json()["outline"]
    assert ("Boiling" in told, "Whistle" in told) == (True, False)
    assert http.get("/v1/outline", params={"id": "00000000"}).status_code == 404


def test_a_section_as_data_and_as_text(http: Any, ids: dict[str, str]) -> None:
    """Its text, where it stands, what is beside it; as Markdown what lies in the published section file."""
    told = http.get(f"/v1/sections/{ids['Logs']}").json()
    assert told["text"].startswith("## Logs")
    assert told["path"][-1] == "Logs"
    assert (told["part"], told["parts"], told["before"]["id"]) == (1, 1, ids["Boiling"])
    assert "19 days" in http.get(f"/v1/sections/{ids['Logs'].upper()}", headers=MARKDOWN).text


def test_a_section_that_is_not_there(http: Any) -> None:
    """404 as a problem; a part that is no number is a mistake."""
    response = http.get("/v1/sections/deadbeef")
    assert (response.status_code, response.json()["code"]) == (404, "no_section")
    for part in ("0", "x", "-1", "9" * 30, "²"):
        assert http.get("/v1/sections/deadbeef", params={"part": part}).status_code in (404, 422)


def test_a_section_that_cannot_be_read(start: Start, folder: Path, ids: dict[str, str]) -> None:
    """A page that does not fit its digest is never given, whatever it says now."""
    endpoint = start(folder)
    before = endpoint.http.get(f"/v1/sections/{ids['Logs']}")
    assert before.status_code == 200
    (folder / "settings/index.md").write_text("# Somebody else's\n")
    other = start(folder)
    response = other.http.get(f"/v1/sections/{ids['Logs']}")
    assert (response.status_code, response.json()["code"]) == (503, "unreadable")
    assert str(folder) not in response.text


@pytest.mark.parametrize("limit", ["0", "11", "00000001999", "00000001" + "9" * 6_000, "1" * 6_000, "1_0", "٣"])
def test_a_limit_is_kept_however_it_is_written(http: Any, limit: str) -> None:
    """Zeros in front hide no number that is too large, and a number without end is a mistake like any other."""
    response = http.get("/v1/search", params={"q": "whistle", "limit": limit})
    assert (response.status_code, response.json()["code"]) == (422, "bad_number")


def test_search_gives_hits_without_texts(http: Any, ids: dict[str, str]) -> None:
    """Best first, with breadcrumb, address and snippet; no model is asked."""
    told = http.get("/v1/search", params={"q": "whistle", "limit": "2"}).json()
    assert told["hits"][0]["id"] == ids["It does not whistle"]
    assert {"id", "title", "path", "url", "snippet", "score"} == set(told["hits"][0])
    assert len(told["hits"]) <= 2
    assert http.get("/v1/search", params={"q": "xylophone"}).json()["hits"] == []
    for wrong in ({}, {"q": " "}, {"q": "x", "limit": "11"}, {"q": "x" * 1_001}):
        assert http.get("/v1/search", params=wrong).status_code == 422


def test_what_a_client_has_is_not_sent_again(http: Any) -> None:
    """Outline, sections and search carry a tag."""
    for path in ("/v1/outline", "/v1/search?q=port", "/openapi.json"):
        tag = http.get(path).headers["etag"]
        assert http.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_many_searches_of_one_visitor_keep_nobody_else_waiting(
    start: Start, folder: Path, until: Callable[..., Any]
) -> None:
    """Of all that one visitor asks for at once, others wait for one search alone."""
    begun: list[str] = []
    go = threading.Semaphore(0)

    class Slow(Search):
        def find(self, query: str, **given: Any) -> list[Hit]:
            begun.append(query)
            assert go.acquire(timeout=20)
            return super().find(query, **given)

    endpoint = start(folder, search_factory=Slow, policy=RequestPolicy(proxies=1))

    def search(query: str, who: str) -> int:
        headers = {"X-Forwarded-For": who}
        return httpx2.get(f"{endpoint.url}/v1/search", params={"q": query}, headers=headers, timeout=20).status_code

    with ThreadPoolExecutor(9) as readers:
        flood = [readers.submit(search, "port", "10.0.0.1") for _ in range(8)]
        until(lambda: begun)
        time.sleep(0.3)  # most of them are there by then
        other = readers.submit(search, "whistle", "10.0.0.2")
        while "whistle" not in begun:  # one search after the other ends: on a busy machine it may come late itself
            time.sleep(0.2)
            go.release()
        go.release(9)
        assert [one.result() for one in (*flood, other)] == [200] * 9
    assert begun.index("whistle") <= 4


def test_a_question_by_get_is_answered_offline(start: Start, folder: Path, ids: dict[str, str]) -> None:
    """Markdown with its sources as footnotes; the model that costs money is not asked, whatever is configured."""
    from mkdocs_roaming.answer.models.scripted import ScriptedModel

    model = ScriptedModel([])
    response = start(folder, model).http.get("/ask", params={"q": "Which port is the default?", "page": "/install/"})
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "8642" in response.text
    assert f"\n[^{ids['Server']}]: [Settings › Server](<https://docs.example/p/settings/" in response.text
    assert response.text.rstrip().endswith("opened*")
    assert "offline" in response.text
    assert model.requests == []


def test_a_question_without_an_answer_by_get(http: Any) -> None:
    """What was looked at is named, nothing is made up."""
    text = http.get("/ask", params={"q": "Does it run on Kubernetes with an espresso machine?"}).text
    assert text.startswith("The docs do not seem to answer this.")
    assert "not_found · offline" in text


@pytest.mark.parametrize(
    ("state", "said"),
    [("not_found", "The docs do not"), ("budget", "Stopped"), ("refused", "The model"), ("error", "The question")],
)
def test_only_what_was_looked_for_is_said_to_be_missing(state: str, said: str) -> None:
    """A spent budget or a failure does not blame the docs."""
    status = {"sections": 0, "model": "offline"}
    assert answer_to_markdown({"answer": "", "sources": [], "status": status, "state": state}).startswith(said)


def test_a_link_cannot_ask_a_model(http: Any) -> None:
    """Only POST asks one, and only with a type of body that another site's page cannot send unasked."""
    assert http.get("/v1/ask", params={"question": "x"}).status_code == 405
    assert http.post("/ask", params={"q": "x"}).status_code == 405


def test_health_tells_what_answers(http: Any, folder: Path) -> None:
    """Site, digest, model; and nothing of where things are."""
    told = http.get("/healthz", headers={"Host": "any.example"}).json()
    assert told == {
        "status": "ok",
        "site": "Docs",
        "digest": open_library(folder).manifest.digest,
        "sections": 10,
        "model": "offline",
    }


def test_what_happens_is_counted(start: Start, folder: Path) -> None:
    """Requests by operation and status, refusals, answers; in the format that Prometheus reads."""
    endpoint = start(folder)
    endpoint.ask("Which port is the default?")
    endpoint.http.get("/v1/sections/deadbeef")
    endpoint.http.get("/v1/outline", headers={"Origin": "https://evil.example"})
    assert endpoint.metric("roaming_requests_total", operation="ask", method="POST", status="200") == 1
    assert endpoint.metric("roaming_requests_total", operation="read_section", method="GET", status="404") == 1
    assert endpoint.metric("roaming_refused_total", code="origin", status="403") == 1
    assert endpoint.metric("roaming_answer_seconds_count", model="offline") == 1
    assert endpoint.metric("roaming_answer_seconds_bucket", model="offline", le="+Inf") == 1
    text = endpoint.http.get("/metrics").text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0
    assert text.count("# TYPE") == text.count("# HELP") == len(set(text.split("# TYPE ")[1:]))


# The description


def test_the_description_is_whole(http: Any) -> None:
    """Every operation of the table is described; every reference leads somewhere; every schema is one."""
    told = http.get("/openapi.json").json()
    described = {(method.upper(), path) for path, methods in told["paths"].items() for method in methods}
    assert described == {(one.method, one.path) for one in OPERATIONS}
    for schema in told["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for name in set(json.dumps(told).split('"#/components/schemas/')[1:]):
        assert name.partition('"')[0] in told["components"]["schemas"]


def schema_of(told: Any, name: str) -> Any:
    text = json.dumps({**told["components"]["schemas"][name], "$defs": told["components"]["schemas"]})
    return json.loads(text.replace("#/components/schemas/", "#/$defs/"))


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/v1/ask", "Answer"),
        ("GET", "/v1/outline", "Outline"),
        ("GET", "/v1/sections/{Logs}", "Section"),
        ("GET", "/v1/search?q=port", "Hits"),
        ("GET", "/healthz", "Health"),
        ("GET", "/v1/sections/00000000", "Problem"),
    ],
)
def test_answers_are_as_described(http: Any, ids: dict[str, str], method: str, path: str, name: str) -> None:
    """What is given fits its schema, and has nothing that the schema does not name."""
    told = http.get("/openapi.json").json()
    body = {"json": {"question": "Which port is the default?"}} if method == "POST" else {}
    response = http.request(method, path.format(**ids), headers={"Accept": "application/json"}, **body)
    given = response.json()
    jsonschema.validate(given, schema_of(told, name))
    assert set(given) <= set(told["components"]["schemas"][name]["properties"])
    operation = path.partition("?")[0].replace("{Logs}", "{id}").replace("00000000", "{id}")
    assert str(response.status_code) in told["paths"][operation][method.lower()]["responses"]


# Opinions, and what is logged


def test_nothing_is_logged_unless_it_is_asked_for(start: Start, folder: Path, tmp_path: Path) -> None:
    """Without a file there is no log, and opinions are not taken."""
    before = set(tmp_path.rglob("*"))
    endpoint = start(folder)
    endpoint.ask("Which port is the default?")
    response = endpoint.http.post("/v1/feedback", json={"turn": "x", "helpful": True})
    assert (response.status_code, response.json()["code"]) == (404, "no_feedback")
    assert set(tmp_path.rglob("*")) == before


def test_an_opinion_is_joined_with_its_question(start: Start, folder: Path, tmp_path: Path) -> None:
    """Where both are logged, the turn that an answer ended with tells which question an opinion is on."""
    questions, opinions = tmp_path / "questions.jsonl", tmp_path / "feedback.jsonl"
    endpoint = start(folder, question_log=questions, feedback_log=opinions)
    asking = {"text/event-stream": "Which port is the default?", "application/json": "Where is the log?"}
    for form, question in asking.items():
        body = {"question": question, "page": "/install/"}
        response = endpoint.http.post("/v1/ask", json=body, headers={"Accept": form})
        turn = response.text.rpartition('"turn":"')[2].partition('"')[0]
        judged = endpoint.http.post("/v1/feedback", json={"turn": turn, "helpful": False, "comment": "Which one?"})
        assert (judged.status_code, judged.content) == (204, b"")
    asked = [json.loads(line) for line in questions.read_text().splitlines()]
    said = [json.loads(line) for line in opinions.read_text().splitlines()]
    assert [one["turn"] for one in asked] == [one["turn"] for one in said]
    assert (asked[0]["state"], asked[0]["page"], asked[0]["model"]) == ("answered", "/install/", "offline")
    assert "127.0.0.1" not in questions.read_text()
    assert endpoint.metric("roaming_feedback_total", helpful="no") == 2


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"json": {"turn": "x"}}, 422),
        ({"json": {"helpful": True}}, 422),
        ({"json": []}, 400),
        ({"data": {"turn": "x", "helpful": "true"}}, 415),
    ],
)
def test_what_is_no_opinion_is_refused(
    start: Start, folder: Path, tmp_path: Path, given: dict[str, Any], status: int
) -> None:
    """As a problem, before anything is written."""
    response = start(folder, feedback_log=tmp_path / "f.jsonl").http.post("/v1/feedback", **given)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert (tmp_path / "f.jsonl").read_bytes() == b""


# The widget


def test_the_widget_is_given_to_pages_of_other_sites(start: Start, folder: Path, tmp_path: Path) -> None:
    """A module is fetched across origins only where it says that it may be; its words in other languages likewise."""
    (tmp_path / "widget").mkdir()
    (tmp_path / "widget/roaming-ask.js").write_text("export {}\n")
    (tmp_path / "widget/roaming-find.js").write_text("export {find}\n")
    (tmp_path / "widget/ask.pt-BR.json").write_text('{"send": "Enviar"}')
    (tmp_path / "widget/ask...json").write_text("secret")
    http = start(folder, widget=tmp_path / "widget").http
    module = http.get("/roaming-ask.js", headers={"Origin": "https://docs.example"})
    assert (module.text, module.headers["content-type"]) == ("export {}\n", "text/javascript; charset=utf-8")
    assert module.headers["access-control-allow-origin"] == "*"
    assert http.get("/roaming-ask.js", headers={"If-None-Match": module.headers["etag"]}).status_code == 304
    assert http.get("/roaming-find.js").text == "export {find}\n"
    assert http.get("/ask.pt-BR.json").json() == {"send": "Enviar"}
    for missing in ("/ask.xx.json", "/ask...json", "/ask.%2e%2e%2fx.json", f"/ask.{'a' * 300}.json"):
        assert http.get(missing).status_code == 404


# MCP


def test_mcp_clients_find_the_tools(http: Any) -> None:
    """`/mcp` speaks MCP beside everything else, behind the same guard."""
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    response = http.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
    assert response.json()["result"]["serverInfo"]["name"] == "mkdocs-roaming"
    assert http.post("/mcp", json=call, headers={"Origin": "https://evil.example"}).status_code == 403


def test_a_section_asked_for_again_is_the_same(start: Start, folder: Path, ids: dict[str, str]) -> None:
    """In each form, with its tag; a part that is none is refused all the same."""
    endpoint = start(folder)
    path = f"/v1/sections/{ids['Server']}"
    forms = [{"Accept": "application/json"}, {"Accept": "text/markdown"}]
    first, again = ([endpoint.http.get(path, headers=form) for form in forms] for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert (one.content, one.headers["etag"]) == (other.content, other.headers["etag"])
    assert [one.headers["content-type"] for one in again] == ["application/json", "text/markdown; charset=utf-8"]
    assert again[0].json()["id"] == ids["Server"]
    assert endpoint.http.get(path, params={"part": "9"}).json()["part"] == 1
    assert endpoint.http.get(path, params={"part": "x"}).status_code == 422


def test_kept_bodies_have_their_room() -> None:
    """What was not asked for the longest makes room for what comes; what is larger than all the room is not kept."""
    kept = BodyCache(max_bytes=10)
    kept.add("a", b"1234")
    kept.add("b", b"1234")
    assert kept.get("a") == b"1234"
    kept.add("c", b"1234")
    assert [kept.get(key) for key in "abc"] == [b"1234", None, b"1234"]
    kept.add("a", b"1")
    kept.add("d", b"12345")
    assert [kept.get(key) for key in "acd"] == [b"1", b"1234", b"12345"]
    kept.add("e", b"12345678901")
    assert [kept.get(key) for key in "acde"] == [None] * 4
