"""The same first question at the same moment: it is asked upstream once, and heard by everybody who asks it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import Event
from mkdocs_roaming.answer.models.base import AssistantTurn, Part, Request, Text, ToolCall, Usage
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.serve.cache import AnswerCache, CacheKey
from mkdocs_roaming.serve.conversation_token import TokenSigner
from mkdocs_roaming.serve.deployments import LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.requests import Question
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRecord, AnswerService

Start = Callable[..., Any]
QUESTION = {"question": "Which port?"}


class Counted:
    """A model that counts how often it is asked and broken off; it waits in the middle of its answer."""

    name = "counted"

    def __init__(self, folder: Path) -> None:
        self.go = threading.Event()
        self.asked = self.waiting = self.broken_off = 0
        self._id = next(place.id for place in open_library(folder).sections if place.section.title == "Server")

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        if not any(isinstance(turn, AssistantTurn) and turn.calls for turn in request.turns):
            self.asked += 1
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
def model(folder: Path) -> Counted:
    return Counted(folder)


@pytest.fixture
def endpoint(start: Start, folder: Path, model: Counted) -> Any:
    """An endpoint where one answer costs 0.2 and one place is free."""
    return start(
        folder,
        model,
        budget=Budget(prices=Prices(input=1.0), cost=0.3),
        quota=AnswerQuota(concurrent=1, money_a_day=5.0, answers_a_minute_each=60),
    )


class Reader:
    """Reads a stream in a thread of its own, until the end or until it leaves."""

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
        """Leave with the next thing that is said; pings come every few moments."""
        self._left.set()
        self.end()

    def end(self) -> list[dict[str, Any]]:
        self._thread.join(20)
        assert not self._thread.is_alive()
        lines = [line for line in self.body.decode().split("\n\n") if line.startswith("data: {")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_it_is_asked_upstream_once(endpoint: Any, model: Counted, until: Callable[..., Any]) -> None:
    """Who comes later hears the same from the beginning, takes no place, and pays nothing."""
    first = Reader(endpoint)
    until(lambda: model.waiting)
    second, third = Reader(endpoint), Reader(endpoint, Accept="application/json")
    until(lambda: second.has(b"tool-output-available"))
    model.go.set()
    told = [one.end() for one in (first, second)]
    third.end()
    assert model.asked == 1
    assert json.loads(third.body)["state"] == "answered"
    wire = [[part for part in parts if part["type"] not in ("data-status", "finish")] for parts in told]
    assert wire[0] == wire[1]
    costs = [next(part["data"] for part in parts if part["type"] == "data-status") for parts in told]
    assert [(one["cached"], one["cost"]) for one in costs] == [(False, 0.2), (True, 0.0)]
    assert endpoint.metric("roaming_cost_total", model="counted", currency="USD") == 0.2


def test_of_all_who_ask_at_one_moment_only_one_is_answered(endpoint: Any, model: Counted) -> None:
    """Nothing has to have been said before others join in."""
    body = json.dumps(QUESTION).encode()
    head = "POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    asked = head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    model.go.set()
    with ExitStack() as lines:
        readers = [lines.enter_context(socket.create_connection(("127.0.0.1", endpoint.port), 20)) for _ in range(8)]
        for line in readers:
            line.sendall(asked)
        answers = [line.makefile("rb").read() for line in readers]
    let_in = [answer for answer in answers if answer.startswith(b"HTTP/1.1 200")]
    assert len(let_in) >= 1
    assert all(b'"type":"finish"' in answer for answer in let_in)
    assert model.asked == 1


@pytest.mark.parametrize("leaves", [0, 1])
def test_who_leaves_takes_it_from_nobody(
    start: Start, folder: Path, model: Counted, until: Callable[..., Any], leaves: int
) -> None:
    """One of two leaves, be it who asked first: the other hears the answer to its end."""
    endpoint = start(folder, model, ping_seconds=0.05, budget=Budget(prices=Prices(input=1.0), cost=0.3))
    readers = [Reader(endpoint)]
    until(lambda: model.waiting)
    readers.append(Reader(endpoint))
    until(lambda: readers[1].has(b"tool-output-available"))
    readers[leaves].leave()
    model.go.set()
    assert any(part["type"] == "finish" for part in readers[1 - leaves].end())
    assert (model.asked, model.broken_off) == (1, 0)
    assert endpoint.status("Which port?")["cached"] is True
    assert endpoint.metric("roaming_tokens_total", model="counted", kind="input") == 200_000
    assert endpoint.metric("roaming_cost_total", model="counted", currency="USD") == 0.2
    assert endpoint.metric("roaming_answer_seconds_count", model="counted") == 1


def test_when_all_have_left_it_is_broken_off(
    start: Start, folder: Path, model: Counted, until: Callable[..., Any]
) -> None:
    """The model is stopped as soon as nobody listens, the place is free, and the next one is answered anew."""
    endpoint = start(folder, model, ping_seconds=0.05, quota=AnswerQuota(concurrent=1))
    readers = [Reader(endpoint)]
    until(lambda: model.waiting)
    readers.append(Reader(endpoint))
    until(lambda: readers[1].has(b"tool-output-available"))
    readers[0].leave()
    assert endpoint.metric("roaming_answers_under_way") == 1
    readers[1].leave()
    until(lambda: model.broken_off == 1, 1.0)
    until(lambda: endpoint.metric("roaming_answers_under_way") == 0)
    model.go.set()
    assert endpoint.status("Which port?")["state"] == "answered"
    assert model.asked == 2


@pytest.mark.anyio
async def test_who_never_listened_keeps_no_answer_going(folder: Path, model: Counted) -> None:
    """A reader that is gone before its first byte counts as one that left: the model is stopped with the other one."""
    deployments = SiteWatcher(folder)
    await deployments.check()
    outcomes: list[AnswerRecord] = []
    way = AnswerConfig(model, Budget(), small_site_tokens=0)
    desk = AnswerService(LocalizedSite(deployments, SiteWatcher), way, TokenSigner(b"a key"), on_record=outcomes.append)
    first = desk.open(Question("Which port?"))
    async with aclosing(first.parts()) as parts:
        async for part in parts:
            if part["type"] == "finish-step":
                break
        second = desk.open(Question("Which port?"))
        unheard = second.parts()
        assert second.cached
        await unheard.aclose()
        second.close()
    assert await first.cost() is None
    assert [one.abandoned for one in outcomes] == [True, True]
    assert model.waiting == model.broken_off


@pytest.mark.anyio
async def test_nobody_joins_what_all_have_left() -> None:
    """An answer that is being broken off is over for who comes then: a new one begins."""

    async def answer(*events: Event) -> AsyncGenerator[Event, None]:
        try:
            await anyio.sleep_forever()
            yield events[0]
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)

    cache, key = AnswerCache(), CacheKey("", "Which port?", "", "", "counted", "")
    first = cache.start(key, answer())
    assert cache.join(key) is first
    await anyio.sleep(0)
    first.unsubscribe()
    first.unsubscribe()
    assert cache.join(key) is None
    second = cache.start(key, answer())
    await first.wait_done()
    assert cache.join(key) is second
    second.unsubscribe()
    second.unsubscribe()
    await second.wait_done()
    assert cache.join(key) is None


def test_follow_ups_are_ones_own(start: Start, folder: Path, model: Counted) -> None:
    """A question that refers to an earlier answer is never joined with another's."""
    endpoint = start(folder, model)
    model.go.set()
    turn = endpoint.ask("Which port?")[-1]["messageMetadata"]["turn"]
    for _ in range(2):
        assert endpoint.status("And over TLS?", turns=[turn])["cached"] is False
    assert model.waiting == 3


def test_a_failure_is_logged_once(
    start: Start, folder: Path, until: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """However many hear an answer that fails, its owner reads of it in one line."""

    class Failing(Counted):
        async def reply(self, request: Request) -> AsyncIterator[Part]:
            async for part in super().reply(request):
                if isinstance(part, Text):
                    raise ModelError("the connection broke off")
                yield part

    failing = Failing(folder)
    endpoint = start(folder, failing)
    first = Reader(endpoint)
    until(lambda: failing.waiting)
    second = Reader(endpoint)
    until(lambda: second.has(b"tool-output-available"))
    failing.go.set()
    for reader in (first, second):
        assert any(part["type"] == "error" for part in reader.end())
    assert caplog.text.count("an answer failed") == 1
