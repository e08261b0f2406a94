"""Any server that speaks the chat-completions API: OpenAI's own, or Ollama, vLLM and others on this machine."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import anyio

from mkdocs_roaming.answer.models import Part, Request, Stop
from mkdocs_roaming.answer.models.chat_reply import Reading
from mkdocs_roaming.answer.models.chat_request import Kept, sent
from mkdocs_roaming.answer.models.failures import ModelError, broken_off, is_free, nonsense, refused, unreachable
from mkdocs_roaming.answer.models.sse import Events, TooLong
from mkdocs_roaming.answer.models.trying import trying
from mkdocs_roaming.service import Service, base_url_of, retry_after

BASE_URL = "https://api.openai.com/v1"
LONGEST_BODY = 4 * 2**20


class OpenAI:
    """Answers with `[^id]` citations. A `base_url` without a path is taken to end in `/v1`.

    A call that fails for a while is made again, at most `retries` times, with growing pauses or as the server asks, and
    never after a pause of more than `patience` seconds. What a server does not count is not known: usage stays zero.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key: str = "",
        key_name: str = "OPENAI_API_KEY",
        retries: int = 2,
        patience: float = 20.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        import httpx2  # only for those who ask a model

        self.name = model
        self._service = Service(model, base_url_of(base_url, "/v1"), key, key_name, "ROAMING_BASE_URL")
        self._retries, self._patience, self._sleep = retries, patience, sleep
        self._httpx2 = httpx2
        self._left_out: frozenset[str] = frozenset()
        # No connection outlives its reply: one client serves any number of event loops, and none is left open.
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=httpx2.Timeout(600.0, connect=10.0),
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )

    def reply(self, request: Request) -> AsyncGenerator[Part, None]:
        """Stream the reply to a request."""
        return trying(lambda: self._attempt(request), retries=self._retries, patience=self._patience, sleep=self._sleep)

    async def _attempt(self, request: Request) -> AsyncGenerator[Part, None]:
        said = sent(request)
        begun = False
        try:
            while True:
                left_out = self._left_out
                async with self._client.stream("POST", self._url, json=self._body(said, request)) as response:
                    begun = response.status_code == 200
                    if begun:
                        async with aclosing(self._read(response)) as parts:
                            async for part in parts:
                                yield part if not isinstance(part, Stop) else Stop(part.reason, Kept(request.note))
                        return
                    error = await self._refused(response)
                if self._left_out == left_out:
                    raise error
        except (self._httpx2.TransportError, self._httpx2.InvalidURL) as broken:
            raise (broken_off(self._service) if begun else unreachable(self._service, broken)) from None
        except (ValueError, AttributeError, KeyError, TypeError, self._httpx2.DecodingError):
            _log.debug("reading a reply failed", exc_info=True)
            raise nonsense(self._service, _NOT_IT) from None

    @property
    def _url(self) -> str:
        return f"{self._service.base_url}/chat/completions"

    def _body(self, said: Mapping[str, Any], request: Request) -> dict[str, Any]:
        limit = "max_tokens" if "max_tokens" not in self._left_out else "max_completion_tokens"
        body = {"model": self.name, "stream": True, limit: request.output_tokens, **said}
        if "stream_options" not in self._left_out:
            body["stream_options"] = {"include_usage": True}
        return body

    # A reply

    async def _read(self, response: Any) -> AsyncGenerator[Part, None]:
        reading = Reading()
        begun = ended = False
        async with aclosing(self._pieces(response)) as pieces:
            async for piece in pieces:
                if piece == "[DONE]":
                    ended = True
                    break
                data = json.loads(piece)
                begun = True
                if data.get("error"):
                    kind, message, code = _error(data)
                    raise refused(self._service, code, kind, message)
                for part in reading.take(data):
                    yield part
                if reading.too_long:
                    yield Stop("length")
                    return
        if not ended and reading.reason is None:
            raise broken_off(self._service) if begun else nonsense(self._service, _NOT_IT)
        for part in reading.end():
            yield part
        yield Stop(reading.reason or "end")

    async def _pieces(self, response: Any) -> AsyncGenerator[str, None]:
        """Give the events of a stream; a reply that is not streamed is a single one."""
        if "json" in response.headers.get("content-type", ""):
            yield (await _whole(response)).decode("utf-8", "replace")
            yield "[DONE]"
            return
        events = Events()
        try:
            async for data in response.aiter_bytes():
                for event in events.feed(data):
                    if event:
                        yield event
            for event in events.end():
                if event:
                    yield event
        except TooLong:
            raise nonsense(self._service, "a line without end") from None

    # No reply

    async def _refused(self, response: Any) -> ModelError:
        """Give the error of a response; what a server does not take is left out from now on."""
        kind, message, _ = _error(_json(await _whole(response)))
        if response.status_code in (400, 422):
            if "max_tokens" in message and "max_completion_tokens" in message:
                self._left_out |= {"max_tokens"}
            elif "stream_options" in message:
                self._left_out |= {"stream_options"}
        failure = refused(self._service, response.status_code, kind, message, retry_after(response.headers))
        failure.unspent = is_free(response.status_code)
        return failure


_log = logging.getLogger(__name__)
_NOT_IT = "what is not the chat-completions API"


async def _whole(response: Any) -> bytes:
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        if len(body) > LONGEST_BODY:
            break
    return bytes(body[:LONGEST_BODY])


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error(data: object) -> tuple[str, str, int]:
    """Give kind, message and status of an error, wherever a server puts them."""
    error = data.get("error", data) if isinstance(data, Mapping) else None
    if isinstance(error, str):
        return "", error, 200
    if not isinstance(error, Mapping):
        return "", "", 200
    kinds = [error[name] for name in ("type", "code") if isinstance(error.get(name), str)]
    kind = " ".join(dict.fromkeys(kinds))
    message = error.get("message") or error.get("detail") or ""
    code = error.get("code")
    return kind, message if isinstance(message, str) else json.dumps(message), code if isinstance(code, int) else 200
