"""Failures of the provider and of Redis."""

from __future__ import annotations

import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from messages_api import MessagesApi, serving
from messages_api.navigator import Navigator
from messages_api.parts import Status
from serving import load_cases

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import ModelRequest, Part, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota

from .conftest import has_called, make_model

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
QUESTION = "How long is water kept hot?"
REDIS = shutil.which("redis-server")


class Overloaded:
    """A provider that returns 529 while it is `over`, with Retry-After if `wait` is set."""

    def __init__(self, wait: str = "") -> None:
        self.over = True
        self._headers = {"retry-after": wait} if wait else {}

    def reply(self, view: Any) -> Any:
        if self.over:
            return [Status(529, self._headers, kind="overloaded_error")]
        return Navigator().reply(view)


@pytest.mark.parametrize("wire", ["claude", "openai"])
def test_overloaded_provider_fails_every_answer_and_caches_none(
    start: Start, folder: Path, wait_until: Callable[..., Any], wire: str
) -> None:
    brain = Overloaded()
    with serving(MessagesApi(brain)) as api:
        endpoint = start(
            folder, make_model(wire, api.url, retries=Retries(0)), quota=AnswerQuota(concurrent=4, concurrent_each=4)
        )
        statuses: list[dict[str, Any]] = []
        readers = [
            threading.Thread(target=lambda more=at * "?": statuses.append(endpoint.status(QUESTION + more, lang="en")))
            for at in range(4)
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert [(status["state"], status["code"]) for status in statuses] == [("error", "failed")] * 4
        assert len(api.exchanges) == 4
        wait_until(lambda: endpoint.metric("roaming_answers_in_progress") == 0)
        assert endpoint.http.get("/healthz").json()["status"] == "ok"
        assert "12 minutes" in endpoint.http.get("/ask", params={"q": "keep hot minutes"}).text
        brain.over = False
        assert endpoint.status(QUESTION, lang="en")["state"] == "answered"


@pytest.mark.parametrize("wire", ["claude", "openai"])
def test_retries_stop_within_time_budget(start: Start, folder: Path, wire: str) -> None:
    with serving(MessagesApi(Overloaded("1.2"))) as api:
        endpoint = start(folder, make_model(wire, api.url), budget=Budget(seconds=1.8))
        status = endpoint.status(QUESTION)
    assert (status["state"], status["code"], status["nearest"] != []) == ("budget", "budget_seconds", True)
    assert len(api.exchanges) == 2


class Failing:
    """A provider that answers every request with a status."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        self._status = status, kind, message

    def reply(self, view: Any) -> Any:
        code, kind, message = self._status
        return [Status(code, {}, kind=kind, message=message)]


@pytest.mark.parametrize("wire", ["claude", "openai"])
def test_each_failure_has_results_and_a_cause_for_the_operator_only(start: Start, folder: Path, wire: str) -> None:
    messages = set()
    for cause, failure in load_cases("failures of providers").items():
        with serving(MessagesApi(Failing(*failure))) as api:
            model = make_model(wire, api.url, retries=Retries(0))
            parts = start(folder, model).ask(QUESTION)
        status = next(part["data"] for part in parts if part["type"] == "data-status")
        assert (status["state"], status["cause"]) == ("error", cause)
        messages.add(status["message"].partition(" Try again")[0])
        text = "".join(part["delta"] for part in parts if part["type"] == "text-delta")
        assert text.startswith(status["message"])
        assert prompts.NEAREST_SECTIONS in text
        assert failure[2] not in text  # details are for the operator
    assert len(messages) == 2  # only a long question is something that readers can change


# Money


@pytest.mark.parametrize("outage", ["refused", "overloaded", "unauthorized"])
@pytest.mark.parametrize("wire", ["claude", "openai"])
def test_refused_provider_call_costs_nothing(
    start: Start, folder: Path, free_port: int, wait_until: Callable[..., Any], wire: str, outage: str
) -> None:
    brain = Overloaded()
    api = MessagesApi(brain, key="another" if outage == "unauthorized" else "test-key")
    with nullcontext() if outage == "refused" else serving(api) as server:
        url = server.url if server else f"http://127.0.0.1:{free_port}"
        endpoint = start(
            folder,
            make_model(wire, url, retries=Retries(0)),
            budget=Budget(prices=Prices(input=1.0, output=1.0), cost=0.4),
            quota=AnswerQuota(money_a_day=1.0, answers_a_minute_each=60),
        )
        for at in range(4):
            assert endpoint.status(f"{QUESTION} {at}")["state"] == "error"
            wait_until(lambda: endpoint.metric("roaming_answers_in_progress") == 0)
        brain.over = False
        if outage == "overloaded":
            assert endpoint.status(QUESTION, lang="en")["state"] == "answered"


# Redis


class ExpensiveModel:
    """A model whose answers cost 0.2 each; it waits in the middle until `go` is set."""

    name = "dear"

    def __init__(self, id_: str) -> None:
        self.go = threading.Event()
        self.go.set()
        self.calls = 0
        self._id = id_

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        self.calls += 1
        if not has_called(request):
            yield ToolCall("a", "expand_sections", {"ids": [self._id]})
            return
        while not self.go.is_set():
            await anyio.sleep(0.01)
        yield Text(f"It is port 8642 [^{self._id}].")
        yield Usage(input=200_000)


@pytest.mark.skipif(REDIS is None, reason="needs redis-server")
def test_no_money_is_spent_while_redis_is_down(
    start: Start, folder: Path, redis: Any, wait_until: Callable[..., Any]
) -> None:
    model = ExpensiveModel(next(place.id for place in open_library(folder).sections if place.section.title == "Server"))
    endpoint = start(
        folder,
        model,
        budget=Budget(prices=Prices(input=1.0), cost=0.3),
        quota=AnswerQuota(money_a_day=0.65, answers_a_minute_each=60),
        counters_url=redis.uri,
        policy=RequestPolicy(requests_a_minute=100_000, requests_a_minute_each=100_000),
        kept_answers=0,
    )
    model.go.clear()
    ended: list[dict[str, Any]] = []
    reader = threading.Thread(target=lambda: ended.append(endpoint.status("Which port?")))
    reader.start()
    wait_until(lambda: model.calls == 2)
    redis.stop()
    model.go.set()
    reader.join(20)
    assert [status["state"] for status in ended] == ["answered"]

    refused = endpoint.http.post("/v1/ask", json={"question": "Another?"})
    assert (refused.status_code, refused.json()["code"]) == (503, "counters")
    assert int(refused.headers["retry-after"]) > 0
    assert model.calls == 2
    assert endpoint.http.get("/ask", params={"q": "Which port is the default?"}).status_code == 200
    assert endpoint.http.get("/v1/search", params={"q": "port"}).status_code == 200
    assert endpoint.http.get("/v1/outline").status_code == 200

    redis.start()
    wait_until(lambda: endpoint.http.post("/v1/ask", json={"question": "And now?"}).status_code == 200, 15.0)
