"""Providers that misbehave: the answer ends in time with a reason, and never with a traceback."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from messages_api import MessagesApi
from messages_api.adversary import Adversary
from messages_api.navigator import Navigator as WordNavigator
from messages_api.parts import Call, Part, Say, View, Wait
from messages_api.script import Script

from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.events import (
    Answer,
    CitationDropped,
    Event,
    SectionOpened,
    TextReleased,
    ToolCallRejected,
    collect_answer,
    summarize,
)
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator

Ask = Callable[..., list[Event]]
Make = Callable[..., Model]

CASES = yaml.safe_load((Path(__file__).parent / "behaviours.yml").read_text("utf-8"))
SECONDS = 0.3
"""What an answer may take that would go on for ever."""
PLENTY = 10.0
LOG = "Where does the log go that Kettle writes?"
"""What may be over when one asks again."""


def named(error: str, api: MessagesApi, model: Model) -> str:
    claude = model.name.startswith("claude")
    names = {
        "NAME": model.name,
        "URL": api.url + ("" if claude else "/v1"),
        "KEY": "ANTHROPIC_API_KEY" if claude else "OPENAI_API_KEY",
        "BASE": "ANTHROPIC_BASE_URL" if claude else "ROAMING_BASE_URL",
        "FORMAT": "Messages" if claude else "chat completions",
    }
    return re.sub("|".join(names), lambda match: names[match[0]], error)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["behaviour"])
def test_behavior_ends_in_expected_state(ask: Ask, api: MessagesApi, make: Make, case: dict[str, Any]) -> None:
    api.brain = Adversary(case["behaviour"])
    api.budget = 2_800  # more room after an empty reply
    model = make()
    wire = "claude" if model.name.startswith("claude") else "openai"
    case = {**case, **case.get(wire, {})}
    seconds = SECONDS if case.get("spent") == "seconds" else PLENTY  # long enough for a slow machine
    begun = time.monotonic()
    events = ask(model, budget=Budget(seconds=seconds))
    took = time.monotonic() - begun
    result = summarize(events)
    assert (result.state, result.spent) == (case["state"], case.get("spent", ""))
    error = re.sub(r"in \d+ seconds", "in N seconds", result.error)
    error = re.sub(r"in a minute", "in N seconds", error) if "until a date" in case["behaviour"] else error
    assert error == named(case.get("error", ""), api, model)
    assert "test-key" not in repr(events)
    assert took < seconds + 10.0  # endless without a deadline
    assert api.idle()
    if case.get("left") and api.exchanges:  # on a busy machine, time may be over before the request is made
        assert any(exchange.left for exchange in api.exchanges)
    assert result.model == model.name


def test_instructions_in_section_are_ignored(ask: Ask, api: MessagesApi, make: Make) -> None:
    api.brain = Adversary("orders")
    events = ask(make())
    opened = {
        section.title
        for event in events
        if isinstance(event, SectionOpened)
        for section in (event.section, *event.inside)
    }
    assert "Notes of a stranger" in opened
    misused = [event.message for event in events if isinstance(event, ToolCallRejected)]
    assert [message.split(";")[0] for message in misused] == [
        "There is no tool 'delete_site'",
        "There is no tool 'http_get'",
    ]
    assert "deadbeef" in [event.id for event in events if isinstance(event, CitationDropped)]
    result = summarize(events)
    assert result.state == "unusable"
    assert result.text.startswith("The model's reply could not be used.")
    assert result.dropped_citations >= 2


@pytest.mark.parametrize(
    "behaviour",
    ["overloaded", "server error", "rate limit", "rate limit until a date", "error frame at once", "cut at once"],
)
def test_temporary_failure_is_retried(ask: Ask, api: MessagesApi, make: Make, behaviour: str) -> None:
    api.brain = Adversary(behaviour, fails=1, then=WordNavigator())
    result = summarize(ask(make(retries=Retries(sleep=Pauses())), LOG))
    assert (result.state, result.error) == ("answered", "")
    assert "/var/log/kettle.log" in result.text
    assert len(api.exchanges) == result.rounds + 1


@pytest.mark.parametrize("behaviour", ["error frame", "cut"])
def test_partial_reply_is_not_retried(ask: Ask, api: MessagesApi, make: Make, behaviour: str) -> None:
    api.brain = Adversary(behaviour)
    assert summarize(ask(make(retries=Retries()))).state == "error"
    assert len(api.exchanges) == 1


def test_lone_surrogates_are_replaced(ask: Ask, api: MessagesApi, make: Make) -> None:
    api.brain = WordNavigator()
    result = summarize(ask(make(), "Where does the log go \ud83d that Kettle writes?"))
    assert (result.state, result.error) == ("answered", "")


@pytest.mark.parametrize("behaviour", ["rate limit", "error frame at once"])
def test_retries_are_limited(ask: Ask, api: MessagesApi, make: Make, behaviour: str) -> None:
    api.brain = Adversary(behaviour)
    assert summarize(ask(make(retries=Retries(sleep=Pauses())))).state == "error"
    assert len(api.exchanges) == 3


class Pauses(list[float]):
    """Records the pauses instead of waiting."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def test_long_retry_after_is_not_awaited(ask: Ask, api: MessagesApi, make: Make) -> None:
    api.brain = Adversary("rate limit for an hour")
    begun = time.monotonic()
    result = summarize(ask(make(retries=Retries())))
    assert result.error.endswith("try again in 60 minutes")
    assert len(api.exchanges) == 1
    assert time.monotonic() - begun < 10.0


def test_retry_pause_ends_at_deadline(ask: Ask, api: MessagesApi, make: Make) -> None:
    api.brain = Adversary("rate limit for an hour")
    begun = time.monotonic()
    result = summarize(ask(make(retries=Retries(patience=4000.0)), budget=Budget(seconds=0.4)))
    assert (result.state, result.spent) == ("budget", "seconds")
    assert time.monotonic() - begun < 10.0


@pytest.mark.parametrize("behaviour", ["silence", "silence in mid-stream", "drip"])
def test_cancelled_answer_cancels_request(api: MessagesApi, make: Make, navigator: Navigator, behaviour: str) -> None:
    api.brain = Adversary(behaviour)
    model = make()

    async def leave() -> float:
        async with anyio.create_task_group() as group:
            group.start_soon(
                collect_answer, answer("Which port?", navigator, model, budget=Budget(whole_site_tokens=0))
            )
            with anyio.fail_after(120):
                while not api.exchanges:
                    await anyio.sleep(0.01)
            await anyio.sleep(0.1)
            left_at = time.monotonic()
            group.cancel_scope.cancel()
        return left_at

    left_at = anyio.run(leave)
    assert api.idle()
    (exchange,) = api.exchanges
    assert exchange.left is not None
    assert exchange.left - left_at < 30.0


def test_closed_answer_cancels_request(api: MessagesApi, make: Make, navigator: Navigator, ids: dict[str, str]) -> None:
    server = ids["Server"]
    text = f"The port is 8642 [^{server}].\n\nIts address is"
    api.brain = Script([Call("expand_sections", {"ids": [server]})], [Say(text), Wait(60)])
    model = make()

    async def leave() -> float:
        async with aclosing(answer("Which port?", navigator, model, budget=Budget(whole_site_tokens=0))) as events:
            async for event in events:
                if isinstance(event, TextReleased):
                    break
            return time.monotonic()

    left_at = anyio.run(leave)
    assert api.idle()
    left = api.exchanges[-1].left
    assert left is not None
    assert left - left_at < 30.0


def test_model_answers_concurrent_questions(api: MessagesApi, make: Make, handbook: Library) -> None:
    brains = [Adversary("cut"), Adversary("overloaded"), WordNavigator(), WordNavigator()]
    turn = iter(range(10_000))

    class Mixed:
        def reply(self, view: View) -> Iterable[Part]:
            return brains[next(turn) % len(brains) if view.rounds == 0 else 2].reply(view)

    api.brain = Mixed()
    model = make()
    results: list[Answer] = []

    async def one() -> None:
        results.append(
            await collect_answer(
                answer("What does ebb drain do?", Navigator(handbook), model, budget=Budget(whole_site_tokens=0))
            )
        )

    async def many() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(one)

    anyio.run(many)
    states = [result.state for result in results]
    assert states.count("error") == 2
    assert states.count("answered") == 2


def test_model_works_in_several_event_loops(ask: Ask, api: MessagesApi, make: Make) -> None:
    api.brain = WordNavigator()
    model = make()
    for _ in range(3):
        assert summarize(ask(model, LOG)).state == "answered"
    assert len({exchange.connection for exchange in api.exchanges}) == len(api.exchanges)
