"""Questions over HTTP: streams, refusals, the cache, follow-ups, and disconnects."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from messages_api import MessagesApi, serving
from messages_api.adversary import Adversary
from serving import load_cases

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import Model, ModelRequest, Part, Stop, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.answer.support.check import slice_utf16
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota

from .conftest import has_called, make_model

Start = Callable[..., Any]
PORT = "Which port is the default?"


@pytest.fixture
def ids(folder: Path) -> dict[str, str]:
    return {place.section.title: place.id for place in open_library(folder).sections}


def opens(*ids: str) -> ToolCall:
    return ToolCall("a", "expand_sections", {"ids": list(ids)})


class Waiting:
    """A model that waits after its first paragraph and records whether it is closed."""

    name = "waiting"

    def __init__(self, id_: str) -> None:
        self.go, self.closed = threading.Event(), threading.Event()
        self._id = id_
        self.calls = 0

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        self.calls += 1
        if not has_called(request):
            yield opens(self._id)
            return
        try:
            yield Text(f"It is port 8642 [^{self._id}].\n\nAnd as the docs have it,\n")
            while not self.go.is_set():
                await anyio.sleep(0.005)
            yield Text(f"there is more [^{self._id}].")
        finally:
            self.closed.set()


# The stream


def test_ask_streams_first_paragraph_before_second_is_written(start: Start, folder: Path, ids: dict[str, str]) -> None:
    model = Waiting(ids["Server"])
    endpoint = start(folder, model)
    seen = b""
    with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
        assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "no-transform" in response.headers["cache-control"]
        for piece in response.iter_bytes():
            seen += piece
            if b"8642" in seen and not model.go.is_set():
                assert b"there is more" not in seen
                model.go.set()
    assert b"there is more" in seen
    assert seen.endswith(b"data: [DONE]\n\n")


def test_ask_returns_502_for_failure_with_accept_json(start: Start, folder: Path) -> None:
    response = start(folder, ScriptedModel([])).http.post(
        "/v1/ask", json={"question": PORT}, headers={"Accept": "application/json"}
    )
    assert (response.status_code, response.json()["code"]) == (502, "failed")
    assert response.headers["content-type"] == "application/problem+json"
    assert "script" not in response.text


def test_ask_sends_pings_during_silence(start: Start, folder: Path, ids: dict[str, str]) -> None:
    model = Waiting(ids["Server"])
    endpoint = start(folder, model, ping_seconds=0.05)
    with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
        seen = b""
        for piece in response.iter_bytes():
            seen += piece
            if seen.count(b": ping\n\n") >= 2:
                model.go.set()
    assert seen.endswith(b"data: [DONE]\n\n")


# What `useChat` sends


def test_ask_accepts_body_of_use_chat(start: Start, folder: Path) -> None:
    endpoint = start(folder)
    first = endpoint.ask(PORT)
    metadata = first[-1]["messageMetadata"]
    messages = [
        {"role": "system", "parts": [{"type": "text", "text": "You are a pirate."}]},
        {"role": "user", "parts": [{"type": "text", "text": PORT}]},
        {"role": "assistant", "metadata": metadata, "parts": [{"type": "text", "text": "The port is 1."}]},
        {"role": "user", "parts": [{"type": "text", "text": "Where is"}, {"type": "text", "text": "the log?"}]},
    ]
    result = endpoint.http.post("/v1/ask", json={"id": "x", "messages": messages, "trigger": "submit-message"}).text
    assert "kettle.log" in result
    assert "turns_dropped" not in result
    assert result.index('"data-section"') < result.index('"text-start"')


def test_ask_ignores_messages_of_other_roles(start: Start, folder: Path) -> None:
    model = ScriptedModel([[Text("No [^none].")]])
    messages = load_cases("messages of other roles")
    start(folder, model).http.post("/v1/ask", json={"messages": messages}).raise_for_status()
    assert "swordfish" not in repr(model.requests)
    assert PORT in repr(model.requests)


# Follow-ups


def test_follow_up_has_earlier_question_answer_and_sections(start: Start, folder: Path, ids: dict[str, str]) -> None:
    server = ids["Server"]
    replies = [[opens(server)], [Text(f"Port 8642 [^{server}].")], [Text(f"Still 8642 [^{server}].")]]
    model = ScriptedModel(replies)
    endpoint = start(folder, model)
    turn = endpoint.ask(PORT)[-1]["messageMetadata"]["turn"]
    result = endpoint.ask("Sure?", turns=[turn])
    assert [part["sourceId"] for part in result if part["type"] == "source-url"] == [server]
    assert f"Port 8642 [^{server}]." in repr(model.requests[-1].turns)


def test_turn_of_other_site_with_same_key_is_dropped(
    start: Start, folder: Path, tmp_path: Path, make_site: Callable[..., Any], pages: list[tuple[str, str]]
) -> None:
    other = make_site(pages, site=Site("Pot", "https://docs.example/pot/")).publish(tmp_path / "pot")
    model = ScriptedModel([[Text("No [^none].")]] * 2)
    first, second = start(folder), start(other, model)
    foreign = first.ask("Which port is the default of the Kettle?")[-1]["messageMetadata"]["turn"]
    assert second.status("Sure?", turns=[foreign])["turns_dropped"] == 1
    assert "Kettle?" not in repr(model.requests[0].turns)
    assert "turns_dropped" not in first.status("And how is it changed?", turns=[foreign])


def test_sections_for_last_line_of_traceback_are_opened(start: Start, folder: Path) -> None:
    frame = '  File "/usr/lib/python3.12/site-packages/pot/steam.py", line {}, in install_{}\n    return self.log({})\n'
    frames = "".join(frame.format(n, n, n) for n in range(60))
    question = f"Traceback (most recent call last):\n{frames}"[:3_900] + "\nKeyError: 'server.port'"
    model = ScriptedModel([[Text("No [^none].")]])
    start(folder, model).status(question)
    assert "8642" in repr(model.requests[0].turns)


# What is kept


def test_equal_first_question_is_answered_from_cache(start: Start, folder: Path, ids: dict[str, str]) -> None:
    server = ids["Server"]
    usage = Usage(input=1_000_000, output=0)
    model = ScriptedModel([[usage, opens(server)], [usage, Text(f"Port 8642 [^{server}].")]])
    endpoint = start(folder, model, budget=Budget(prices=Prices(input=1.0), cost=5.0))
    first, second = endpoint.status(PORT), endpoint.status(f"  {PORT}\n")
    assert (first["cached"], first["cost"]) == (False, 2.0)
    assert (second["cached"], second["cost"], second["usage"]["input"]) == (True, 0.0, 0)
    assert endpoint.metric("roaming_cost_total", model="scripted", currency="USD") == 2.0
    assert endpoint.metric("roaming_answers_total", model="scripted", state="answered", cached="yes") == 1


@pytest.mark.parametrize(("text", "state", "cached"), load_cases("answers and whether they are cached"))
def test_only_well_supported_answer_is_cached(
    start: Start, folder: Path, ids: dict[str, str], text: str, state: str, cached: bool
) -> None:
    reply = [[opens(ids["Server"])], [Text(text.replace("ID", ids["Server"]))]]
    endpoint = start(folder, ScriptedModel(reply * 2))
    sent = endpoint.ask(PORT)
    parts = {part["type"]: part.get("data") for part in sent}
    assert parts["data-status"]["state"] == state
    assert bool(parts["data-support"]["marks"]) != cached
    released = "".join(part["delta"] for part in sent if part["type"] == "text-delta")
    marked = [slice_utf16(released, mark["start"], mark["end"]) for mark in parts["data-support"]["marks"]]
    assert ("evil.test" in released) == any("evil.test" in text for text in marked)
    again = endpoint.status(PORT)
    assert (again["state"], again["cached"]) == (state, cached)


def test_answer_without_support_check_is_not_cached(
    start: Start, folder: Path, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise LibraryError("the site is gone")

    endpoint = start(folder, ScriptedModel([[opens(ids["Server"])], [Text(f"8642 [^{ids['Server']}].")]] * 3))
    with monkeypatch.context() as patch:
        patch.setattr("mkdocs_roaming.answer.loop.check_support", fail)
        (support,) = [part["data"] for part in endpoint.ask(PORT) if part["type"] == "data-support"]
        assert support["skipped"]
    assert not endpoint.status(PORT)["cached"]
    assert endpoint.status(PORT)["cached"]


@pytest.mark.parametrize(
    "other", [{"page": "settings/"}, {"lang": "de"}, {"turns": ["x"]}], ids=["page", "language", "turns"]
)
def test_cache_distinguishes_page_language_and_conversation(start: Start, folder: Path, other: dict[str, Any]) -> None:
    endpoint = start(folder)
    assert not endpoint.status(PORT)["cached"]
    assert not endpoint.status(PORT, **other)["cached"]
    assert endpoint.status(PORT)["cached"]


@pytest.mark.parametrize("name", ["/nowhere/", "http://[broken/", "%ff%fe", "#"])
def test_cache_ignores_unknown_page(start: Start, folder: Path, name: str) -> None:
    endpoint = start(folder)
    endpoint.status(PORT)
    assert endpoint.status(PORT, page=name)["cached"]


# Refusals before the first byte


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        *load_cases("invalid questions"),
        ({"content": b"[" * 60_000, "headers": {"Content-Type": "application/json"}}, 413, "size"),
        ({"json": {"question": "x" * 1_100_000}}, 413, "size"),
        ({"json": {"question": "x" * 4_001}}, 422, "question_too_long"),
    ],
)
def test_ask_refuses_invalid_request_with_problem(shared: Any, given: dict[str, Any], status: int, code: str) -> None:
    response = shared.http.post("/v1/ask", **given)
    result = response.json()
    assert (response.status_code, result["status"], result["code"]) == (status, status, code)
    assert response.headers["content-type"] == "application/problem+json"
    assert result["detail"].endswith(".")


def test_ask_accepts_unpaired_surrogate(shared: Any) -> None:
    body = b'{"question": "Which port \\ud83d is the default\\u0000?"}'
    response = shared.http.post("/v1/ask", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, "8642" in response.text) == (200, True)


def test_ask_returns_429_if_all_places_are_taken(start: Start, folder: Path, ids: dict[str, str]) -> None:
    model = Waiting(ids["Server"])
    endpoint = start(folder, model, quota=AnswerQuota(concurrent=1))
    with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
        stream = response.iter_bytes()
        next(stream)
        refused = endpoint.http.post("/v1/ask", json={"question": "Another?"})
        assert (refused.status_code, refused.json()["code"]) == (429, "busy")
        assert int(refused.headers["retry-after"]) > 0
        model.go.set()
        assert b"".join(stream).endswith(b"data: [DONE]\n\n")
    assert endpoint.http.post("/v1/ask", json={"question": "Another?"}).status_code == 200


def test_ask_returns_429_if_money_of_day_is_spent(start: Start, folder: Path, ids: dict[str, str]) -> None:
    server = ids["Server"]
    usage = Usage(input=900_000)
    model = ScriptedModel([[opens(server)], [usage, Text(f"Port 8642 [^{server}].")]])
    endpoint = start(
        folder,
        model,
        budget=Budget(prices=Prices(input=1.0), cost=1.0),
        quota=AnswerQuota(money_a_day=1.1, answers_a_minute_each=60),
    )
    assert endpoint.status(PORT)["cost"] == 0.9
    refused = endpoint.http.post("/v1/ask", json={"question": "Another?"})
    assert (refused.status_code, refused.json()["code"]) == (429, "money")
    assert endpoint.status(PORT)["cached"]
    assert endpoint.http.get("/ask", params={"q": "log"}).status_code == 200


def test_model_is_not_called_without_money_for_the_call(start: Start, folder: Path, ids: dict[str, str]) -> None:
    model = ScriptedModel([[Usage(input=399_900), opens(ids["Server"])], [Text(f"Port 8642 [^{ids['Server']}].")]])
    endpoint = start(
        folder,
        model,
        budget=Budget(prices=Prices(input=1.0), cost=0.4),
        quota=AnswerQuota(money_a_day=0.4),
    )
    assert endpoint.status(PORT)["code"] == "budget_cost"
    assert len(model.requests) == 1
    assert endpoint.metric("roaming_money_today", currency="USD") == pytest.approx(0.3999)


@pytest.mark.parametrize("ends", ["late", "broken", "abandoned"])
def test_interrupted_reply_costs_counted_tokens_and_maximum_output(
    start: Start, folder: Path, ids: dict[str, str], wait_until: Callable[..., Any], ends: str
) -> None:

    class BreaksOff:
        name = "breaks off"

        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            yield Usage(input=100_000)
            if not has_called(request):
                yield Usage(output=50_000)
                yield opens(ids["Server"])
                return
            yield Text(f"Port 8642 [^{ids['Server']}].\n\nAnd as the docs have it,\n")
            if ends == "broken":
                raise OSError("gone")
            await anyio.sleep(60)

    endpoint = start(
        folder,
        BreaksOff(),
        budget=Budget(
            prices=Prices(input=1.0, output=1.0),
            cost=1.0,
            output_tokens=300_000,
            seconds=0.5 if ends == "late" else 60.0,
        ),
        quota=AnswerQuota(money_a_day=2.0, answers_a_minute_each=60),
    )
    if ends == "abandoned":
        with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
            next(text for text in response.iter_text() if "8642" in text)
    else:
        assert endpoint.status(PORT)["code"] == {"late": "budget_seconds", "broken": "failed"}[ends]
    # Two requests of 100,000 tokens, one reply of 50,000 and one of 300,000 at most.
    wait_until(lambda: endpoint.metric("roaming_money_today", currency="USD") == 0.55)


def test_offline_model_reserves_no_money(start: Start, folder: Path) -> None:
    endpoint = start(
        folder,
        budget=Budget(prices=Prices(input=1.0), cost=1.0),
        quota=AnswerQuota(money_a_day=1.0, answers_a_minute_each=60),
    )
    for question in (PORT, "Where is the log?", "And the whistle?"):
        assert endpoint.status(question)["model"] == "offline"


# Readers that leave, readers that stay and read nothing


def test_disconnect_cancels_streamed_answer(
    start: Start, folder: Path, ids: dict[str, str], wait_until: Callable[..., Any]
) -> None:
    model = Waiting(ids["Server"])
    endpoint = start(folder, model, quota=AnswerQuota(concurrent=1))
    with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
        stream = response.iter_bytes()
        while b"8642" not in next(stream):
            pass
        assert endpoint.metric("roaming_answers_in_progress") == 1
    assert model.closed.wait(20)
    assert not model.go.is_set()
    wait_until(lambda: endpoint.metric("roaming_answers_in_progress") == 0)
    assert endpoint.metric("roaming_answers_left_total", model="waiting") == 1


def test_disconnect_cancels_answer_for_one_object(
    start: Start, folder: Path, ids: dict[str, str], wait_until: Callable[..., Any]
) -> None:
    model = Waiting(ids["Server"])
    endpoint = start(folder, model)
    body = json.dumps({"question": PORT}).encode()
    with socket.create_connection(("127.0.0.1", endpoint.port)) as reader:
        reader.sendall(
            b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        wait_until(lambda: model.calls == 2)
        assert not model.closed.is_set()
    assert model.closed.wait(20)


class Endless:
    """A model whose answer exceeds every buffer."""

    name = "endless"

    def __init__(self, id_: str) -> None:
        self._id, self.texts_sent, self.closed = id_, 0, threading.Event()

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        if not has_called(request):
            yield opens(self._id)
            return
        try:
            for _ in range(10_000):
                yield Text(f"{'port ' * 20_000} 8642 [^{self._id}].\n\n")
                self.texts_sent += 1
            yield Stop()
        finally:
            self.closed.set()


@pytest.mark.slow
def test_client_that_reads_nothing_is_disconnected(start: Start, folder: Path, ids: dict[str, str]) -> None:
    model = Endless(ids["Server"])
    budget = Budget(output_tokens=100_000_000, seconds=300)
    endpoint = start(folder, model, budget=budget, policy=RequestPolicy(send_seconds=0.5))
    body = json.dumps({"question": PORT}).encode()
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        reader.connect(("127.0.0.1", endpoint.port))
        reader.sendall(
            b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        assert model.closed.wait(120)  # only a hang takes so long
        assert model.texts_sent < 10_000
        reader.settimeout(60)
        with suppress(ConnectionError):
            while reader.recv(1 << 20):
                pass  # it ends, or this test does not
    assert endpoint.http.get("/healthz").status_code == 200


# The same with a provider behind it


@pytest.fixture
def provider() -> Iterator[Callable[..., Any]]:
    """Return a function that starts a local provider and creates a model for it."""
    with ExitStack() as stack:

        def begin(behaviour: str, wire: str) -> tuple[Any, Model]:
            api = stack.enter_context(serving(MessagesApi(Adversary(behaviour), budget=700)))
            return api, make_model(wire, api.url, retries=Retries(0))

        yield begin


@pytest.mark.parametrize("wire", ["claude", "openai"])
def test_disconnect_closes_connection_to_provider(
    start: Start, folder: Path, provider: Callable[..., Any], wait_until: Callable[..., Any], wire: str
) -> None:
    api, model = provider("drip", wire)
    endpoint = start(folder, model)
    with endpoint.http.stream("POST", "/v1/ask", json={"question": PORT}) as response:
        stream = response.iter_bytes()
        next(stream)
        wait_until(lambda: api.exchanges and api.exchanges[0].status == 200)
        assert api.exchanges[0].ended is None
    wait_until(lambda: api.exchanges[0].left is not None)  # it would drip for ever


@pytest.mark.parametrize("behaviour", ["rate limit", "cut", "echoes the key"])
def test_failure_of_provider_ends_stream_with_error_part(
    start: Start, folder: Path, provider: Callable[..., Any], behaviour: str
) -> None:
    api, model = provider(behaviour, "claude")
    endpoint = start(folder, model)
    body = endpoint.http.post("/v1/ask", json={"question": PORT}).text
    assert '"code":"failed"' in body
    assert '{"type":"error",' in body
    assert "test-key" not in body
    assert str(api.url) not in body
    assert body.endswith("data: [DONE]\n\n")


def test_unreadable_page_does_not_reveal_its_path(start: Start, folder: Path) -> None:
    id_ = json.loads((folder / "roaming" / "manifest.json").read_bytes())["pages"][0]["id"]
    for file in (*folder.rglob("*.md"), folder / "llms-full.txt"):
        file.unlink()
    given: list[str] = []

    class Repeats:
        name = "repeats"

        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            if not has_called(request):
                yield opens(id_)
                return
            given.append(str(request.turns[-1]))
            yield Text(given[-1])

    endpoint = start(folder, Repeats())
    call = {"name": "expand_sections", "arguments": {"ids": [id_]}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answered = str(endpoint.ask(PORT))
    for result in (given[0], endpoint.http.post("/mcp", json=message, headers={"Accept": "application/json"}).text):
        assert "cannot be read at the moment" in result
        assert str(folder) not in result + answered
