"""Ratings, and the limit of their number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mkdocs_roaming.serve.middleware import RequestPolicy

from .conftest import find_free_port

if TYPE_CHECKING:
    from .conftest import Endpoint

Start = Callable[..., "Endpoint"]
POLICY = RequestPolicy(proxies=1, requests_a_minute=10_000, requests_a_minute_each=10_000)
PORT = "Which port is the default?"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "feedback.jsonl"


@pytest.fixture
def endpoint(start: Start, folder: Path, log: Path) -> Endpoint:
    return start(folder, feedback_log=log, policy=POLICY)


def ask_for_turn(endpoint: Endpoint) -> str:
    return str(endpoint.ask(PORT)[-1]["messageMetadata"]["turn"])


def rate(endpoint: Endpoint, turn: str, *, client: str = "192.0.2.1", **fields: Any) -> int:
    body = {"turn": turn, "helpful": True, **fields}
    return endpoint.http.post("/v1/feedback", json=body, headers={"X-Forwarded-For": client}).status_code


def read_lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def test_turns_of_one_cached_answer_differ(endpoint: Endpoint) -> None:
    assert len({ask_for_turn(endpoint) for _ in range(5)}) == 5


def test_client_writes_at_most_100_ratings_a_day(endpoint: Endpoint, log: Path) -> None:
    turn = ask_for_turn(endpoint)
    assert [rate(endpoint, turn) for _ in range(101)] == [204] * 100 + [429]
    assert len(read_lines(log)) == 100
    assert rate(endpoint, turn, client="192.0.2.2") == 204


def test_ratings_are_refused_while_counters_are_down(start: Start, folder: Path, log: Path) -> None:
    url = f"redis://127.0.0.1:{find_free_port()}/0"
    endpoint = start(folder, feedback_log=log, policy=POLICY, counters_url=url)
    response = endpoint.http.post("/v1/feedback", json={"turn": ask_for_turn(endpoint), "helpful": True})
    assert (response.status_code, response.json()["code"], response.headers["retry-after"]) == (503, "counters", "30")
    assert not read_lines(log)


def test_endpoint_without_log_collects_none(start: Start, folder: Path) -> None:
    response = start(folder).http.post("/v1/feedback", json={"turn": "x", "helpful": True})
    assert (response.status_code, response.json()["code"]) == (404, "no_feedback")
