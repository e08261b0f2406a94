"""The same question without the documentation, for comparison (`roaming ask --no-docs`)."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Deadline, StopAnswer
from mkdocs_roaming.answer.citations import strip_citations
from mkdocs_roaming.answer.conversation import Exchange, ModelReply
from mkdocs_roaming.answer.events import (
    AnswerState,
    Event,
    Finished,
    RoundStarted,
    TextUnchecked,
    TokensUsed,
)
from mkdocs_roaming.answer.models.base import NO_USAGE, AssistantTurn, Model, Request, Text, Turn, Usage, UserTurn
from mkdocs_roaming.answer.models.extractive import ExtractiveModel
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import SiteEntry


def answer_without_docs(
    question: str,
    site: SiteEntry,
    model: Model,
    *,
    history: Sequence[Exchange] = (),
    budget: Budget | None = None,
    clock: Callable[[], float] = time.monotonic,
    deadline: Deadline | None = None,
) -> AsyncGenerator[Event, None]:
    """Answer from what the model knows: no outline, no tools, no citations; `Finished` has `docs` False.

    Raises:
        UsageError: The model is `offline`, which only quotes the documentation.
    """
    if model.name == ExtractiveModel.name:
        raise UsageError("the model offline only quotes the documentation; choose another model to answer without it")
    budget = budget or Budget()
    return _answer(question, site, model, history, budget, deadline or Deadline(budget.seconds, clock))


async def _answer(
    question: str, site: SiteEntry, model: Model, history: Sequence[Exchange], budget: Budget, deadline: Deadline
) -> AsyncGenerator[Event, None]:
    turns: list[Turn] = []
    for exchange in history:
        turns += (UserTurn(exchange.question), AssistantTurn(strip_citations(exchange.answer)))
    request = Request(
        rules=prompts.build_rules_without_docs(site),
        outline="",
        turns=(*turns, UserTurn(question)),
        output_tokens=budget.output_tokens,
        language=site.language,
    )
    reply = ModelReply(model, request, deadline)
    usage, buffer, has_text = NO_USAGE, "", False
    state: AnswerState = "not_found"
    spent = error = ""
    yield RoundStarted(1, 1)
    try:
        async with aclosing(reply.stream()) as parts:
            async for part in parts:
                if isinstance(part, Usage):
                    usage += part
                    yield TokensUsed(part)
                elif isinstance(part, Text):
                    # Whole lines: a citation does not span several.
                    lines, end, buffer = (buffer + part.text).rpartition("\n")
                    if text := _clean(lines + end, is_first=not has_text):
                        has_text = True
                        yield TextUnchecked(text)
        if reply.stop.reason == "refusal":
            state = "refused"
        elif reply.stop.reason == "length" or reply.is_endless:
            state, spent = "budget", "output"
    except StopAnswer as stop:
        state, spent, error = stop.state, stop.spent, stop.error
    if text := _clean(buffer, is_first=not has_text):
        has_text = True
        yield TextUnchecked(text)
    yield Finished(
        state="answered" if state == "not_found" and has_text else state,
        model=model.name,
        rounds=1,
        usage=usage,
        spent=spent,
        error=error,
        cost=budget.prices.cost(usage) if budget.prices else None,
        currency=budget.prices.currency if budget.prices else "",
        docs=False,
    )


def _clean(text: str, *, is_first: bool) -> str:
    text = strip_citations(text)
    return text.lstrip() if is_first else text
