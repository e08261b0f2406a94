"""How many tokens a model's context has, as its server has loaded it, and as its errors say."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import anyio

from mkdocs_roaming._http import ApiConfig

LEAST_CONTEXT = 1_024
"""A smaller number in an error is not the size of a context."""

_TIMEOUT = 2.0
_SOURCES = {
    "/api/ps": "context_length",  # Ollama
    "/api/v0/models": "loaded_context_length",  # LM Studio
    "/props": "n_ctx",  # llama.cpp
    "/v1/models": "max_model_len",  # vLLM and SGLang
}
"""What servers say about the loaded model: the field of each path. The most that a model can do is another field."""

_CONTEXT = re.compile(r"context|prompt|\binputs?\b|sequence|max_(?:model|seq)_len|\bn_(?:ctx|keep)\b")
_EXCESS = re.compile(r"exceed|overflow|too (?:long|large|big|many)|(?:long|great|larg)er than|maximum|limit|>|<=")
_LIMITS = (
    re.compile(r"[<>]=?\D{0,10}?(\d[\d,]*)"),
    re.compile(r"(?:context|maximum|max\b|limit|available|exceed|only|than)\D{0,40}(\d[\d,]*)"),
    re.compile(r"(\d[\d,]*)\D{0,12}(?:context|maximum|max\b|limit)"),
)


def is_overflow(problem: str) -> bool:
    """Return whether an error says that a request does not fit into the context."""
    text = problem.lower()
    return bool(_CONTEXT.search(text) and _EXCESS.search(text))


def parse_limit(problem: str) -> int | None:
    """Return the size of the context that an error names, or None."""
    for pattern in _LIMITS:
        for match in pattern.finditer(problem.lower()):
            if (size := int(match[1].replace(",", ""))) >= LEAST_CONTEXT:
                return size
    return None


class ContextFinder:
    """Finds the size of a model's context: the setting, what its server has loaded, or what an error said.

    A hosted provider is not asked. The paths that a server does not have are asked for once.
    """

    def __init__(self, service: ApiConfig, client: Any, size: int | None) -> None:
        """Start with the setting, if there is one."""
        self._service, self._client, self._size = service, client, size
        self._sources = {} if service.is_hosted else dict(_SOURCES)

    async def find(self) -> int | None:
        """Return the size in tokens, or None if it is not known."""
        if self._size is None and self._sources:
            import httpx2

            with anyio.move_on_after(_TIMEOUT):
                for path in list(self._sources):
                    with suppress(httpx2.TransportError, ValueError):
                        await self._ask(path)
        return self._size

    def limit(self, size: int | None) -> None:
        """Remember a size, unless a smaller one is known."""
        if size is not None:
            self._size = min(size, self._size or size)

    async def _ask(self, path: str) -> None:
        response = await self._client.get(self._service.base_url.removesuffix("/v1") + path)
        if response.status_code == 200:
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
        values = [entry for entry in data if len(data) == 1 or _is_named(entry, model)]
    else:
        return None
    return next((size for value in values if (size := find_number(value, field, model))), None)


def _is_named(entry: object, model: str) -> bool:
    names = [entry.get(key) for key in ("id", "name", "model")] if isinstance(entry, dict) else []
    return model in names or f"{model}:latest" in names
