"""`support = "model"`: one more call to the model checks the statements of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from messages_api import MessagesApi, serving
from messages_api.parts import Broken, End, Part, Say, Status, View
from messages_api.script import Script

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import Event, RoundStarted, SupportChecked, TokensUsed, summarize
from mkdocs_roaming.answer.models.anthropic import AnthropicModel
from mkdocs_roaming.answer.models.provider import Retries
from mkdocs_roaming.answer.support.check import slice_utf16

Check = Callable[..., list[Event]]
BY_MODEL = Budget(support="model", prices=Prices(input=1.0, output=1.0))
REVERSED = "Kettle listens on 3 ports.[^ID] Old logs are kept for 19 days.[^ID]"
FOREIGN = "Whales migrate across the enormous oceans.[^ID]"


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """Start a provider without replies; an invalid request fails the test."""
    with serving(MessagesApi(budget=700)) as api:
        yield api
    assert api.faults == []


@pytest.fixture
def check(ask: Callable[..., list[Event]], api: MessagesApi, ids: dict[str, str]) -> Check:
    """Return a function that answers a question with a text, and checks the answer with a reply of the model."""

    def check(text: str, *judgement: Part | Sequence[Part], budget: Budget = BY_MODEL) -> list[Event]:
        api.brain = Script([Say(text.replace("ID", ids["Logs"]))], list(judgement))
        model = AnthropicModel(key="test-key", base_url=api.url, retries=Retries(0))
        return ask(model, budget=budget, whole_site_tokens=8000)

    return check


def marked(events: list[Event]) -> list[tuple[str, str]]:
    answer = summarize(events)
    assert answer.support is not None
    return [(mark.kind, slice_utf16(answer.text, mark.start, mark.end)) for mark in answer.support.marks]


def test_marks_of_model_replace_claims_of_words(check: Check) -> None:
    assert marked(check(FOREIGN, Say("none"), budget=Budget())) == [("claim", FOREIGN.partition(".")[0])]
    assert marked(check(FOREIGN, Say("none"))) == []
    assert marked(check(REVERSED, Say("1: 3 ports\n2: kept"))) == [("claim", "3 ports"), ("claim", "kept")]


def test_names_and_numbers_are_marked_without_the_model(check: Check) -> None:
    assert marked(check("Use `--turbo` for 77 days.[^ID]", Say("none"))) == [("name", "--turbo"), ("number", "77")]


def test_request_contains_opened_sections_and_numbered_statements(check: Check, api: MessagesApi) -> None:
    check(REVERSED, Say("none"))
    assert isinstance(api.brain, Script)
    view: View = api.brain.views[-1]
    assert view.system == prompts.SUPPORT_RULES
    assert "Old logs are deleted after 19 days." in view.context
    assert "\n1. Kettle listens on 3 ports." in view.context
    assert "\n2. Old logs are kept for 19 days." in view.context
    assert view.tools == ()


def test_call_counts_into_rounds_usage_and_cost(check: Check) -> None:
    by_words = summarize(check(REVERSED, budget=Budget(prices=BY_MODEL.prices)))
    events = check(REVERSED, Say("none"))
    answer = summarize(events)
    assert (by_words.rounds, answer.rounds) == (1, 2)
    assert sum(isinstance(event, RoundStarted) for event in events) == 2
    used = [event.usage for event in events if isinstance(event, TokensUsed)]
    assert answer.usage == sum(used[1:], used[0])
    assert answer.usage.input > by_words.usage.input
    assert answer.cost is not None
    assert by_words.cost is not None
    assert answer.cost > by_words.cost


@pytest.mark.parametrize(
    "judgement",
    [
        [Say("I like this answer.")],
        [Say("99: kept")],
        [Say("1: wha"), Broken()],
        [Say("1: Whales"), End("max_tokens")],
        [End("refusal")],
        [Status(529)],
        [],
    ],
    ids=["other form", "unknown number", "broken off", "cut", "refused", "overloaded", "empty"],
)
def test_failed_call_falls_back_to_words(check: Check, judgement: list[Part]) -> None:
    events = check(FOREIGN, *judgement)
    assert marked(events) == [("claim", FOREIGN.partition(".")[0])]
    assert summarize(events).state != "error"


def test_spent_budget_saves_the_call(check: Check, api: MessagesApi) -> None:
    budget = Budget(support="model", prices=Prices(input=1.0), cost=1e-9)
    events = check(FOREIGN, Say("none"), budget=budget)
    assert isinstance(api.brain, Script)
    assert len(api.brain.views) == 1
    assert sum(isinstance(event, SupportChecked) for event in events) == 1
    assert marked(events)
