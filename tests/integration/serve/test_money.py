"""Parallel clients spend the money of a day, and never more."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import ModelRequest, Part, Text, ToolCall, Usage
from mkdocs_roaming.answer.models.openai import estimate_request
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota

from .conftest import has_called

if TYPE_CHECKING:
    from .conftest import Endpoint

Start = Callable[..., "Endpoint"]
WORKERS, DAY = 24, 2.0
PRICES = Prices(input=3.0, cache_read=0.3, cache_write=3.75, output=15.0)
pytestmark = pytest.mark.slow


class HonestModel:
    """A model that opens a section and answers, and reports the tokens that its requests were estimated at.

    `cost` is what the provider bills.
    """

    name = "honest"

    def __init__(self, folder: Path) -> None:
        self.cost = 0.0
        self._id = next(place.id for place in open_library(folder).sections if place.section.title == "Server")

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        tokens = estimate_request(request)
        usage = Usage(input=tokens, output=150)
        self.cost += PRICES.cost(usage) or 0.0
        await anyio.sleep(0.02)
        if not has_called(request):
            yield ToolCall("a", "expand_sections", {"ids": [self._id]})
        else:
            yield Text(f"It is port 8642 [^{self._id}].\n\nAnd as the docs have it,\n")
            await anyio.sleep(0.05)
            yield Text(f"there is more [^{self._id}].")
        yield usage


class Workers:
    """Clients that ask without a pause until the money of the day is spent; each third answer is aborted."""

    def __init__(self, url: str, model: HonestModel) -> None:
        self.codes = Counter[str]()
        self.costs: list[float] = []
        self.busy_at: list[float] = []
        self._model, self._url, self._numbers = model, url, count(1)
        self._threads = [threading.Thread(target=self._work) for _ in range(WORKERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(120)

    def _work(self) -> None:
        with httpx2.Client(base_url=self._url, timeout=30) as http:
            while (code := self._ask(http, next(self._numbers))) not in ("money", "budget"):  # too little for a call
                if code in ("busy", "counters"):
                    time.sleep(0.1)

    def _ask(self, http: httpx2.Client, number: int) -> str:
        with http.stream("POST", "/v1/ask", json={"question": f"Which port is the default? {number}"}) as response:
            if response.status_code != 200:
                code: str = httpx2.Response(response.status_code, content=response.read()).json()["code"]
                if code == "busy":
                    self.busy_at.append(self._model.cost)
            elif number % 3:
                text = "".join(response.iter_text())
                code = text.partition('"data-status","data":{"state":"')[2].partition('"')[0]
                cost = text.partition('"cost":')[2].partition(",")[0]
                self.costs.append(0.0 if cost == "null" else float(cost))  # the money was spent before its first call
            else:
                next(text for text in response.iter_text() if "8642" in text or "[DONE]" in text)
                code = "aborted"
        self.codes[code] += 1
        return code


def start_endpoint(start: Start, folder: Path, model: HonestModel, **settings: Any) -> Endpoint:
    large = 10**6
    return start(
        folder,
        model,
        budget=Budget(prices=PRICES, cost=0.05),
        quota=AnswerQuota(*[large] * 7, money_a_day=DAY, money_a_day_each="unlimited"),
        policy=RequestPolicy(requests_a_minute=large, requests_a_minute_each=large),
        kept_answers=0,
        **settings,
    )


def read_money(endpoint: Endpoint, wait_until: Callable[..., Any]) -> float:
    """Return the money of the day that counts as spent after all answers."""
    wait_until(lambda: endpoint.metric("roaming_answers_in_progress") == 0)
    return endpoint.metric("roaming_money_today", currency="USD")


def test_24_workers_spend_95_percent_of_the_money_of_a_day(
    start: Start, folder: Path, wait_until: Callable[..., Any]
) -> None:
    model = HonestModel(folder)
    endpoint = start_endpoint(start, folder, model)
    workers = Workers(endpoint.url, model)
    workers.start()
    workers.join()
    spent = read_money(endpoint, wait_until)
    mean = sum(workers.costs) / len(workers.costs)
    first_busy = min(workers.busy_at, default=DAY)
    early = sum(1 for cost in workers.busy_at if cost < DAY / 2)
    print(
        f"spent {spent:.3f} of {DAY}, provider {model.cost:.3f}, {mean:.4f} an answer; {dict(workers.codes)}, first busy at {first_busy:.2f}"
    )
    assert 0.95 * DAY <= spent <= DAY
    assert model.cost <= spent + 1e-6
    assert not early
