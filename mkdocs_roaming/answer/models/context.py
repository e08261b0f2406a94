"""How many tokens a model's context has, in what its server says, and how many a request needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mkdocs_roaming.answer.models.base import JsonObject

LEAST_CONTEXT = 1_024
"""A smaller number in an error is not the size of a context."""

USED_SHARE = 0.85
"""The share of a context that estimates may fill: they may be too low."""

_MOST_CHARS_PER_TOKEN = 5.5  # more than any tokenizer's mean for text in which runs of one sign count once
_RUN = re.compile(r"([\W_])\1+")
"""A run of one sign: `-----`."""

CONTEXT_SOURCES = {
    "/api/ps": "context_length",  # Ollama
    "/api/v0/models": "loaded_context_length",  # LM Studio
    "/props": "n_ctx",  # llama.cpp
    "/v1/models": "max_model_len",  # vLLM and SGLang
}
"""What servers say about the loaded model: the field of each path. The most that a model can do is another field."""


def find_number(data: object, field: str, model: str) -> int | None:
    """Return the first number of a field in JSON data; of entries with names, those of other models are skipped."""
    if isinstance(data, dict):
        if type(data.get(field)) is int and data[field] > 0:
            return int(data[field])
        values = list(data.values())
    elif isinstance(data, list):
        values = data if len(data) == 1 else [entry for entry in data if _is_named(entry, model)]
    else:
        return None
    return next(filter(None, (find_number(value, field, model) for value in values)), None)


def _is_named(entry: object, model: str) -> bool:
    names = [entry.get(key) for key in ("id", "name", "model")] if isinstance(entry, dict) else []
    return model in names or f"{model}:latest" in names


def count_least_tokens(body: JsonObject) -> float:
    """Return the number of tokens that a request has at least, however economical the tokenizer."""
    text = "\n".join((*iter_texts((body.get("system"), body["messages"])), json.dumps(body.get("tools"))))
    return len(_RUN.sub(r"\1", text)) / _MOST_CHARS_PER_TOKEN


def iter_texts(value: Any) -> Iterator[str]:
    """Yield the texts in JSON data, without the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from iter_texts(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from iter_texts(item)
