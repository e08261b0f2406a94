"""The read operations, the metrics, the OpenAPI description, feedback and the widget's files."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest
from serving import load_cases

from mkdocs_roaming.library.search import Hit, Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.serve import schemas
from mkdocs_roaming.serve.content import WorkQueue
from mkdocs_roaming.serve.encoding import answer_to_markdown
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.requests import ProblemError
from mkdocs_roaming.serve.schemas import OPERATIONS

Start = Callable[..., Any]
MARKDOWN = {"Accept": "text/markdown"}


@pytest.fixture
def ids(kettle: Path) -> dict[str, str]:
    return {place.section.title: place.id for place in open_library(kettle).sections}


@pytest.fixture
def http(shared: Any) -> Any:
    return shared.http


def test_outline_as_json_and_markdown(http: Any, kettle: Path) -> None:
    library = open_library(kettle)
    result = http.get("/v1/outline").json()
    assert result["digest"] == library.manifest.digest
    assert result["outline"] == render_outline(library.sections, budget=6_000)
    assert http.get("/v1/outline", headers=MARKDOWN).text == result["outline"]


def test_outline_of_branch(http: Any, ids: dict[str, str]) -> None:
    result = http.get("/v1/outline", params={"id": ids["Settings"]}).json()["outline"]
    assert ("Boiling" in result, "Whistle" in result) == (True, False)
    assert http.get("/v1/outline", params={"id": "00000000"}).status_code == 404


def test_section_as_json_and_markdown(http: Any, ids: dict[str, str]) -> None:
    result = http.get(f"/v1/sections/{ids['Logs']}").json()
    assert result["text"].startswith("## Logs")
    assert result["path"][-1] == "Logs"
    assert (result["part"], result["parts"], result["before"]["id"]) == (1, 1, ids["Boiling"])
    assert "19 days" in http.get(f"/v1/sections/{ids['Logs'].upper()}", headers=MARKDOWN).text


def test_unknown_section_returns_404(http: Any) -> None:
    response = http.get("/v1/sections/deadbeef")
    assert (response.status_code, response.json()["code"]) == (404, "no_section")
    for part in ("0", "x", "-1", "9" * 30, "²"):
        assert http.get("/v1/sections/deadbeef", params={"part": part}).status_code in (404, 422)


def test_section_with_wrong_digest_returns_503(start: Start, folder: Path, ids: dict[str, str]) -> None:
    endpoint = start(folder)
    before = endpoint.http.get(f"/v1/sections/{ids['Logs']}")
    assert before.status_code == 200
    (folder / "settings/index.md").write_text("# Somebody else's\n")
    other = start(folder)
    response = other.http.get(f"/v1/sections/{ids['Logs']}")
    assert (response.status_code, response.json()["code"]) == (503, "unreadable")
    assert str(folder) not in response.text


@pytest.mark.parametrize("limit", ["0", "11", "00000001999", "00000001" + "9" * 6_000, "1" * 6_000, "1_0", "٣"])
def test_invalid_limit_returns_422(http: Any, limit: str) -> None:
    response = http.get("/v1/search", params={"q": "whistle", "limit": limit})
    assert (response.status_code, response.json()["code"]) == (422, "bad_number")


def test_search_returns_hits_without_texts(http: Any, ids: dict[str, str]) -> None:
    result = http.get("/v1/search", params={"q": "whistle", "limit": "2"}).json()
    assert result["hits"][0]["id"] == ids["It does not whistle"]
    assert {"id", "title", "path", "url", "snippet", "score"} == set(result["hits"][0])
    assert len(result["hits"]) <= 2
    assert http.get("/v1/search", params={"q": "xylophone"}).json()["hits"] == []
    for wrong in ({}, {"q": " "}, {"q": "x", "limit": "11"}, {"q": "x" * 4_001}):
        assert http.get("/v1/search", params=wrong).status_code == 422


def test_known_etag_returns_304(http: Any) -> None:
    for path in ("/v1/outline", "/v1/search?q=port", "/openapi.json"):
        tag = http.get(path).headers["etag"]
        assert http.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_many_searches_of_one_client_do_not_delay_others(
    start: Start, folder: Path, wait_until: Callable[..., Any]
) -> None:
    started: list[str] = []
    go = threading.Semaphore(0)

    class Slow(Search):
        def find(self, query: str, **given: Any) -> list[Hit]:
            started.append(query)
            assert go.acquire(timeout=20)
            return super().find(query, **given)

    endpoint = start(folder, search_factory=Slow, policy=RequestPolicy(proxies=1))

    def search(query: str, who: str) -> int:
        headers = {"X-Forwarded-For": who}
        return httpx2.get(f"{endpoint.url}/v1/search", params={"q": query}, headers=headers, timeout=20).status_code

    with ThreadPoolExecutor(9) as readers:
        flood = [readers.submit(search, "port", "10.0.0.1") for _ in range(8)]
        wait_until(lambda: started)
        time.sleep(0.3)  # most of them are there by then
        other = readers.submit(search, "whistle", "10.0.0.2")
        while "whistle" not in started:  # one search after the other ends: on a busy machine it may come late itself
            time.sleep(0.2)
            go.release()
        go.release(9)
        assert [response.result() for response in (*flood, other)] == [200] * 9
    assert started.index("whistle") <= 4


@pytest.mark.parametrize(
    ("queue", "clients", "refused"),
    [
        (WorkQueue(max_waiting_each=3), ["a"] * 6 + ["b"], ["a", "a"]),
        (WorkQueue(), [str(number) for number in range(203)], ["201", "202"]),
    ],
    ids=["of one client", "of all clients"],
)
def test_calls_get_busy_if_too_many_wait(queue: WorkQueue, clients: list[str], refused: list[str]) -> None:
    go = threading.Event()
    problems: list[tuple[str, str, float | None]] = []
    done: list[str] = []

    async def run(client: str) -> None:
        try:
            done.append(await queue.run(client, lambda: go.wait(20) and client, is_local=True))
        except ProblemError as error:
            problems.append((client, error.code, error.retry_after))

    async def run_all() -> None:
        async with anyio.create_task_group() as group:
            for client in clients:
                group.start_soon(run, client)
                await anyio.sleep(0)
            await anyio.sleep(0.1)
            go.set()

    anyio.run(run_all)
    assert problems == [(client, "busy", 5) for client in refused]
    assert sorted([*done, *refused]) == sorted(clients)


def test_ask_by_get_answers_offline_in_markdown(start: Start, folder: Path, ids: dict[str, str]) -> None:
    from mkdocs_roaming.answer.models.scripted import ScriptedModel

    model = ScriptedModel([])
    response = start(folder, model).http.get("/ask", params={"q": "Which port is the default?", "page": "/install/"})
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "8642" in response.text
    assert f"\n[^{ids['Server']}]: [Settings › Server](<https://docs.example/p/settings/" in response.text
    assert response.text.rstrip().endswith("opened*")
    assert "offline" in response.text
    assert model.requests == []


def test_ask_by_get_without_answer_lists_nearest_sections(http: Any) -> None:
    text = http.get("/ask", params={"q": "How do I brew coffee with an espresso machine in Italy?"}).text
    assert text.startswith("The docs do not seem to answer this.")
    assert "not_found · offline" in text


def make_answer(state: str, text: str, *, sections: int = 0, message: str = "") -> schemas.Answer:
    usage = schemas.Usage(0, 0, 0, 0)
    status = schemas.Status(state, state, "offline", 1, sections, 0, usage, None, "", False, message=message)
    return schemas.Answer(state, text, [], [], None, status, "")


@pytest.mark.parametrize("state", ["results", "not_found", "budget", "refused", "error"])
def test_answer_to_markdown_states_why_there_is_no_answer(state: str) -> None:
    sections = 1 if state == "results" else 0
    shown = "1 section" if sections else "0 sections"
    encoded = answer_to_markdown(make_answer(state, "Because.", sections=sections, message="Because."))
    assert encoded == f"Because.\n\n*{state} · offline · {shown} opened*\n"


def test_health_returns_site_digest_and_model(http: Any, kettle: Path) -> None:
    result = http.get("/healthz", headers={"Host": "any.example"}).json()
    assert result == {
        "status": "ok",
        "site": "Docs",
        "digest": open_library(kettle).manifest.digest,
        "sections": 10,
        "model": "offline",
    }


def test_metrics_count_requests_refusals_and_answers(start: Start, folder: Path) -> None:
    endpoint = start(folder)
    endpoint.ask("Which port is the default?")
    endpoint.http.get("/v1/sections/deadbeef")
    endpoint.http.get("/v1/outline", headers={"Origin": "https://evil.example"})
    assert endpoint.metric("roaming_requests_total", operation="ask", method="POST", status="200") == 1
    assert endpoint.metric("roaming_requests_total", operation="read_section", method="GET", status="404") == 1
    assert endpoint.metric("roaming_refused_total", code="origin", status="403") == 1
    assert endpoint.metric("roaming_answer_seconds_count", model="offline") == 1
    assert endpoint.metric("roaming_answer_seconds_bucket", model="offline", le="+Inf") == 1
    text = endpoint.read_metrics()
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0
    assert text.count("# TYPE") == text.count("# HELP") == len(set(text.split("# TYPE ")[1:]))


# The description


def test_openapi_describes_every_operation(http: Any) -> None:
    result = http.get("/openapi.json").json()
    described = {(method.upper(), path) for path, methods in result["paths"].items() for method in methods}
    assert described == {(operation.method, operation.path) for operation in OPERATIONS}
    for schema in result["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for name in set(json.dumps(result).split('"#/components/schemas/')[1:]):
        assert name.partition('"')[0] in result["components"]["schemas"]


def schema_of(result: Any, name: str) -> Any:
    text = json.dumps({**result["components"]["schemas"][name], "$defs": result["components"]["schemas"]})
    return json.loads(text.replace("#/components/schemas/", "#/$defs/"))


@pytest.mark.parametrize(
    ("path", "name", "body", "status"),
    [
        ("/v1/ask", "Question", {"question": "Which port?", "lang": None, "turns": None, "scope": None}, 200),
        ("/v1/ask", "Question", {"question": None}, 422),
    ],
)
def test_null_is_accepted_where_openapi_says_so(
    http: Any, path: str, name: str, body: dict[str, Any], status: int
) -> None:
    schema = schema_of(http.get("/openapi.json").json(), name)
    assert jsonschema.Draft202012Validator(schema).is_valid(body) is (status == 200)
    assert http.post(path, json=body).status_code == status


@pytest.mark.parametrize(("method", "path", "name"), load_cases("responses and their schemas"))
def test_responses_match_openapi_schemas(http: Any, ids: dict[str, str], method: str, path: str, name: str) -> None:
    result = http.get("/openapi.json").json()
    body = {"json": {"question": "Which port is the default?"}} if method == "POST" else {}
    response = http.request(method, path.format(**ids), headers={"Accept": "application/json"}, **body)
    given = response.json()
    jsonschema.validate(given, schema_of(result, name))
    assert set(given) <= set(result["components"]["schemas"][name]["properties"])
    operation = path.partition("?")[0].replace("{Logs}", "{id}").replace("00000000", "{id}")
    assert str(response.status_code) in result["paths"][operation][method.lower()]["responses"]


# Opinions, and what is logged


def test_feedback_and_question_have_same_turn(
    start: Start, folder: Path, tmp_path: Path, wait_until: Callable[..., Any]
) -> None:
    questions, opinions = tmp_path / "questions.jsonl", tmp_path / "feedback.jsonl"
    endpoint = start(folder, question_log=questions, feedback_log=opinions)
    asking = {"text/event-stream": "Which port is the default?", "application/json": "Where is the log?"}
    for form, question in asking.items():
        body = {"question": question, "page": "/install/"}
        response = endpoint.http.post("/v1/ask", json=body, headers={"Accept": form})
        turn = response.text.rpartition('"turn":"')[2].partition('"')[0]
        for comment in ({}, {"comment": "Which one?"}):
            judged = endpoint.http.post("/v1/feedback", json={"turn": turn, "helpful": False, **comment})
            assert (judged.status_code, judged.content) == (204, b"")
    wait_until(lambda: questions.read_text().count("\n") == 2)
    question_lines = [json.loads(line) for line in questions.read_text().splitlines()]
    opinion_lines = [json.loads(line) for line in opinions.read_text().splitlines()]
    assert [line["turn"] for line in question_lines for _ in range(2)] == [line["turn"] for line in opinion_lines]
    assert [line["comment"] for line in opinion_lines] == ["", "Which one?"] * 2
    assert [line["question"] for line in opinion_lines] == [question for question in asking.values() for _ in range(2)]
    digest = json.loads((folder / "roaming/manifest.json").read_bytes())["digest"]
    assert {line["site"] for line in question_lines} == {digest.removeprefix("sha256:")[:12]}
    assert (question_lines[0]["state"], question_lines[0]["page"], question_lines[0]["model"]) == (
        "results",
        "/install/",
        "offline",
    )
    assert "127.0.0.1" not in questions.read_text()
    assert endpoint.metric("roaming_feedback_total", helpful="no") == 4


def ask_for_turn(endpoint: Any, question: str = "Which port is the default?") -> str:
    return str(endpoint.ask(question)[-1]["messageMetadata"]["turn"])


def rate(endpoint: Any, turn: str) -> tuple[int, str]:
    """Send feedback and return the status and the code of the response."""
    response = endpoint.http.post("/v1/feedback", json={"turn": turn, "helpful": False})
    return response.status_code, response.json()["code"] if response.content else ""


@pytest.fixture
def foreign_turn(start: Start, tmp_path: Path, make_site: Callable[..., Any], pages: list[tuple[str, str]]) -> str:
    """Return a turn that was signed with the same key for another site."""
    other = make_site(pages, site=Site("Other", "https://other.example/")).publish(tmp_path / "other")
    return ask_for_turn(start(other))


def test_feedback_with_invalid_turn_is_refused_and_not_counted(
    start: Start, folder: Path, tmp_path: Path, foreign_turn: str
) -> None:
    log = tmp_path / "feedback.jsonl"
    endpoint = start(folder, feedback_log=log)
    turn = ask_for_turn(endpoint)
    payload, signature = turn.split(".")
    tampered = [f"{payload[:-1]}{'A' if payload[-1] != 'A' else 'B'}.{signature}", f"*{turn}", f"{turn}=", payload]
    for invalid in ("forged", foreign_turn, *tampered):
        assert rate(endpoint, invalid) == (422, "unknown_turn")
    assert (log.read_bytes(), endpoint.metric("roaming_feedback_total", helpful="no")) == (b"", 0)
    assert endpoint.metric("roaming_refused_total", code="unknown_turn", status="422") == 6
    assert (rate(endpoint, turn), endpoint.metric("roaming_feedback_total", helpful="no")) == ((204, ""), 1)


def test_feedback_is_accepted_by_other_process_with_same_key_only(start: Start, folder: Path, tmp_path: Path) -> None:
    keys = (b"a key of both processes", b"a key of both processes", b"")
    first, second, restarted = (start(folder, key=key, feedback_log=tmp_path / "f.jsonl") for key in keys)
    turn = ask_for_turn(first)
    assert [rate(endpoint, turn)[0] for endpoint in (first, second, restarted)] == [204, 204, 422]
    assert rate(restarted, ask_for_turn(restarted)) == (204, "")


# The widget


def test_widget_is_served_to_other_origins(
    start: Start, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "widget").mkdir()
    (tmp_path / "widget/roaming-ask.js").write_text("export {}\n")
    (tmp_path / "widget/roaming-find.js").write_text("export {find}\n")
    (tmp_path / "widget/ask.pt-BR.json").write_text('{"send": "Enviar"}')
    (tmp_path / "widget/ask...json").write_text("secret")
    monkeypatch.setattr("mkdocs_roaming.serve.routes.WIDGET", tmp_path / "widget")
    http = start(folder).http
    module = http.get("/roaming-ask.js", headers={"Origin": "https://docs.example"})
    assert (module.text, module.headers["content-type"]) == ("export {}\n", "text/javascript; charset=utf-8")
    assert module.headers["access-control-allow-origin"] == "*"
    assert http.get("/roaming-ask.js", headers={"If-None-Match": module.headers["etag"]}).status_code == 304
    assert http.get("/roaming-find.js").text == "export {find}\n"
    assert http.get("/ask.pt-BR.json").json() == {"send": "Enviar"}
    for missing in load_cases("missing files of the widget"):
        assert http.get(missing).status_code == 404


# MCP


def test_mcp_is_served_behind_middleware(http: Any) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    response = http.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
    assert response.json()["result"]["serverInfo"]["name"] == "mkdocs-roaming"
    assert http.post("/mcp", json=call, headers={"Origin": "https://evil.example"}).status_code == 403
