"""Estimated cost of a question, from its first request. No model is called."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace

from mkdocs_roaming.answer.budget import SMALL_SITE_TOKENS, Budget, CostEstimate
from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Request, Stop
from mkdocs_roaming.answer.models.context import iter_texts
from mkdocs_roaming.answer.models.openai import encode_request
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.navigator import Navigator
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
    encoded = encode_request(replace(request, rules="", outline=""))
    tools = json.dumps(encoded.get("tools", ""))
    fixed = sum(map(estimate_tokens, (request.rules, request.outline, tools)))
    return fixed, sum(map(estimate_tokens, iter_texts(encoded["messages"])))
