"""The meter of one answer: the tokens that a provider counted, and an upper bound for replies that broke off.

A provider reports the tokens of a reply at its start or at its end. If a client leaves before, the tokens are not
known, but they have a limit: those of the request, and the maximum output. This limit is what the answer is charged.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

from mkdocs_roaming.answer.budget import Prices
from mkdocs_roaming.answer.models.base import NO_USAGE, Model, Part, Request, Usage
from mkdocs_roaming.answer.trace import estimate_request
from mkdocs_roaming.errors import ModelError

_ESTIMATE_FACTOR = 1.25
"""Providers count up to a quarter more tokens than the estimate of a request."""


@dataclass(slots=True)
class _MeteredReply:
    """A reply with the usage that the provider reported. `unbilled` is set if it refused the request."""

    request: Request
    usage: Usage = NO_USAGE
    ended: bool = False
    unbilled: bool = False


class MeteredModel:
    """A model that meters its replies, for one answer."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model
        self._extra_tokens: int = getattr(model, "extra_output_tokens", 0)
        self._replies: list[_MeteredReply] = []

    async def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply of the model."""
        metered = _MeteredReply(request)
        self._replies.append(metered)
        parts = self._model.reply(request)
        try:
            async for part in parts:
                if isinstance(part, Usage):
                    metered.usage += part
                yield part
            metered.ended = metered.usage != NO_USAGE
        except ModelError as error:
            metered.unbilled = error.unbilled
            raise
        finally:
            if close := getattr(parts, "aclose", None):
                await close()

    @property
    def is_exact(self) -> bool:
        """Whether the provider reported the usage of every reply that it bills."""
        return all(reply.ended or reply.unbilled for reply in self._replies)

    def cost(self, prices: Prices | None) -> float | None:
        """Return the cost of all replies, at most; None without prices."""
        if prices is None:
            return None
        return sum(self._cost_of(reply, prices) for reply in self._replies)

    def _cost_of(self, reply: _MeteredReply, prices: Prices) -> float:
        if reply.unbilled:
            return 0.0
        usage = reply.usage
        if not reply.ended:
            output = max(usage.output, reply.request.output_tokens + self._extra_tokens)
            if usage.input or usage.cache_read or usage.cache_write:
                usage = Usage(usage.input, usage.cache_read, usage.cache_write, output)
            else:
                tokens = round(sum(estimate_request(reply.request)) * _ESTIMATE_FACTOR)
                prices = replace(prices, input=max(prices.input, prices.cache_write))
                usage = Usage(tokens, output=output)
        return prices.cost(usage) or 0.0
