"""Claude, through Anthropic's Messages API or any server that speaks it.

The only module that imports `anthropic`, and only when a Claude is made: it takes more than a second.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import anyio

from mkdocs_roaming.answer.models import Part, Request, Stop
from mkdocs_roaming.answer.models.claude_reply import Reading
from mkdocs_roaming.answer.models.claude_request import Kept, Ttl, sent
from mkdocs_roaming.answer.models.failures import ModelError, broken_off, is_free, nonsense, refused, unreachable
from mkdocs_roaming.answer.models.trying import trying
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.service import Service, base_url_of, retry_after

_log = logging.getLogger(__name__)
_NOT_IT = "what is not the Messages API"

MODEL = "claude-haiku-5-5"
BASE_URL = "https://api.anthropic.com"
THINKING_ROOM = 2_000
"""Tokens added to a reply's limit where a model thinks first: its thoughts count as output."""


class Claude:
    """Answers with native citations, and reads rules and outline from the prompt cache.

    `ttl` is how long the outline stays cached. `thinking` is what the API calls the type: by default as little as the
    model allows. A call that fails for a while is made again, at most `retries` times, and never after a pause of more
    than `patience` seconds.
    """

    def __init__(
        self,
        model: str = MODEL,
        *,
        key: str,
        base_url: str = "",
        key_name: str = "ANTHROPIC_API_KEY",
        ttl: Ttl = "5m",
        thinking: str | None = None,
        retries: int = 2,
        patience: float = 20.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        try:
            import anthropic
            import httpx2
        except ImportError:
            raise UsageError(f"{model} needs the anthropic package: pip install mkdocs-roaming[ask]") from None
        if ttl not in ("5m", "1h"):
            raise UsageError(f"a prompt cache lives for 5m or 1h, not {ttl!r}")
        self.name = model
        base_url = base_url_of(base_url or BASE_URL).removesuffix("/v1")
        self._service = Service(model, base_url, key, key_name, "ANTHROPIC_BASE_URL")
        self._ttl: Ttl = ttl
        self._fixed = _fixed(model, thinking)
        self._room = 0 if _is_silent(model, self._fixed) else THINKING_ROOM
        self._retries, self._patience, self._sleep = retries, patience, sleep
        self._anthropic, self._httpx2 = anthropic, httpx2
        # No connection outlives its reply: one client serves any number of event loops, and none is left open.
        http = anthropic.DefaultAsyncHttpxClient(
            limits=httpx2.Limits(max_keepalive_connections=0), event_hooks={"response": [self._impatient]}
        )
        self._client = anthropic.AsyncAnthropic(api_key=key, base_url=base_url, max_retries=retries, http_client=http)

    def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply to a request.

        Events are read as they come over the wire, not through the SDK's accumulating stream: that one gives up at
        arguments which are not JSON, and the tools forgive them.
        """
        return trying(lambda: self._attempt(request), retries=self._retries, patience=self._patience, sleep=self._sleep)

    async def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        message = sent(request, ttl=self._ttl)
        parameters = {**message.parameters, **self._fixed, "max_tokens": request.output_tokens + self._room}
        reading = Reading()
        try:
            stream: Any = await self._client.messages.create(model=self.name, stream=True, **parameters)
            async with stream:
                async for event in stream:
                    for part in reading.take(event):
                        yield part
                    if reading.too_long:
                        yield Stop("length")
                        return
        except (self._anthropic.APIError, self._httpx2.TransportError) as error:
            raise self._failure(error) from None
        except (ValueError, AttributeError, KeyError, TypeError):
            _log.debug("reading a reply failed", exc_info=True)
            raise nonsense(self._service, _NOT_IT) from None
        if reading.reason is None:
            raise broken_off(self._service) if reading.begun else nonsense(self._service, _NOT_IT)
        yield Stop(reading.reason, Kept(tuple(reading.blocks), request.note, message.digest))

    async def _impatient(self, response: Any) -> None:
        """Keep the SDK from waiting longer than a reader would."""
        wait = retry_after(response.headers) if response.status_code >= 400 else None
        if wait is not None and wait > self._patience:
            response.headers["x-should-retry"] = "false"

    def _failure(self, error: Any) -> ModelError:
        anthropic = self._anthropic
        if isinstance(error, anthropic.APIStatusError):
            wait = retry_after(error.response.headers)
            failure = refused(self._service, error.status_code, error.type or "", error.api_message or "", wait)
            failure.again = failure.again and error.status_code == 200  # else the SDK has tried again already
            failure.unspent = is_free(error.status_code)
            return failure
        if isinstance(error, anthropic.APIConnectionError):
            failure = unreachable(self._service, error.__cause__ if isinstance(error.__cause__, Exception) else error)
            failure.again = False
            return failure
        if isinstance(error, self._httpx2.TransportError):
            return broken_off(self._service)
        return nonsense(self._service, _NOT_IT)


_LEAST_THINKING = {
    "claude-haiku-5-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5-5": {"thinking": {"type": "between_tools"}},
    "claude-opus-5-5": {"output_config": {"effort": "low"}},
    "claude-fable-5": {"output_config": {"effort": "low"}},
    "claude-mythos-5": {"output_config": {"effort": "low"}},
    "claude-sonnet-5": {"thinking": {"type": "disabled"}},
    "claude-opus-5": {"thinking": {"type": "disabled"}},
}
"""What keeps each model from thinking at length before a short answer, by how its name begins; the first that fits."""

_SILENT = ("claude-haiku-4", "claude-sonnet-4", "claude-opus-4", "claude-3")
"""Models that do not think unless they are asked to."""


def _fixed(model: str, thinking: str | None) -> dict[str, Any]:
    if thinking is not None:
        return {"thinking": {"type": thinking}}
    return next((dict(fixed) for name, fixed in _LEAST_THINKING.items() if model.startswith(name)), {})


def _is_silent(model: str, fixed: dict[str, Any]) -> bool:
    """Tell whether a reply is all answer."""
    kind = fixed.get("thinking", {}).get("type")
    return kind in ("disabled", "between_tools") or (kind is None and model.startswith(_SILENT))
