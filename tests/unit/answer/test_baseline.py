"""Answers without the documentation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from mkdocs_roaming.answer.baseline import answer_without_docs
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.conversation import Exchange
from mkdocs_roaming.answer.events import Event, Finished, RoundStarted, TextUnchecked, TokensUsed, summarize
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    Citation,
    Model,
    Part,
    Request,
    Stop,
    Text,
    ToolCall,
    Usage,
    UserTurn,
)
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import SiteEntry

SITE = SiteEntry("Kettle", "https://kettle.example/")


def ask(model: Model, question: str = "Which port?", **given: Any) -> list[Event]:
    async def listen() -> list[Event]:
        async with aclosing(answer_without_docs(question, SITE, model, **given)) as events:
            return [event async for event in events]

    return anyio.run(listen)


def test_answer_without_docs_has_no_outline_tools_and_sources() -> None:
    model = ScriptedModel([[Text("It is 80,"), Text(" I think.\n\nOr not."), Usage(9, 0, 0, 3), Stop()]])
    events = ask(model)
    assert [type(event) for event in events] == [RoundStarted, TextUnchecked, TokensUsed, TextUnchecked, Finished]
    (request,) = model.requests
    assert (request.outline, request.tools, request.turns) == ("", (), (UserTurn("Which port?"),))
    assert "Kettle" in request.rules
    result = summarize(events)
    assert (result.state, result.text, result.docs) == ("answered", "It is 80, I think.\n\nOr not.", False)
    assert (result.citations, result.trail, result.support) == ((), (), None)


def test_answer_without_docs_removes_citations() -> None:
    model = ScriptedModel([[Text("It is 80 [^07f3"), Text("277d].\n[^07f3277d]: made up"), Citation("07f3277d")]])
    result = summarize(ask(model, history=[Exchange("What?", "A kettle [^07f3277d].")]))
    assert result.text == "It is 80.\n made up"
    assert model.requests[0].turns[1] == AssistantTurn("A kettle.")


def test_answer_without_docs_keeps_code() -> None:
    model = ScriptedModel([[Text('Use `[^a-z]+[^"/]` [^1] [[^none]^07f3277d][^NONE].')]])
    assert summarize(ask(model)).text == 'Use `[^a-z]+[^"/]`.'


def test_answer_without_docs_ignores_tool_calls() -> None:
    result = summarize(ask(ScriptedModel([[ToolCall("a", "expand_sections", {"ids": ["07f3277d"]})]])))
    assert (result.state, result.text, result.not_found) == ("not_found", "", None)


def test_answer_without_docs_rejects_offline_model() -> None:
    with pytest.raises(UsageError, match=r"offline only quotes the documentation; choose another model"):
        ask(ExtractiveModel())


@pytest.mark.parametrize(
    ("replies", "state", "spent"),
    [([[Stop("refusal")]], "refused", ""), ([[Text("and so"), Stop("length")]], "budget", "output"), ([], "error", "")],
)
def test_answer_without_docs_reports_refusal_limit_and_failure(
    replies: list[list[Part]], state: str, spent: str
) -> None:
    result = summarize(ask(ScriptedModel(replies)))
    assert (result.state, result.spent, bool(result.error)) == (state, spent, state == "error")


def test_answer_without_docs_respects_deadline_and_counts_cost() -> None:

    class Hanging:
        name = "hanging"

        async def reply(self, request: Request) -> AsyncIterator[Part]:
            yield Text("It is\n")
            await anyio.sleep_forever()

    result = summarize(ask(Hanging(), budget=Budget(seconds=0.05)))
    assert (result.state, result.spent, result.text) == ("budget", "seconds", "It is\n")
    paid = ask(ScriptedModel([[Text("80"), Usage(1_000_000)]]), budget=Budget(prices=Prices(input=2.5)))
    assert summarize(paid).cost == 2.5
