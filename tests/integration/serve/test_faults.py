"""Failures of the provider and of Redis."""

from __future__ import annotations

import shutil
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import Model, Part, Request, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota

from .conftest import has_called

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
REDIS = shutil.which("redis-server")


class Overloaded:
    """A provider that returns 529 until `over` is False."""

    def __init__(self) -> None:
        from messages_api.adversary import Adversary
        from messages_api.navigator import Navigator

        self.over = True
        self._brains = {True: Adversary("overloaded"), False: Navigator()}

    def reply(self, view: Any) -> Any:
        return self._brains[self.over].reply(view)


@pytest.mark.parametrize("wire", ["claude", "openai"])
def test_overloaded_provider_fails_every_answer_and_caches_none(
    start: Start, folder: Path, wait_until: Callable[..., Any], wire: str
) -> None:
    from messages_api import MessagesApi, serving

    brain = Overloaded()
    with serving(MessagesApi(brain)) as api:
        endpoint = start(folder, _model(wire, api.url), quota=AnswerQuota(concurrent=4, concurrent_each=4))
        question = "How long is water kept hot?"
        statuses: list[dict[str, Any]] = []
        readers = [
            threading.Thread(target=lambda more=at * "?": statuses.append(endpoint.status(question + more, lang="en")))
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
        assert endpoint.status(question, lang="en")["state"] == "answered"


def _model(wire: str, url: str) -> Model:
    if wire == "claude":
        from mkdocs_roaming.answer.models.anthropic import AnthropicModel

        return AnthropicModel(key="test-key", base_url=url, retries=Retries(0))
    from mkdocs_roaming.answer.models.openai import OpenAIModel

    return OpenAIModel("qwen3", key="test-key", base_url=url, retries=Retries(0))


# Money


@pytest.mark.parametrize("outage", ["refused", "overloaded", "unauthorized"])
@pytest.mark.parametrize("wire", ["claude", "openai"])
def test_refused_provider_call_costs_nothing(
    start: Start, folder: Path, free_port: int, wait_until: Callable[..., Any], wire: str, outage: str
) -> None:
    from contextlib import nullcontext

    from messages_api import MessagesApi, serving

    brain = Overloaded()
    api = MessagesApi(brain, key="another" if outage == "unauthorized" else "test-key")
    with nullcontext() if outage == "refused" else serving(api) as server:
        url = server.url if server else f"http://127.0.0.1:{free_port}"
        endpoint = start(
            folder,
            _model(wire, url),
            budget=Budget(prices=Prices(input=1.0, output=1.0), cost=0.4),
            quota=AnswerQuota(money_a_day=1.0, answers_a_minute_each=60),
        )
        for at in range(4):
            assert endpoint.status(f"How long is water kept hot? {at}")["state"] == "error"
            wait_until(lambda: endpoint.metric("roaming_answers_in_progress") == 0)
        brain.over = False
        if outage == "overloaded":
            assert endpoint.status("How long is water kept hot?", lang="en")["state"] == "answered"


# Redis


class ExpensiveModel:
    """A model whose answers cost 0.2 each; it waits in the middle until `go` is set."""

    name = "dear"

    def __init__(self, id_: str) -> None:
        self.go = threading.Event()
        self.go.set()
        self.calls = 0
        self._id = id_

    async def reply(self, request: Request) -> AsyncIterator[Part]:
        import anyio

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
