"""How many tokens a model's context has, as its server has loaded it, and how many a request needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import anyio

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.text.tokenizer import estimate_tokens

LEAST_CONTEXT = 1_024
"""A smaller number in an error is not the size of a context."""

USED_SHARE = 0.85
"""The share of a context that estimates may fill: they may be too low."""

_LEAST_OUTPUT = 256
_MOST_CHARS_PER_TOKEN = 5.5  # more than any tokenizer's mean for text in which runs of one sign count once
_RUN = re.compile(r"([\W_])\1+")
"""A run of one sign: `-----`."""

_TIMEOUT = 2.0
_OK = 200
_SOURCES = {
    "/api/ps": "context_length",  # Ollama
    "/api/v0/models": "loaded_context_length",  # LM Studio
    "/props": "n_ctx",  # llama.cpp
    "/v1/models": "max_model_len",  # vLLM and SGLang
}
"""What servers say about the loaded model: the field of each path. The most that a model can do is another field."""


class ContextFinder:
    """Finds the size of a model's context: the setting, what its server has loaded, or what an error said.

    A hosted provider is not asked. The paths that a server does not have are asked for once.

    Attributes:
        size: The size in tokens, or None as long as it is not known.
    """

    def __init__(self, service: ApiConfig, client: Any, size: int | None) -> None:
        """Start with the setting, if there is one."""
        self._service = service
        self._client = client
        self.size = size
        self._sources = {} if service.is_hosted else dict(_SOURCES)

    async def find(self) -> int | None:
        """Return the size in tokens, or None if it is not known."""
        if self.size is None and self._sources:
            import httpx2

            with anyio.move_on_after(_TIMEOUT):
                for path in list(self._sources):
                    with suppress(httpx2.TransportError, ValueError):
                        await self._ask(path)
        return self.size

    def limit(self, size: int | None) -> None:
        """Remember a size, unless a smaller one is known."""
        if size is not None:
            self.size = min(size, self.size or size)

    async def _ask(self, path: str) -> None:
        response = await self._client.get(self._service.base_url.removesuffix("/v1") + path)
        if response.status_code == _OK:
            self.limit(find_number(response.json(), self._sources[path], self._service.model))
        else:
            self._sources.pop(path, None)  # another answer may ask, too


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
    return next((size for value in values if (size := find_number(value, field, model))), None)


def _is_named(entry: object, model: str) -> bool:
    names = [entry.get(key) for key in ("id", "name", "model")] if isinstance(entry, dict) else []
    return model in names or f"{model}:latest" in names


def limit_output(body: Mapping[str, Any], wanted: int, context: int) -> int:
    """Return how many tokens of output fit into a context next to a request, at most those that are wanted."""
    size = round(sum(map(estimate_tokens, iter_texts(body))) / USED_SHARE)
    return min(wanted, max(context - size, _LEAST_OUTPUT))


def count_least_tokens(body: Mapping[str, Any]) -> float:
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
