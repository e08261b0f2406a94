"""The metrics: what they count, and where they are served."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import ModelRequest, Part, Stop, Text, Usage
from mkdocs_roaming.errors import ModelError, UsageError
from mkdocs_roaming.serve.metrics import METRICS_ADDRESS, parse_metrics_address
from mkdocs_roaming.serve.quotas import AnswerQuota

Start = Callable[..., Any]
DOCS = Path(__file__).parents[3] / "docs/guides/operate.md"
PORT = "Which port is the default?"
PRICED = Budget(prices=Prices(input=1.0, output=5.0, currency="EUR"), cost=0.05)


class PaidModel:
    """A model whose every reply uses the same tokens, or fails."""

    name = "paid"

    def __init__(self, cause: str = "") -> None:
        self._cause = cause

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        yield Usage(input=10_000, output=100)
        if self._cause:
            raise ModelError("the provider is overloaded", cause=self._cause)
        yield Text("Nothing is said of that. [^none]")
        yield Stop()


def names_of(text: str) -> set[str]:
    return {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}


# What is counted


def test_refusals_of_quotas_are_counted_by_code(start: Start, folder: Path) -> None:
    endpoint = start(folder, quota=AnswerQuota(free_answers_a_minute_each=1))
    for number in range(3):
        endpoint.http.get("/ask", params={"q": f"Which port {number}?"})
    endpoint.http.post("/v1/ask", json={"question": ""})
    assert endpoint.metric("roaming_refused_total", code="rate", status="429") == 2
    assert endpoint.metric("roaming_refused_total", code="no_question", status="422") == 1


@pytest.mark.parametrize(("limit", "shown"), [(2.0, 2), ("unlimited", float("inf"))])
def test_money_of_day_and_its_limit_are_shown(start: Start, folder: Path, limit: Any, shown: float) -> None:
    endpoint = start(folder, PaidModel(), budget=PRICED, quota=AnswerQuota(money_a_day=limit))
    assert endpoint.metric("roaming_money_today", currency="EUR") == 0
    endpoint.ask(PORT)
    assert endpoint.metric("roaming_money_today", currency="EUR") == pytest.approx(0.0105)
    assert endpoint.metric("roaming_money_a_day", currency="EUR") == shown
    assert endpoint.metric("roaming_counters_up") == 1


def test_unreachable_counters_are_shown(start: Start, folder: Path, free_port: int) -> None:
    quota, url = AnswerQuota(money_a_day=2.0), f"redis://127.0.0.1:{free_port}/0"
    endpoint = start(folder, PaidModel(), budget=PRICED, quota=quota, counters_url=url)
    names = names_of(endpoint.read_metrics())
    assert {"roaming_money_a_day", "roaming_counters_up"} <= names
    assert "roaming_money_today" not in names
    assert endpoint.metric("roaming_counters_up") == 0


def test_first_text_is_timed_for_answers_that_are_not_cached(start: Start, folder: Path) -> None:
    endpoint = start(folder)
    for _ in range(2):
        endpoint.ask(PORT)
    assert endpoint.metric("roaming_first_text_seconds_count", model="offline") == 1
    assert endpoint.metric("roaming_first_text_seconds_sum", model="offline") > 0
    assert endpoint.metric("roaming_answers_total", model="offline", state="results", cached="yes") == 1


@pytest.mark.parametrize("cause", ["overload", "key"])
def test_failures_of_provider_are_counted_by_cause(start: Start, folder: Path, cause: str) -> None:
    endpoint = start(folder, PaidModel(cause))
    endpoint.ask(PORT)
    endpoint.http.post("/v1/ask", json={"question": PORT}, headers={"Accept": "application/json"})
    assert endpoint.metric("roaming_provider_errors_total", model="paid", cause=cause) == 2
    assert endpoint.metric("roaming_answers_total", model="paid", state="error", cached="no") == 2
    assert endpoint.metric("roaming_refused_total", code="failed", status="502") == 1


def test_docs_list_every_metric(start: Start, folder: Path) -> None:
    endpoint = start(folder, PaidModel("key"), budget=PRICED, quota=AnswerQuota(money_a_day=2.0))
    families = text_string_to_metric_families(endpoint.read_metrics())
    samples = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    table = DOCS.read_text("utf-8").split("## Metrics")[1]
    assert samples | {"roaming_search_by_meaning"} == set(re.findall(r"`(roaming_\w+)`", table))


# Where they are


def test_metrics_have_address_of_their_own(start: Start, folder: Path, free_port: int) -> None:
    endpoint = start(
        folder, PaidModel(), metrics=f"127.0.0.1:{free_port}", quota=AnswerQuota(money_a_day=2.0), budget=PRICED
    )
    endpoint.ask(PORT)
    text = httpx2.get(f"http://127.0.0.1:{free_port}/metrics").text
    assert {"roaming_requests_total", "roaming_site_up", "roaming_money_today"} <= names_of(text)
    assert endpoint.http.get("/metrics").status_code == 404
    assert "/metrics" not in endpoint.http.get("/openapi.json").json()["paths"]


def test_address_in_use_is_logged_and_endpoint_answers(
    start: Start, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        endpoint = start(folder, metrics=f"127.0.0.1:{port}")
        assert endpoint.status(PORT)["state"] == "results"
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert f"cannot bind to 127.0.0.1:{port}: address already in use. Set another address" in warning.message


@pytest.mark.parametrize(
    "text", ["", "127.0.0.1:0", "9464", "0.0.0.0", "127.0.0.1:99999", "http://127.0.0.1:1", "a b:1", "on", "path"]
)
def test_invalid_place_is_refused(start: Start, folder: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"\[serve\] metrics: .*write 127\.0\.0\.1:9464 or off"):
        start(folder, metrics=text)


def test_addresses_are_parsed() -> None:
    assert parse_metrics_address(METRICS_ADDRESS) == ("127.0.0.1", 9464)
    assert parse_metrics_address("[::1]:9000") == ("::1", 9000)
