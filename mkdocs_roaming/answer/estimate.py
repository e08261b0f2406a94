"""Estimated cost of a question, from its first request. No model is called."""

from __future__ import annotations

import json
from contextlib import aclosing

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, CostEstimate
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Request, Stop, ToolTurn, UserTurn
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.tools import render
from mkdocs_roaming.text.tokenizer import estimate_tokens


async def estimate_cost(
    question: str,
    navigator: Navigator,
    budget: Budget,
    *,
    page: str | None = None,
    whole_site_tokens: int = SMALL_SITE_TOKENS,
) -> CostEstimate:
    """Return the estimated cost of a question, from its first request. No model is called.

    Args:
        question: The question.
        navigator: Opens and searches the site. Nothing is opened in it.
        budget: Limits and prices of the answer.
        page: The reader's page: an id, a path or a URL.
        whole_site_tokens: A site with fewer estimated tokens is read whole.
    """
    model = ScriptedModel([[Stop("refusal")]])
    own = navigator.fork(navigator.cap)
    async with aclosing(
        answer(question, own, model, page=page, budget=budget, whole_site_tokens=whole_site_tokens)
    ) as events:
        async for _ in events:
            pass
    if not model.requests:
        return CostEstimate.from_sizes(0, 0, budget, whole_site=False)  # the site cannot be read
    (request,) = model.requests
    fixed, turns = estimate_request(request)
    return CostEstimate.from_sizes(fixed, turns, budget, whole_site=bool(request.site))


def estimate_request(request: Request) -> tuple[int, int]:
    """Return the estimated tokens of the fixed part of a request, and of its conversation."""
    tools = json.dumps([[tool.name, tool.description, tool.parameters] for tool in request.tools])
    fixed = sum(map(estimate_tokens, (request.rules, request.outline, tools if request.tools else "")))
    return fixed, _measure_turns(request)


def _measure_turns(request: Request) -> int:
    """Return the estimated tokens of the conversation in a request."""
    texts: list[str] = [request.note]
    for turn in request.turns:
        match turn:
            case UserTurn():
                texts.append(prompts.format_question(turn))
            case ToolTurn():
                texts += [render(result.result) for result in turn.results]
            case _:
                texts += [turn.text, *(json.dumps(call.arguments, default=repr) for call in turn.calls)]
    return sum(map(estimate_tokens, texts))
