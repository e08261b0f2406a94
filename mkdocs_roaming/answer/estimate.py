"""Estimated size of a request. No model is called."""

from __future__ import annotations

import json
from dataclasses import replace

from mkdocs_roaming.answer.models.base import Request
from mkdocs_roaming.answer.models.context import iter_texts
from mkdocs_roaming.answer.models.openai import encode_request
from mkdocs_roaming.text.tokenizer import estimate_tokens


def estimate_request(request: Request) -> int:
    """Return the estimated tokens of a request."""
    encoded = encode_request(replace(request, rules="", outline=""))
    texts = (request.rules, request.outline, json.dumps(encoded.get("tools", "")), *iter_texts(encoded["messages"]))
    return sum(map(estimate_tokens, texts))
