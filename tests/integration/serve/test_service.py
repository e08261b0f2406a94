"""Equal first questions at the same time share one answer."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import ModelRequest, Part, Text, ToolCall, Usage
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.conversation_token import TokenSigner
from mkdocs_roaming.serve.deployments import LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.schemas import Question
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRecord, AnswerService

from .conftest import has_called

Start = Callable[..., Any]
QUESTION = {"question": "Which port?"}


class CountingModel:
    """A model that counts its calls and cancellations; it waits in the middle of an answer."""

    name = "counted"

    def __init__(self, folder: Path) -> None:
        self.go = threading.Event()
        self.calls = self.waiting = self.broken_off = 0
        self._id = next(place.id for place in open_library(folder).sections if place.section.title == "Server")

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        if not has_called(request):
            self.calls += 1
            yield Usage(input=100_000)
            yield ToolCall("a", "expand_sections", {"ids": [self._id]})
            return
        self.waiting += 1
        try:
            while not self.go.is_set():
                await anyio.sleep(0.01)
        except BaseException:
            self.broken_off += 1
            raise
        yield Text(f"It is port 8642 [^{self._id}].")
        yield Usage(input=100_000)


@pytest.fixture
def model(folder: Path) -> CountingModel:
    return CountingModel(folder)


@pytest.fixture
def endpoint(start: Start, folder: Path, model: CountingModel) -> Any:
    """Return an endpoint with one place, whose answers cost 0.2."""
    return start(
        folder,
        model,
        budget=Budget(prices=Prices(input=1.0), cost=0.3),
        quota=AnswerQuota(concurrent=1, money_a_day=5.0, answers_a_minute_each=60),
    )


class Reader:
    """Reads a stream in a thread, until the end or until it disconnects."""

    def __init__(self, endpoint: Any, **headers: str) -> None:
        self.body = b""
        self.status = 0
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(endpoint, headers))
        self._thread.start()

    def _read(self, endpoint: Any, headers: dict[str, str]) -> None:
        with httpx2.stream("POST", f"{endpoint.url}/v1/ask", json=QUESTION, headers=headers, timeout=20) as response:
            self.status = response.status_code
            for piece in response.iter_bytes():
                self.body += piece
                if self._left.is_set():
                    return

    def has(self, part: bytes) -> bool:
        return part in self.body

    def leave(self) -> None:
        """Disconnect at the next chunk; pings arrive often."""
        self._left.set()
        self.end()

    def end(self) -> list[dict[str, Any]]:
        self._thread.join(20)
        assert not self._thread.is_alive()
        lines = [line for line in self.body.decode().split("\n\n") if line.startswith("data: {")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_equal_question_joins_answer_in_progress(
    endpoint: Any, model: CountingModel, wait_until: Callable[..., Any]
) -> None:
    first = Reader(endpoint)
    wait_until(lambda: model.waiting)
    second, third = Reader(endpoint), Reader(endpoint, Accept="application/json")
    wait_until(lambda: second.has(b"tool-output-available"))
    model.go.set()
    result = [request.end() for request in (first, second)]
    third.end()
    assert model.calls == 1
    assert json.loads(third.body)["state"] == "answered"
    wire = [[part for part in parts if part["type"] not in ("data-status", "finish")] for parts in result]
    assert wire[0] == wire[1]
    costs = [next(part["data"] for part in parts if part["type"] == "data-status") for parts in result]
    assert [(cost["cached"], cost["cost"]) for cost in costs] == [(False, 0.2), (True, 0.0)]
    assert endpoint.metric("roaming_cost_total", model="counted", currency="USD") == 0.2


def test_simultaneous_equal_questions_call_model_once(endpoint: Any, model: CountingModel) -> None:
    body = json.dumps(QUESTION).encode()
    head = "POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    data = head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    model.go.set()
    with ExitStack() as lines:
        readers = [lines.enter_context(socket.create_connection(("127.0.0.1", endpoint.port), 20)) for _ in range(8)]
        for line in readers:
            line.sendall(data)
        answers = [line.makefile("rb").read() for line in readers]
    let_in = [answer for answer in answers if answer.startswith(b"HTTP/1.1 200")]
    assert len(let_in) >= 1
    assert all(b'"type":"finish"' in answer for answer in let_in)
    assert model.calls == 1


@pytest.mark.parametrize("leaves", [0, 1])
def test_disconnect_of_one_client_keeps_shared_answer(
    start: Start, folder: Path, model: CountingModel, wait_until: Callable[..., Any], leaves: int
) -> None:
    endpoint = start(folder, model, ping_seconds=0.05, budget=Budget(prices=Prices(input=1.0), cost=0.3))
    readers = [Reader(endpoint)]
    wait_until(lambda: model.waiting)
    readers.append(Reader(endpoint))
    wait_until(lambda: readers[1].has(b"tool-output-available"))
    readers[leaves].leave()
    model.go.set()
    assert any(part["type"] == "finish" for part in readers[1 - leaves].end())
    assert (model.calls, model.broken_off) == (1, 0)
    assert endpoint.status("Which port?")["cached"] is True
    assert endpoint.metric("roaming_tokens_total", model="counted", kind="input") == 200_000
    assert endpoint.metric("roaming_cost_total", model="counted", currency="USD") == 0.2
    assert endpoint.metric("roaming_answer_seconds_count", model="counted") == 1


def test_disconnect_of_all_clients_cancels_shared_answer(
    start: Start, folder: Path, model: CountingModel, wait_until: Callable[..., Any]
) -> None:
    endpoint = start(folder, model, ping_seconds=0.05, quota=AnswerQuota(concurrent=1))
    readers = [Reader(endpoint)]
    wait_until(lambda: model.waiting)
    readers.append(Reader(endpoint))
    wait_until(lambda: readers[1].has(b"tool-output-available"))
    readers[0].leave()
    assert endpoint.metric("roaming_answers_in_progress") == 1
    readers[1].leave()
    wait_until(lambda: model.broken_off == 1, 1.0)
    wait_until(lambda: endpoint.metric("roaming_answers_in_progress") == 0)
    model.go.set()
    assert endpoint.status("Which port?")["state"] == "answered"
    assert model.calls == 2


@pytest.mark.anyio
async def test_closed_request_that_read_nothing_releases_answer(folder: Path, model: CountingModel) -> None:
    watcher = SiteWatcher(folder)
    await watcher.check()
    records: list[AnswerRecord] = []
    config = AnswerConfig(model, Budget(whole_site_tokens=0))
    service = AnswerService(
        LocalizedSite(watcher, SiteWatcher), config, TokenSigner(b"a key"), on_record=records.append
    )
    first = service.open(Question("Which port?"))
    async with aclosing(first.parts()) as parts:
        async for part in parts:
            if part["type"] == "finish-step":
                break
        second = service.open(Question("Which port?"))
        unread_parts = second.parts()
        assert second.is_shared
        await unread_parts.aclose()
        second.close()
    assert await first.cost() is None
    assert [record.abandoned for record in records] == [True, True]
    assert model.waiting == model.broken_off


def test_follow_up_is_not_shared(start: Start, folder: Path, model: CountingModel) -> None:
    endpoint = start(folder, model)
    model.go.set()
    turn = endpoint.ask("Which port?")[-1]["messageMetadata"]["turn"]
    for _ in range(2):
        assert endpoint.status("And over TLS?", turns=[turn])["cached"] is False
    assert model.waiting == 3


@pytest.mark.parametrize(
    ("cause", "advice"),
    [("key", "Check the key"), ("request", "Check the name and the options"), ("overload", "The provider is at fault")],
)
def test_failed_answers_are_logged_once_a_minute_with_advice(
    start: Start, folder: Path, caplog: pytest.LogCaptureFixture, cause: str, advice: str
) -> None:

    class Failing:
        name = "failing"

        async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
            raise ModelError("it cannot be called.", cause=cause)
            yield

    endpoint = start(folder, Failing())
    for number in range(5):
        assert endpoint.status(f"Which port {number}?")["state"] == "error"
    (line,) = [record.getMessage() for record in caplog.records if "an answer failed" in record.getMessage()]
    assert f"it cannot be called. {advice}" in line
