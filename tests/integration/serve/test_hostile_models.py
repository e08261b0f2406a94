"""Models that are wrong, hostile or down: what reaches the reader on every wire, and what is cached."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from messages_api import MessagesApi, serving
from messages_api.adversary import Adversary
from messages_api.parts import Call, Part, Say, View
from serving import load_cases

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.library.targets import open_library

from .conftest import make_model

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
Serve = Callable[[Any], tuple[MessagesApi, Model]]
QUESTION = "Which port is the default?"


class Liar:
    """Opens a section, then writes a text in chunks of some size."""

    def __init__(self, id_: str, text: str, size: int = 10_000, *end: Part) -> None:
        self.id, self.text, self.size, self.end, self.views = id_, text, size, end, list[View]()

    def reply(self, view: View) -> Iterable[Part]:
        self.views.append(view)
        if not view.rounds and self.id:
            return [Call("expand_sections", {"ids": [self.id]})]
        pieces = [self.text[at : at + self.size] for at in range(0, len(self.text), self.size)]
        return [*map(Say, pieces), *self.end]


@pytest.fixture
def server(folder: Path) -> str:
    return next(place.id for place in open_library(folder).sections if place.section.title == "Server")


@pytest.fixture(params=["claude", "openai"])
def serve(request: pytest.FixtureRequest) -> Iterator[Serve]:
    """Return a function that starts a provider and creates its model."""
    with ExitStack() as stack:

        def begin(brain: Any) -> tuple[MessagesApi, Model]:
            api = stack.enter_context(serving(MessagesApi(brain, budget=700)))
            return api, make_model(request.param, api.url, retries=Retries(0))

        yield begin


def text_of(parts: Sequence[dict[str, Any]]) -> str:
    return "".join(part["delta"] for part in parts if part["type"] == "text-delta")


def status_of(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    (data,) = (part["data"] for part in parts if part["type"] == "data-status")
    return dict(data)


# Text that must not reach the reader

FOREIGN = load_cases("answers with foreign addresses")


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_addresses_and_reasoning_never_reach_reader(
    start: Start, folder: Path, server: str, serve: Serve, name: str
) -> None:
    _, model = serve(Liar(server, FOREIGN[name].replace("ID", server), 7))
    endpoint = start(folder, model)
    parts = endpoint.ask(QUESTION)
    assert "8642" in text_of(parts)
    accept = {"Accept": "application/json"}
    completed = endpoint.http.post("/v1/ask", json={"question": f"{QUESTION} "}, headers=accept).json()
    for sent in (json.dumps(parts), json.dumps(completed)):
        assert "evil" not in sent
        assert "javascript:" not in sent
        assert "<think" not in sent
        assert "says so" not in sent


def test_answer_with_removed_link_is_not_cached(start: Start, folder: Path, server: str, serve: Serve) -> None:
    api, model = serve(Liar(server, FOREIGN["image beacon"].replace("ID", server)))
    endpoint = start(folder, model)
    assert [status_of(endpoint.ask(QUESTION))["cached"] for _ in range(2)] == [False, False]
    assert len(api.exchanges) == 4


COMMANDS = load_cases("answers with foreign commands")


@pytest.mark.parametrize("text", COMMANDS)
def test_command_with_foreign_address_is_marked_and_not_cached(
    start: Start, folder: Path, server: str, serve: Serve, text: str
) -> None:
    api, model = serve(Liar(server, text.replace("ID", server)))
    endpoint = start(folder, model)
    for _ in range(2):
        parts = endpoint.ask(QUESTION)
        shown = text_of(parts)
        status = status_of(parts)
        assert (status["state"], status["cached"]) == ("partial", False)
        (support,) = (part["data"] for part in parts if part["type"] == "data-support")
        marked = [shown[mark["start"] : mark["end"]] for mark in support["marks"]]
        assert any("evil.example/i" in part for part in marked), marked
    assert len(api.exchanges) == 4


# The model's own words


def test_gap_in_own_words_is_text_of_every_wire(start: Start, folder: Path, server: str, serve: Serve) -> None:
    text = "The documentation does not describe Kubernetes [^none]."
    _, model = serve(Liar(server, text))
    endpoint = start(folder, model)
    parts = endpoint.ask("Kubernetes?")
    assert (text_of(parts), status_of(parts)["state"]) == (text.replace(" [^none]", ""), "not_found")
    accept = {"Accept": "application/json"}
    completed = endpoint.http.post("/v1/ask", json={"question": "On Kubernetes?"}, headers=accept).json()
    assert (completed["answer"], completed["state"]) == (text.replace(" [^none]", ""), "not_found")


def test_own_words_are_in_history_of_follow_up(start: Start, folder: Path, server: str, serve: Serve) -> None:
    brain = Liar(server, "<think>Hm.</think>The documentation does not describe Kubernetes [^none].")
    api, model = serve(brain)
    endpoint = start(folder, model)
    turns: list[str] = []
    for number in range(3):
        parts = endpoint.ask(f"Kubernetes {number}?", turns=turns)
        turns.append(next(part["messageMetadata"]["turn"] for part in parts if part["type"] == "finish"))
    sent = json.dumps(api.exchanges[-1].body)
    assert sent.count("does not describe Kubernetes") == 2
    assert "Hm." not in sent


# Providers that fail

CAUSES = load_cases("failures of providers and messages")


@pytest.mark.parametrize("behaviour", CAUSES)
def test_failure_of_provider_shows_reason_and_results(start: Start, folder: Path, serve: Serve, behaviour: str) -> None:
    cause, message = CAUSES[behaviour]
    _, model = serve(Adversary(behaviour))
    endpoint = start(folder, model)
    parts = endpoint.ask(QUESTION)
    status = status_of(parts)
    assert (status["state"], status["code"], status["cause"]) == ("error", "failed", cause)
    assert message in status["message"]
    assert text_of(parts).startswith(f"{status['message']} {prompts.NEAREST_SECTIONS}\n\n")
    assert "8642" in text_of(parts)
    assert any(part["type"] == "source-url" for part in parts)
    assert [part["errorText"] for part in parts if part["type"] == "error"] == [status["message"]]
    assert not re.search("test-key|provider|API key|account|operator", status["message"])  # for the operator
    assert "test-key" not in json.dumps(parts)
    response = endpoint.http.post("/v1/ask", json={"question": QUESTION}, headers={"Accept": "application/json"})
    problem = response.json()
    assert (response.status_code, problem["code"], problem["detail"]) == (502, "failed", status["message"])
    assert problem["answer"] == text_of(parts)
    assert [source["id"] for source in problem["sources"]]
    assert response.headers.get("retry-after") == ("3600" if "hour" in behaviour else None)


@pytest.mark.parametrize(
    ("behaviour", "budget", "spent"),
    [
        ("silence", Budget(seconds=0.3), "seconds"),
        ("endless calls", Budget(rounds=2), "rounds"),
        ("endless calls", Budget(cost=1e-9, prices=Prices(input=1.0, output=1.0)), "cost"),
        ("cut short", Budget(), "output"),
    ],
)
def test_spent_budget_shows_reason_and_results(
    start: Start, folder: Path, serve: Serve, behaviour: str, budget: Budget, spent: str
) -> None:
    _, model = serve(Adversary(behaviour))
    parts = start(folder, model, budget=budget).ask(QUESTION)
    status = status_of(parts)
    assert (status["state"], status["code"]) == ("budget", f"budget_{spent}")
    assert text_of(parts).startswith(f"{status['message']} {prompts.NEAREST_SECTIONS}\n\n")
    assert "8642" in text_of(parts)
